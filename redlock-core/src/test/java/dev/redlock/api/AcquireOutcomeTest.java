package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An {@link AcquireOutcome} without a lease, with a node index out of range, and during a second acquisition. */
class AcquireOutcomeTest extends VirtualTest {

    @ParameterizedTest
    @ValueSource(ints = {-1, 3, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void voteTextRejectsNodeIndexesOutOfRange(int nodeIndex) {
        AcquireOutcome outcome = acquire(world(3), options());
        assertEquals("node index " + nodeIndex + " is out of range: 0 to 2 are the nodes in configured order",
                assertThrows(IndexOutOfBoundsException.class, () -> outcome.voteText(nodeIndex)).getMessage());
        assertEquals("granted", outcome.voteText(0));
    }

    /** The votes show how far the attempt had come. */
    @Test
    void anAcquisitionThatACloseEndsHasTheVotesOfItsAttempt() {
        VirtualWorld.Client client = world(3);
        node(1).pause();
        node(2).pause();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runMs(1);
        client.engine().close(Duration.ofMillis(10));
        AcquireOutcome outcome = get(acquiring);
        assertEquals(AcquireOutcome.Kind.CLOSED, outcome.kind());
        assertEquals("granted", outcome.voteText(0));
        assertEquals("pending", outcome.voteText(1));
        assertEquals(1, outcome.attemptCount());
    }

    @Test
    void aLeaseOfASetHasItsResources() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(get(client.redlock().acquireAllAsync(List.of("b", "a"), options())));
        assertEquals(Set.of("a", "b"), Set.copyOf(lease.resources()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(List.of("orders"), lease(client).resources(), "of one resource");
    }

    @Test
    void leaseThrowsWithVotesAndAdviceIfNotAcquired() {
        VirtualWorld.Client client = world(1);
        node(0).redis().set("orders", "foreign", 2_500);
        AcquireOutcome outcome = acquire(client, options());
        String text = "AcquireOutcome{orders, NOT_ACQUIRED, outcome CONTENDED, attempts 1, votes 0 granted 1"
                + " refused 0"
                + " failed 0 unknown, shortest remaining ttl 2500 ms}";
        Refusal.ofState("\"orders\" was not acquired: " + text + "; another holder has the lock: wait longer, or"
                + " retry after shortestRemainingTtlMs()", outcome::lease);
        assertFalse(outcome.isAcquired());
    }

    /** The outcome of a reused lease is that of its last acquisition; during an acquisition it has none. */
    @Test
    void aReusedLeaseHasNoOutcomeWhileItIsBeingAcquired() {
        VirtualWorld.Client client = world(3);
        Lease reused = client.redlock().newLease();
        AcquireOutcome[] received = new AcquireOutcome[1];
        client.redlock()
                .acquire(client.redlock().key("orders"), options().fenced(), reused,
                        outcome -> received[0] = outcome);
        world.runMs(1);
        assertTrue(received[0].isAcquired(), "the first time");
        release(reused);
        assertTrue(received[0].isAcquired(), "also after the release");
        eachNode(node -> node.delay(() -> 1_000_000));
        client.redlock().acquire(client.redlock().key("orders"), options(), reused, outcome -> {
        });
        assertFalse(received[0].isAcquired(), "not yet");
        assertEquals(0, received[0].attemptCount(), "nothing is decided");
        Refusal.ofState("lease of \"orders\" is being acquired: wait for the outcome first", received[0]::lease);
        Refusal.ofState("lease of \"orders\" is being acquired: wait for the outcome first", reused::fencingToken);
        assertEquals("Lease{orders, ACQUIRING}", received[0].toString());
        world.runMs(5);
        assertTrue(received[0].isAcquired(), "the second time");
    }

    /** Each node has a different vote, so that counts and texts cannot be confused. */
    @Test
    void voteTextAndCountsMatchEachNode() {
        VirtualWorld.Client client = world(7);
        node(1).redis().set("orders", "foreign", 500);
        node(2).crash();
        node(3).redis().failNext("SET", "OOM command not allowed", 1);
        node(4).loseRequests(name -> true);
        world.runMs(5);
        node(5).pause();
        node(6).pause();
        CompletableFuture<AcquireOutcome> started = acquireAsync(client, options());
        world.runMs(5);
        node(4).breakConnections();
        AcquireOutcome outcome = get(started);
        assertEquals(List.of("granted", "refused", "failed: not connected: the server closed the connection",
                "failed: OOM", "unknown: connection lost before the answer: the server closed the connection",
                "pending",
                "pending"),
                IntStream.range(0, 7).mapToObj(outcome::voteText).toList());
        assertEquals(List.of(1, 1, 2, 1), List.of(outcome.grantedCount(), outcome.refusedCount(),
                outcome.failedCount(), outcome.unknownCount()));
        node(5).resume();
        node(6).resume();
    }

    @Test
    void toStringOfAHeldLeaseHasItsValidityAndFencingToken() {
        VirtualWorld.Client client = world(1);
        AcquireOutcome plain = acquire(client, options());
        String votes = ", attempts 1, votes 1 granted 0 refused 0 failed 0 unknown}";
        assertEquals("ACQUIRED Lease{orders, HELD, valid for 9876 ms" + votes, plain.toString());
        release(plain.lease());
        AcquireOutcome fenced = acquire(client, options().fenced());
        assertEquals("ACQUIRED Lease{orders, HELD, valid for 9876 ms, fencing token " + fenced.lease().fencingToken()
                + votes, fenced.toString());
    }

    @Test
    void outcomeIsReadableFromAnyThreadAfterTheClientHasClosed() {
        VirtualWorld.Client client = world(3);
        AcquireOutcome outcome = acquire(client, options());
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("closed", 2_000, report::isDone);
        assertEquals("ACQUIRED 2 granted", CompletableFuture.supplyAsync(() -> outcome.kind() + " "
                + outcome.grantedCount() + " " + outcome.voteText(0)).join());
        assertEquals(LeaseState.RELEASED, outcome.lease().state());
    }

    @ParameterizedTest
    @EnumSource(AcquireOutcome.Kind.class)
    void eachKindHasAdvice(AcquireOutcome.Kind kind) {
        assertFalse(kind.advice().isBlank());
    }

    @Test
    void theAdviceForAKeyThatNeverExpiresIsNotToWait() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "of another program", -1));
        String advice = "a key with the name of the lock never expires, so it is no lock of a client: delete it if no"
                + " other program uses it, or choose another name or RedlockContext.keyPrefix";
        assertEquals(advice, acquire(client, options()).advice());
        assertEquals("the wait budget ended: " + advice,
                acquire(client, options().waitUpTo(Duration.ofMillis(200))).advice());
    }

    @Test
    void toStringOfAnOutcomeHasVotesAndReasonsButNoToken() {
        VirtualWorld.Client client = scriptedWorld(5);
        node(0).redis().set("orders", "foreign", 700);
        node(1).crash();
        node(2).redis().failNext("acquire", "OOM command not allowed", 1);
        node(3).pause();
        world.runMs(15);
        AcquireOutcome outcome = acquire(client, options());
        String text = outcome.toString();
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), text);
        assertTrue(text.contains("not connected") && text.contains("OOM"), text);
        assertEquals(685, outcome.shortestRemainingTtlMs(), text);
        assertFalse(text.contains("foreign"), text);
        assertNotEquals("", outcome.kind().advice(), "advice");
    }
}
