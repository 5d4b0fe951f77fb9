package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A node executes a command after its connection was replaced, and so after commands that were sent later: it waited in
 * a proxy, a tunnel, or the server's backlog.
 */
class LateCommandsTest extends VirtualTest {

    private static final Duration SHORT = Duration.ofMillis(1_500);
    private static final long LATE_MS = 5_000;

    private VirtualWorld.Client world(final FakeRedis.Kind kind) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(kind);
            node.executeLate(true);
        });
        return client(context().commands(CommandMode.NATIVE));
    }

    /** Sends something whose bytes need {@link #LATE_MS} to reach one node; what is sent to it later does not. */
    private <T> CompletableFuture<T> late(final int nodeIndex,
            final java.util.function.Supplier<java.util.concurrent.CompletionStage<T>> call) {
        node(nodeIndex).delay(() -> LATE_MS * 1_000_000);
        final CompletableFuture<T> stage = call.get().toCompletableFuture();
        world.settle();
        node(nodeIndex).delay(() -> 0);
        return stage;
    }

    /** The client closes its connection to a node, whose requests are still under way, and opens a new one. */
    private void replaceConnection(final VirtualWorld.Client client, final int nodeIndex) {
        final int openedBefore = node(nodeIndex).openedCount();
        node(nodeIndex).sendRaw("?\r\n");
        world.await("a new connection", 1_000, () -> node(nodeIndex).openedCount() > openedBefore
                && status(client, nodeIndex).state() == NodeState.READY);
    }

    // ---- extensions -------------------------------------------------------------------------------------------------

    /** Nodes 0 and 1 hold the lease, node 1 executes the shorter extension last, and node 2 is free for others. */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aLateShorterExtensionMakesNoSecondHolder(final FakeRedis.Kind kind) {
        final VirtualWorld.Client client = world(kind);
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        final CompletableFuture<ExtendOutcome> unanswered = late(1, () -> lease.extendAsync(SHORT));
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(unanswered), "node 1 has not answered");
        replaceConnection(client, 1);
        final ExtendOutcome extended = extend(lease, TTL);
        node(2).start();
        final VirtualWorld.Client other = client();
        world.runMs(LATE_MS + SHORT.toMillis());
        final AcquireOutcome outcome = acquire(other, options());
        assertFalse(outcome.isAcquired() && lease.isHeld(), "two holders: " + lease + " and " + outcome);
        final boolean isScript = kind == FakeRedis.Kind.REDIS_7;
        assertEquals(isScript ? ExtendOutcome.EXTENDED : ExtendOutcome.NOT_EXTENDED, extended,
                "only a script cannot shorten the key late");
        assertEquals(isScript, lease.isHeld(), lease::toString);
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aLateRenewalByTheSameTtlCountsAgainstNothing(final FakeRedis.Kind kind) {
        final VirtualWorld.Client client = world(kind);
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(TTL))), "one answer");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "both nodes");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "a shorter one just as well");
    }

    /** The last of the unanswered ones would do no harm, the one before it would. */
    @Test
    void theShortestOfSeveralUnansweredExtensionsMatters() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.VALKEY_9);
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(SHORT))), "one answer");
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "it waits behind the one before");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "node 1 may still execute the shorter one");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "which is no shorter than this");
    }

    /** Its last answer was counted, so only the longer one before can be late. */
    @Test
    void anExtensionThatWasAnsweredIsNotLate() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "both answer");
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(TTL))), "one answer");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "nothing shorter is under way");
    }

    /** Nodes 0 and 2 renew; the answer of node 1 comes behind theirs and is no proof. */
    @Test
    void aNodeThatMayShortenTheKeyIsNoHolder() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        final Lease lease = lease(client);
        world.runMs(10);
        assertEquals(ExtendOutcome.EXTENDED, get(late(1, () -> lease.extendAsync(SHORT))), "two answer");
        replaceConnection(client, 1);
        node(1).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the other two");
        world.runMs(20);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is seen");
        assertEquals(LeaseState.LOST, lease.state(), "node 2 alone is sure to keep the key");
    }

    @Test
    void theNextLeaseCountsTheNodeAgain() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        node(2).crash();
        world.runMs(10);
        final Lease lease = lease(client);
        get(late(1, () -> lease.extendAsync(SHORT)));
        replaceConnection(client, 1);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        final Lease next = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(next, SHORT), "its token is another one");
        assertEquals(ExtendOutcome.EXTENDED, extend(next, TTL), "its token is another one");
    }

    @Test
    void aShorterTtlShortensTheValidityAndNotTheKeys() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT));
        world.runMs(1);
        eachNode(node -> assertTrue(node.redis().pttl("orders") > 9_000, "the longer expiry stands"));
        assertTrue(lease.remainingValidityNs() < SHORT.toNanos(), lease::toString);
        world.runMs(SHORT.toMillis());
        assertEquals(LeaseState.EXPIRED, lease.state(), "it ends with the shorter ttl");
        assertEquals(0, keyCount(), "and gives its keys back");
    }

    @Test
    void aKeyOfOursThatWouldNeverExpireGetsTheTtl() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final Lease lease = lease(client);
        eachNode(node -> node.redis().set("orders", node.redis().get("orders"), -1));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT));
        world.runMs(1);
        eachNode(node -> assertEquals(1_500, node.redis().pttl("orders"), 10));
    }

    @Test
    void aLateExtensionAfterTheReleaseIsAnOrphanForItsTtl() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final Lease lease = lease(client);
        world.runMs(10);
        final long startMs = nowMs();
        get(late(1, () -> lease.extendAsync(TTL)));
        replaceConnection(client, 1);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(1), "put back, and nobody knows");
        final Lease next = lease(client);
        world.runMs(TTL.toMillis());
        assertNull(key(1), "until it expires");
        assertEquals(LeaseState.EXPIRED, next.state(), "which took nothing from the next holder");
    }

    /** What puts a key back under a token puts none back where its command compares and sets. */
    @Test
    void aLateConditionalSetAfterTheReleaseLeavesNothing() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        final Lease lease = lease(client);
        world.runMs(10);
        get(late(1, () -> lease.extendAsync(TTL)));
        replaceConnection(client, 1);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(LATE_MS + 1);
        assertEquals(0, keyCount(), "the key is missing and stays so");
    }

    // ---- acquires, releases -----------------------------------------------------------------------------------------

    @Test
    void aLateAcquireAfterTheReleaseIsAnOrphanForItsTtl() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final long startMs = nowMs();
        final Lease lease = acquired(get(late(2, () -> client.redlock().acquireAsync("orders", options()))));
        replaceConnection(client, 2);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(0, keyCount(), "released");
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(2), "set behind the release");
        final Lease next = lease(client);
        assertTrue(next.isHeld(), "the others are free");
        release(next);
        world.runMs(TTL.toMillis());
        assertEquals(0, keyCount(), "it has expired");
    }

    @Test
    void aLateReleaseDeletesNobodyElsesKey() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final Lease lease = lease(client);
        world.runMs(10);
        assertEquals(ReleaseOutcome.RELEASED, get(late(1, lease::releaseAsync)), "two answer");
        replaceConnection(client, 1);
        assertEquals(0, keyCount(), "what was owed has been paid");
        final Lease next = lease(client());
        world.runMs(LATE_MS + 1);
        assertEquals(3, keyCount(), "another token stands there");
        assertTrue(next.isHeld(), next::toString);
    }

    @Test
    void aLateFencedAcquireOnlyCountsUp() {
        final VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        final long startMs = nowMs();
        final Lease lease = acquired(get(late(2, () -> client.redlock().acquireAsync("orders", options().fenced()))));
        replaceConnection(client, 2);
        release(lease);
        final Lease second = acquired(acquire(client, options().fenced()));
        release(second);
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(2), "the late one");
        final Lease third = acquired(acquire(client, options().fenced()));
        assertTrue(lease.fencingToken() < second.fencingToken() && second.fencingToken() < third.fencingToken(),
                lease + " " + second + " " + third);
    }
}
