package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A node executes a command after its connection was replaced, and so after later commands: it was delayed in a proxy,
 * a tunnel, or the server's backlog.
 */
class LateCommandsTest extends VirtualTest {

    private static final Duration SHORT = Duration.ofMillis(1_500);
    private static final long LATE_MS = 5_000;

    private VirtualWorld.Client world(FakeRedis.Kind kind) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().kind(kind);
            node.executeLate(true);
        });
        return client(context().commands(CommandMode.NATIVE));
    }

    /** Delays one command to one node by {@link #LATE_MS}; later commands to it are not delayed. */
    private <T> CompletableFuture<T> late(int nodeIndex,
            java.util.function.Supplier<java.util.concurrent.CompletionStage<T>> call) {
        node(nodeIndex).delay(() -> LATE_MS * 1_000_000);
        CompletableFuture<T> stage = call.get().toCompletableFuture();
        world.settle();
        node(nodeIndex).delay(() -> 0);
        return stage;
    }

    /** Closes the connection to a node while its requests are in flight, and opens a new one. */
    private void replaceConnection(VirtualWorld.Client client, int nodeIndex) {
        int openedBefore = node(nodeIndex).openedCount();
        node(nodeIndex).sendRaw("?\r\n");
        world.await("a new connection", 1_000, () -> node(nodeIndex).openedCount() > openedBefore
                && status(client, nodeIndex).state() == NodeState.READY);
    }

    // ---- extensions -------------------------------------------------------------------------------------------------

    /**
     * Nodes 0 and 1 hold the lease, node 1 executes the shorter extension last, and node 2 is free for other clients.
     */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aLateShorterExtensionCausesNoSecondHolder(FakeRedis.Kind kind) {
        VirtualWorld.Client client = world(kind);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        CompletableFuture<ExtendOutcome> unanswered = late(1, () -> lease.extendAsync(SHORT));
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(unanswered), "the reply of node 1 is pending");
        replaceConnection(client, 1);
        ExtendOutcome extended = extend(lease, TTL);
        node(2).start();
        VirtualWorld.Client other = client();
        world.runMs(LATE_MS + SHORT.toMillis());
        AcquireOutcome outcome = acquire(other, options());
        assertFalse(outcome.isAcquired() && lease.isHeld(), "two holders: " + lease + " and " + outcome);
        boolean isScript = kind == FakeRedis.Kind.REDIS_7;
        assertEquals(isScript ? ExtendOutcome.EXTENDED : ExtendOutcome.NOT_EXTENDED, extended,
                "only a script cannot shorten the key late");
        assertEquals(isScript, lease.isHeld(), lease::toString);
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aLateExtensionByTheSameTtlHasNoEffect(FakeRedis.Kind kind) {
        VirtualWorld.Client client = world(kind);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(TTL))), "one reply");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "both nodes");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "a shorter one just as well");
    }

    /** The last extension without a reply is harmless, the one before it is not. */
    @Test
    void theShortestOfSeveralUnansweredExtensionsMatters() {
        VirtualWorld.Client client = world(FakeRedis.Kind.VALKEY_9);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(SHORT))), "one reply");
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "it is queued after the previous one");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "node 1 may still execute the shorter one");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "which is not shorter than this one");
    }

    /** Node 1 executes the second extension last, which is shorter than the one that was late first. */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aShorterExtensionAfterALateOneMattersToo(FakeRedis.Kind kind) {
        VirtualWorld.Client client = world(kind);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(TTL))), "one reply");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(SHORT))), "one reply");
        replaceConnection(client, 1);
        boolean isScript = kind == FakeRedis.Kind.REDIS_7;
        assertEquals(isScript ? ExtendOutcome.EXTENDED : ExtendOutcome.NOT_EXTENDED, extend(lease, TTL),
                "only a script cannot shorten the key late");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "no shorter extension is late");
        assertEquals(isScript ? ExtendOutcome.EXTENDED : ExtendOutcome.NOT_EXTENDED, extend(lease, TTL));
        node(2).start();
        VirtualWorld.Client other = client();
        world.runMs(LATE_MS + SHORT.toMillis());
        AcquireOutcome outcome = acquire(other, options());
        assertFalse(outcome.isAcquired() && lease.isHeld(), "two holders: " + lease + " and " + outcome);
        assertEquals(isScript, lease.isHeld(), lease::toString);
    }

    /** The reply to the shorter one was counted, so only the longer one before it can be late. */
    @Test
    void anExtensionWithAReplyIsNotLate() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT), "both reply");
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(late(1, () -> lease.extendAsync(TTL))), "one reply");
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "no shorter extension is in flight");
    }

    /** Nodes 0 and 2 renew; the reply of node 1 arrives after theirs and proves nothing. */
    @Test
    void aNodeThatMayShortenTheKeyIsNotAHolderNode() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        Lease lease = lease(client);
        world.runMs(10);
        assertEquals(ExtendOutcome.EXTENDED, get(late(1, () -> lease.extendAsync(SHORT))), "two reply");
        replaceConnection(client, 1);
        node(1).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the other two");
        world.runMs(20);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertEquals(LeaseState.LOST, lease.state(), "only node 2 certainly keeps the key");
    }

    /** Nodes 0 and 1 may still execute the shorter extension: a renewal by the whole ttl counts on node 2 alone. */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void automaticExtensionContinuesAfterAShorterOneWithoutAReply(FakeRedis.Kind kind) {
        for (long shorterMs : new long[]{TTL.toMillis() * 2 / 3, 2_000, 500}) {
            VirtualWorld.Client client = world(kind);
            Lease lease = acquired(acquire(client, options().autoExtend()));
            world.runMs(10);
            eachNode(node -> node.delay(() -> 5_000_000));
            CompletableFuture<ExtendOutcome> unanswered = lease.extendAsync(Duration.ofMillis(shorterMs))
                    .toCompletableFuture();
            world.runMs(7);
            node(0).breakConnections();
            node(1).breakConnections();
            assertEquals(ExtendOutcome.NOT_EXTENDED, get(unanswered), "node 2 alone");
            eachNode(node -> node.delay(() -> 0));
            for (int i = 0; i < 200; i++) {
                world.runMs(TTL.toMillis() / 100);
                assertTrue(lease.isHeld(), () -> lease + " after an extension by " + shorterMs + " ms");
                assertEquals(3, keyCount());
            }
            release(lease);
            nothingIsLeft();
        }
    }

    /** A quorum renews by the whole ttl, so the node that may shorten its key costs nothing. */
    @Test
    void renewalsByTheWholeTtlContinueOnAQuorumOfOtherNodes() {
        VirtualWorld.Client client = world(FakeRedis.Kind.VALKEY_9);
        Lease lease = acquired(acquire(client, options().autoExtend()));
        world.runMs(10);
        get(late(1, () -> lease.extendAsync(SHORT)));
        replaceConnection(client, 1);
        world.runMs(TTL.toMillis());
        assertTrue(lease.remainingValidityNs() > TTL.toNanos() / 2, lease::toString);
        long before = client.redlock().counters().extendedCount();
        world.runMs(TTL.toMillis());
        assertTrue(client.redlock().counters().extendedCount() - before <= 4, "each third of the ttl");
    }

    /** A renewal by the shorter ttl waits until it would not take validity from the lease. */
    @Test
    void aRenewalByAShorterTtlShortensNothing() {
        VirtualWorld.Client client = world(FakeRedis.Kind.VALKEY_9);
        Lease lease = acquired(acquire(client, options().autoExtend()));
        world.runMs(10);
        get(late(1, () -> lease.extendAsync(SHORT)));
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "nodes 0 and 2");
        long validUntilNs = world.nowNs() + lease.remainingValidityNs();
        node(2).crash();
        while (world.nowNs() < validUntilNs) {
            assertTrue(world.nowNs() + lease.remainingValidityNs() >= validUntilNs, lease::toString);
            world.runMs(100);
        }
        world.runMs(TTL.toMillis());
        assertTrue(lease.isHeld(), "by nodes 0 and 1, each time by the shorter ttl");
    }

    @Test
    void theNextLeaseCountsTheNodeAgain() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        node(2).crash();
        world.runMs(10);
        Lease lease = lease(client);
        get(late(1, () -> lease.extendAsync(SHORT)));
        replaceConnection(client, 1);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        Lease next = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(next, SHORT), "it has another token");
        assertEquals(ExtendOutcome.EXTENDED, extend(next, TTL), "it has another token");
    }

    /** A script leaves a longer expiry; a conditional set replaces it. */
    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aShorterTtlShortensTheValidityAndNotTheKeysOfAScript(FakeRedis.Kind kind) {
        VirtualWorld.Client client = world(kind);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT));
        world.runMs(1);
        long leftMs = (kind == FakeRedis.Kind.REDIS_7 ? TTL : SHORT).toMillis();
        eachNode(node -> assertEquals(leftMs, node.redis().pttl("orders"), 10));
        assertTrue(lease.remainingValidityNs() < SHORT.toNanos(), lease::toString);
        world.runMs(SHORT.toMillis());
        assertEquals(LeaseState.EXPIRED, lease.state(), "it ends with the shorter ttl");
        assertEquals(0, keyCount(), "and releases its keys");
    }

    @Test
    void anExtensionSetsAnExpiryOnAKeyWithoutOne() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        Lease lease = lease(client);
        eachNode(node -> node.redis().set("orders", node.redis().get("orders"), -1));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, SHORT));
        world.runMs(1);
        eachNode(node -> assertEquals(1_500, node.redis().pttl("orders"), 10));
    }

    @Test
    void aLateExtensionAfterTheReleaseIsAnOrphanForItsTtl() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        Lease lease = lease(client);
        world.runMs(10);
        long startMs = nowMs();
        get(late(1, () -> lease.extendAsync(TTL)));
        replaceConnection(client, 1);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(1), "set again, without a holder");
        Lease next = lease(client);
        world.runMs(TTL.toMillis());
        assertNull(key(1), "until it expires");
        assertEquals(LeaseState.EXPIRED, next.state(), "the key of the next holder is unchanged");
    }

    /** A conditional set does not set a missing key. */
    @Test
    void aLateConditionalSetAfterTheReleaseLeavesNothing() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_8_4);
        Lease lease = lease(client);
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
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        long startMs = nowMs();
        Lease lease = acquired(get(late(2, () -> client.redlock().acquireAsync("orders", options()))));
        replaceConnection(client, 2);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(0, keyCount(), "released");
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(2), "set after the release");
        Lease next = lease(client);
        assertTrue(next.isHeld(), "the other nodes are free");
        release(next);
        world.runMs(TTL.toMillis());
        assertEquals(0, keyCount(), "it has expired");
    }

    /** Nodes 0 and 1 hold the lease, node 1 executes the acquire last, and node 2 is free for other clients. */
    @Test
    void aLateAcquireOfAReaderDoesNotShortenItsExtension() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        AcquireOptions shortRead = AcquireOptions.ofTtl(SHORT).tryOnce().forReading();
        release(acquired(acquire(client, shortRead)));
        world.runMs(10);
        Lease lease = acquired(get(late(1, () -> client.redlock().acquireAsync("orders", shortRead))));
        replaceConnection(client, 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "node 1 adds the reader");
        node(2).crash();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "node 1 has the reader");
        world.runMs(LATE_MS + SHORT.toMillis());
        node(2).redis().delete("orders");
        node(2).start();
        AcquireOutcome outcome = acquire(client(), options().forWriting());
        assertTrue(lease.isHeld(), lease::toString);
        assertFalse(outcome.isAcquired(), () -> "a writer beside a reader: " + outcome);
    }

    @Test
    void aLateReleaseDeletesNoOtherKey() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        Lease lease = lease(client);
        world.runMs(10);
        assertEquals(ReleaseOutcome.RELEASED, get(late(1, lease::releaseAsync)), "two reply");
        replaceConnection(client, 1);
        assertEquals(0, keyCount(), "the undelivered release is sent");
        Lease next = lease(client());
        world.runMs(LATE_MS + 1);
        assertEquals(3, keyCount(), "the key has another token");
        assertTrue(next.isHeld(), next::toString);
    }

    @Test
    void aLateFencedAcquireOnlyIncrementsTheCounter() {
        VirtualWorld.Client client = world(FakeRedis.Kind.REDIS_7);
        long startMs = nowMs();
        Lease lease = acquired(get(late(2, () -> client.redlock().acquireAsync("orders", options().fenced()))));
        replaceConnection(client, 2);
        release(lease);
        Lease second = acquired(acquire(client, options().fenced()));
        release(second);
        world.runMs(startMs + LATE_MS + 1 - nowMs());
        assertNotNull(key(2), "the value of the late acquire");
        Lease third = acquired(acquire(client, options().fenced()));
        assertTrue(lease.fencingToken() < second.fencingToken() && second.fencingToken() < third.fencingToken(),
                lease + " " + second + " " + third);
    }

    /** Their processes stop with the acquire on its way, and execute it when they continue: the key lasts from then. */
    @Test
    void anAcquireThatTwoStoppedNodesExecuteLateIsReleased() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client();
        for (int i : new int[]{1, 2}) {
            node(i).pause();
            node(i).holdBack(any -> true);
        }
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, options());
        world.runMs(1);
        // The connections end between the acquire and its release.
        node(1).disconnectHeldBack();
        node(2).disconnectHeldBack();
        world.runMs(TTL.toMillis() + 2_000);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(first).kind(), "two of three nodes do not answer");
        for (int i : new int[]{1, 2}) {
            node(i).letThrough();
            node(i).resume();
        }
        assertNotNull(key(1), "executed late");
        assertNotNull(key(2), "executed late");
        world.await("free for the next caller", 1_000, () -> key(1) == null && key(2) == null);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, acquire(client, options()).kind(), "the next caller");
    }
}
