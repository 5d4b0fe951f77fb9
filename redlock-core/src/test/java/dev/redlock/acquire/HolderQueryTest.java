package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The time between the refusal of a plain SET and the ttl of the holder's key. */
class HolderQueryTest extends VirtualTest {

    private static final String HOLDER = "token of another client";
    private static final long ONE_WAY_NS = 5_000_000;

    private VirtualWorld.Client client;
    private CompletableFuture<AcquireOutcome> outcome;

    /** Three of five nodes refuse. Refusals arrive after 10 ms, the replies to the query after 20 ms. */
    private void refuse(long... ttlsMs) {
        client = world(5);
        for (int i = 0; i < ttlsMs.length; i++) {
            node(i).redis().set("orders", HOLDER, ttlsMs[i]);
        }
        eachNode(node -> node.delay(() -> ONE_WAY_NS));
        outcome = acquireAsync(client, options());
        world.runMs(12);
        assertFalse(outcome.isDone(), "the query is in progress");
    }

    private int asked(int nodeIndex) {
        return node(nodeIndex).redis().commandCount("PTTL");
    }

    private long keysOfOurs() {
        return world.nodes()
                .stream()
                .map(node -> node.redis().get("orders"))
                .filter(key -> key != null)
                .filter(key -> !key.equals(HOLDER))
                .count();
    }

    @Test
    void theNodesThatRefusedAreQueriedOnce() {
        refuse(4_000, 3_000, 5_000);
        AcquireOutcome refused = get(outcome);
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertEquals(3_000, refused.shortestRemainingTtlMs(), 50);
        assertEquals(3, refused.refusedCount(), refused::toString);
        assertEquals(1, refused.attemptCount());
        for (int i = 0; i < 5; i++) {
            assertEquals(i < 3 ? 1 : 0, asked(i), "node " + i);
            assertEquals(0, node(i).redis().commandCount("acquire"), "no script");
        }
    }

    @Test
    void theRollbackDoesNotWaitForTheReplies() {
        refuse(4_000, 4_000, 4_000);
        assertEquals(2, keysOfOurs(), "the grants of the other nodes");
        world.runMs(4);
        assertFalse(outcome.isDone());
        assertEquals(0, keysOfOurs(), "released before the replies arrive");
        get(outcome);
    }

    @Test
    void aKeyWithoutExpiryHasAnUnlimitedTtl() {
        refuse(-1, -1, -1);
        assertEquals(Long.MAX_VALUE, get(outcome).shortestRemainingTtlMs());
    }

    @Test
    void aMissingKeyHasARemainingTtlOfZero() {
        refuse(4_000, 4_000, 4_000);
        node(1).redis().delete("orders");
        AcquireOutcome refused = get(outcome);
        assertEquals(0, refused.shortestRemainingTtlMs());
        assertTrue(refused.toString().contains(", shortest remaining ttl 0 ms"), refused::toString);
    }

    @Test
    void aSilentNodeDelaysTheOutcomeByOneNodeTimeoutAtMost() {
        refuse(4_000, 3_000, 5_000);
        node(1).pause();
        long startMs = nowMs();
        AcquireOutcome refused = get(outcome);
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, 3);
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertEquals(4_000, refused.shortestRemainingTtlMs(), 50, "of the nodes that replied");
        node(1).resume();
        world.runMs(1_000);
        assertEquals(0, keysOfOurs());
    }

    /** The only node that refused has disconnected before the node timeout decides: no node is left to query. */
    @Test
    void aDisconnectedNodeIsNotQueried() {
        client = world(3);
        node(0).redis().set("orders", HOLDER, 4_000);
        node(1).pause();
        node(2).pause();
        long startMs = nowMs();
        outcome = acquireAsync(client, options());
        world.runMs(5);
        node(0).crash();
        node(2).resume();
        AcquireOutcome refused = get(outcome);
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind(), refused::toString);
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "one node timeout, not two");
        node(1).resume();
        world.runMs(5);
        assertEquals(0, keysOfOurs());
    }

    @Test
    void aLostConnectionEndsItsQuery() {
        refuse(4_000, 3_000, 5_000);
        eachNode(node -> node.breakConnections());
        long startMs = nowMs();
        AcquireOutcome refused = get(outcome);
        assertTrue(nowMs() - startMs < NODE_TIMEOUT_MS / 2);
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertEquals(-1, refused.shortestRemainingTtlMs(), "no reply");
        world.runMs(5_000);
        assertEquals(0, keysOfOurs(), "the rollback is undelivered, then sent");
    }

    @Test
    void aNodeThatRejectsTheQueryKeepsItsOtherCommands() {
        client = world(3);
        eachNode(node -> {
            node.redis().set("orders", HOLDER, 4_000);
            node.redis().failNext("PTTL", "NOPERM this user has no permissions to run the 'pttl' command", 1);
        });
        AcquireOutcome refused = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertEquals(-1, refused.shortestRemainingTtlMs());
        assertTrue(acquire(client, options()).shortestRemainingTtlMs() > 3_000,
                "the next acquisition sends the query again");
    }

    @Test
    void cancelEndsTheQueryImmediately() {
        refuse(4_000, 4_000, 4_000);
        long startMs = nowMs();
        outcome.cancel(false);
        world.runMs(1);
        assertTrue(outcome.isCancelled());
        world.await("every claim is in its pool", 30, () -> client.engine().claimsOut() == 0);
        assertTrue(nowMs() - startMs < 30);
        assertEquals(0, keysOfOurs());
        assertEquals(1, client.redlock().counters().rolledBackCount(), "once");
    }

    @Test
    void closeEndsTheQueryImmediately() {
        refuse(4_000, 4_000, 4_000);
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.runMs(1);
        assertEquals(AcquireOutcome.Kind.CLOSED, get(outcome).kind());
        assertTrue(get(report).isClean());
        assertEquals(0, keysOfOurs());
    }

    @Test
    void theLeaseIsReusableAfterTheQuery() {
        refuse(4_000, 4_000, 4_000);
        AcquireOutcome refused = get(outcome);
        eachNode(node -> node.redis().delete("orders"));
        Lease lease = acquired(acquire(client, options()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertNull(key(0));
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
    }

    @Test
    void otherFailuresSendNoQuery() {
        client = world(3);
        node(0).redis().set("orders", HOLDER, 4_000);
        release(acquired(acquire(client, options())));
        node(1).crash();
        node(2).crash();
        world.runMs(5);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
        assertEquals(0, asked(0));
    }
}
