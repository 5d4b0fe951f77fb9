package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Errors in the order of steps: within one turn of the loop, between two reads of a field, or in the last second of a
 * deadline. Tests that look at the end of a turn only cannot detect them.
 */
class ChangeOrderRegressionTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Returns a client whose socket writes take longer than the clock allowance of its ttl. */
    private VirtualWorld.Client slowSender() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(5)));
        slowDown(client);
        return client;
    }

    private void slowDown(VirtualWorld.Client client) {
        client.transport().sendListener(() -> world.pass(100 * MS));
    }

    private void assertCountedFrom(long startNs, Lease lease) {
        long elapsedNs = world.nowNs() - startNs;
        assertTrue(elapsedNs > 300 * MS, "precondition: the sends are slow: " + elapsedNs);
        assertTrue(lease.remainingValidityNs() <= TTL.toNanos() - elapsedNs,
                "the keys may exist since the first byte was sent: " + lease);
    }

    @Test
    void validityStartsBeforeTheAcquireIsSent() {
        VirtualWorld.Client client = slowSender();
        long startNs = world.nowNs();
        assertCountedFrom(startNs, lease(client));
    }

    @Test
    void validityStartsBeforeTheExtensionIsSent() {
        VirtualWorld.Client client = slowSender();
        Lease lease = lease(client);
        world.runMs(1_000);
        long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        assertCountedFrom(startNs, lease);
    }

    /** Such an extension is sent in the call, without a batch. */
    @Test
    void validityStartsBeforeAnExtensionThatAlsoAsksAnotherNode() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(5)).thriftyQuorums(true));
        Lease lease = lease(client);
        assertEquals(2, keyCount(), "precondition: one node was not asked");
        slowDown(client);
        long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        eachNode(node -> assertEquals(key(0), node.redis().get("orders"), "all nodes hold the lock"));
        assertCountedFrom(startNs, lease);
    }

    /** A callback releases the lock, and then a NOSCRIPT reply makes the client send the next acquire again. */
    @Test
    void aResentCommandFollowsTheReleasesOfItsTurn() {
        VirtualWorld.Client client = scriptedWorld(1);
        Lease holder = lease(client);
        world.runMs(1);
        node(0).redis().startLog();
        node(0).redis().failNext("acquire", "NOSCRIPT No matching script. Please use EVAL.", 1);
        List<CompletionStage<?>> started = new ArrayList<>();
        client.engine().execute(() -> {
            // Both replies arrive together, and this callback runs between them.
            holder.extend(10_000, (lease, outcome) -> started.add(lease.releaseAsync()));
            started.add(acquireAsync(client, options()));
        });
        world.runMs(1);
        assertEquals(List.of("extend orders -> 1", "release orders -> 1", "acquire orders -> 1"),
                node(0).redis().log(), "in the order of the requests");
        assertEquals(2, started.stream().filter(stage -> stage.toCompletableFuture().isDone()).count(), "outcomes");
    }

    /** The application acquires in the turn in which the node's handshake ends. */
    @Test
    void undeliveredReleasesAreSentBeforeTheNodeVotes() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> MS));
        lease.releaseAsync();
        world.settle();
        node(0).breakConnections();
        world.settle();
        assertNotNull(key(0), "the release was lost");
        List<CompletableFuture<AcquireOutcome>> next = new ArrayList<>();
        // After each reply of the handshake, in the turn that reads it.
        node(0).deliveryListener(() -> client.engine().execute(() -> {
            if (next.isEmpty() && status(client, 0).state() == NodeState.READY) {
                next.add(acquireAsync(client, options()));
            }
        }));
        world.await("acquired in the turn of the handshake", 1_000, () -> next.size() == 1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, get(next.get(0)).kind(), "the first acquire finds the lock free");
        assertEquals(1, status(client, 0).undeliveredReleaseDeliveredCount(), "by the undelivered release");
    }

    /** A key lasts for its ttl from the last moment at which the node can have set it. */
    @ParameterizedTest
    @ValueSource(longs = {9_200, 9_900})
    void anUndeliveredReleaseIsRetainedWhileTheNodeIsAway(long awayMs) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().reconnectDelay(Duration.ofMillis(5), Duration.ofMillis(10)));
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "by the other two nodes");
        world.runMs(awayMs);
        assertNotNull(key(2), "the key still exists");
        node(2).start();
        world.await("back", 50, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(1);
        assertNull(key(2), "it was released, and has not expired");
        assertEquals(1, status(client, 2).undeliveredReleaseDeliveredCount(), "by the undelivered release");
    }

    /** The connection accepts 16 requests at a time; the others go as replies make room, and not with the next ping. */
    @Test
    void manyUndeliveredReleasesFollowEachOther() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeBackPressure(16, 1 << 20));
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            leases.add(get(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture()).lease());
        }
        world.runMs(1);
        node(2).crash();
        leases.forEach(lease -> assertEquals(ReleaseOutcome.RELEASED, release(lease), "by the other two nodes"));
        node(2).start();
        world.await("back", 3_000, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(5);
        assertEquals(60, status(client, 2).undeliveredReleaseDeliveredCount(), "delivered");
        assertEquals(0, status(client, 2).undeliveredReleaseCount(), "left");
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

    /** Node 2 refuses the first extension late, after the second one has set the key. */
    @Test
    void aLateRefusalOfAnOlderExtensionKeepsTheUndeliveredRelease() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(1)));
        node(2).redis().set("orders", "foreign", -1);
        Lease lease = lease(client);
        world.runMs(1);
        node(2).delay(() -> 20 * MS);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two nodes");
        world.runMs(25);
        node(2).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two nodes again");
        world.runMs(30);
        assertEquals(key(0), key(2), "set by the second extension");
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        node(2).delay(() -> 0);
        world.runMs(1_000);
        assertNull(key(2), "a release for a possible key is retained");
    }

    /** Each release is written immediately here, so another client could acquire before the call returns. */
    @Test
    void aLeaseIsNotHeldWhileItsReleaseIsBeingSent() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        Lease lease = lease(client);
        world.runMs(1);
        List<LeaseState> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            seen.add(lease.state());
            assertFalse(lease.isHeld(), "its release is in flight");
        });
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(LeaseState.RELEASING, seen.get(0), "during the send to the first node");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "outcome");
    }

    /** The same for a lost lease, whose remaining keys are released. */
    @Test
    void aLostLeaseIsNotHeldWhileItsReleaseIsBeingSent() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.redis().delete("orders"));
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        // The flush of the extension has to be complete.
        boolean[] isAnswered = {false};
        node(1).redis().listener((name, command, reply) -> isAnswered[0] = true);
        List<Boolean> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            if (isAnswered[0]) {
                seen.add(lease.isHeld());
            }
        });
        assertEquals(ExtendOutcome.LOST, get(extended), "lost");
        assertEquals(List.of(false), seen.stream().distinct().toList(), "isHeld() during the send of the release");
    }

    /** A turn with two flushes: the sockets have not written the bytes of the first one before the second. */
    @Test
    void bytesThatASocketHasNotWrittenAreNotOverwritten() {
        VirtualWorld.Client client = world(3);
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        TestClient conductor = client.engine();
        conductor.execute(() -> {
            outcomes.add(client.redlock().acquireAsync("first", options()).toCompletableFuture());
            // After the flush, in the same turn.
            conductor.execute(() -> outcomes
                    .add(client.redlock().acquireAsync("second", options()).toCompletableFuture()));
        });
        world.settle();
        for (CompletableFuture<AcquireOutcome> outcome : outcomes) {
            acquired(get(outcome));
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(2, node(i).redis().keys().size(), "keys on " + node(i));
        }
    }

    // ---- between two reads of a lease's fields ----------------------------------------------------------------------

    /** Runs a task once while a thread that reads the validity reads the clock. */
    private <T> T inTheMiddleOf(VirtualWorld.Client client, Supplier<T> question, Runnable task) {
        boolean[] isOver = {false};
        client.clockListener(() -> {
            if (!isOver[0]) {
                isOver[0] = true;
                task.run();
            }
        });
        T answer = question.get();
        assertTrue(isOver[0], "the clock was read");
        return answer;
    }

    private Lease reusable(VirtualWorld.Client client, Lease lease, long ttlMs) {
        client.redlock()
                .acquire(client.redlock().key("orders"), AcquireOptions.ofTtl(Duration.ofMillis(ttlMs)).tryOnce(),
                        lease,
                        outcome -> assertTrue(outcome.isAcquired(), outcome::toString));
        world.settle();
        return lease;
    }

    @Test
    void aLeaseThatIsReleasedDuringIsHeldIsNotHeld() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        assertFalse(inTheMiddleOf(client, lease::isHeld, lease::releaseAsync), "the state is written last");
        world.settle();
    }

    @Test
    void aLeaseThatIsLostDuringIsHeldIsNotHeld() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        assertFalse(inTheMiddleOf(client, lease::isHeld, () -> get(lease.extendAsync(TTL))),
                "the state is written last");
        assertEquals(LeaseState.LOST, lease.state(), "lost");
    }

    /** Between the two reads, the handle may be released and reused for a lock with a shorter validity. */
    @Test
    void aReusedLeaseNeverReportsThePreviousValidity() {
        VirtualWorld.Client client = world(3);
        Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        long remainingNs = inTheMiddleOf(client, lease::remainingValidityNs, () -> {
            assertEquals(ReleaseOutcome.RELEASED, release(lease), "the long validity");
            reusable(client, lease, 500);
        });
        assertTrue(lease.isHeld(), "the short validity");
        assertTrue(remainingNs <= 500 * MS, "half a second, but it was " + remainingNs);
    }

    /** The end of the validity is read before the state, so it must be cleared before the state is HELD again. */
    @Test
    void aReusedLeaseHasNoValidityWhileItIsBeingAcquired() {
        VirtualWorld.Client client = world(3);
        Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() > 9_000 * MS, "the first one's");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the first one");
        eachNode(node -> node.delay(() -> MS));
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        assertEquals(LeaseState.ACQUIRING, lease.state(), "the second one");
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() <= 0, "it is not valid for any time yet");
    }
}
