package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
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
 * What can go wrong within one turn of the loop, between two reads of a field or in the last second of a deadline.
 * Tests that only look at the end of a turn cannot see it.
 */
class ChangeOrderRegressionTest extends VirtualTest {

    private static final long MS = 1_000_000;

    /** Writing to the sockets takes this client longer than the drift allowance of its ttl. */
    private VirtualWorld.Client slowSender() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(5)));
        client.transport().sendListener(() -> world.pass(100 * MS));
        return client;
    }

    private void assertCountedFrom(final long begunNs, final Lease lease) {
        final long elapsedNs = world.nowNs() - begunNs;
        assertTrue(elapsedNs > 300 * MS, "this test wants the sending to take its time: " + elapsedNs);
        assertTrue(lease.remainingValidityNs() <= TTL.toNanos() - elapsedNs,
                "the keys may have stood since the first byte was sent: " + lease);
    }

    @Test
    void theValidityCountsFromBeforeTheAcquireIsSent() {
        final VirtualWorld.Client client = slowSender();
        final long begunNs = world.nowNs();
        assertCountedFrom(begunNs, lease(client));
    }

    @Test
    void theValidityCountsFromBeforeTheExtensionIsSent() {
        final VirtualWorld.Client client = slowSender();
        final Lease lease = lease(client);
        world.runMs(1_000);
        final long begunNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extended");
        assertCountedFrom(begunNs, lease);
    }

    /** A callback releases the lock, and the next answer makes the client send the next acquire a second time. */
    @Test
    void whatIsSentASecondTimeStandsBehindTheReleasesOfItsTurn() {
        final VirtualWorld.Client client = scriptedWorld(1);
        final Lease holder = lease(client);
        world.runMs(1);
        node(0).redis().startLog();
        node(0).redis().failNext("acquire", "NOSCRIPT No matching script. Please use EVAL.", 1);
        final List<CompletionStage<?>> begun = new ArrayList<>();
        client.engine().execute(() -> {
            // Both answers arrive together, and this callback runs between them.
            holder.extend(10_000, (lease, outcome) -> begun.add(lease.releaseAsync()));
            begun.add(begin(client, options()));
        });
        world.runMs(1);
        assertEquals(List.of("extend orders -> 1", "release orders -> 1", "acquire orders -> 1"),
                node(0).redis().log(), "in the order in which they were asked for");
        assertEquals(2, begun.stream().filter(stage -> stage.toCompletableFuture().isDone()).count(), "outcomes");
    }

    /** The application acquires in the very turn in which the node's handshake ends. */
    @Test
    void debtIsPaidBeforeTheNodeVotes() {
        world = new VirtualWorld(1);
        final VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> MS));
        lease.releaseAsync();
        world.settle();
        node(0).breakConnections();
        world.settle();
        assertNotNull(key(0), "the release was lost");
        final List<CompletableFuture<AcquireOutcome>> next = new ArrayList<>();
        // Behind each reply of the handshake, in the turn that reads it.
        node(0).deliveryListener(() -> client.engine().execute(() -> {
            if (next.isEmpty() && status(client, 0).state() == NodeState.READY) {
                next.add(begin(client, options()));
            }
        }));
        world.await("acquired in the turn of the handshake", 1_000, () -> next.size() == 1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, get(next.get(0)).kind(), "the first acquire finds the lock free");
        assertEquals(1, status(client, 0).undeliveredReleaseDeliveredCount(), "by what was owed");
    }

    /** A key of the node stands for its whole ttl from the last moment at which it can have been set. */
    @ParameterizedTest
    @ValueSource(longs = {9_200, 9_900})
    void debtIsOwedUntilTheKeyHasExpired(final long awayMs) {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().reconnectDelayMs(5, 10));
        final Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "by the other two");
        world.runMs(awayMs);
        assertNotNull(key(2), "it still stands");
        node(2).start();
        world.await("back", 50, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(1);
        assertNull(key(2), "it was released, and has not expired");
        assertEquals(1, status(client, 2).undeliveredReleaseDeliveredCount(), "by what was owed");
    }

    /** Node 2 refuses the first extension late, when the second has put the key there. */
    @Test
    void aLateRefusalOfAnOlderExtensionDoesNotCancelTheDebt() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(1)));
        node(2).redis().set("orders", "foreign", -1);
        final Lease lease = lease(client);
        world.runMs(1);
        node(2).delay(() -> 20 * MS);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two");
        world.runMs(25);
        node(2).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two again");
        world.runMs(30);
        assertEquals(key(0), key(2), "put there by the second");
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        node(2).delay(() -> 0);
        world.runMs(1_000);
        assertNull(key(2), "what may stand is owed");
    }

    /** Each release is written at once here, so others could have the lock before the call returns. */
    @Test
    void nobodySeesALeaseHeldWhoseReleaseIsBeingSent() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().releaseBatchMax(1));
        final Lease lease = lease(client);
        world.runMs(1);
        final List<LeaseState> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            seen.add(lease.state());
            assertFalse(lease.isHeld(), "its release is on its way");
        });
        final CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(LeaseState.RELEASING, seen.get(0), "while the first node is sent it");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "outcome");
    }

    /** The same where the lock is lost: what is left of it is given back. */
    @Test
    void nobodySeesALeaseHeldThatIsBeingGivenBackBecauseItIsLost() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().releaseBatchMax(1));
        final Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.redis().delete("orders"));
        final CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        // The flush of the extension has to be over.
        final boolean[] isAnswered = {false};
        node(1).redis().listener((name, command, reply) -> isAnswered[0] = true);
        final List<Boolean> seen = new ArrayList<>();
        client.transport().sendListener(() -> {
            if (isAnswered[0]) {
                seen.add(lease.isHeld());
            }
        });
        assertEquals(ExtendOutcome.LOST, get(extended), "lost");
        assertEquals(List.of(false), seen.stream().distinct().toList(), "held, as seen by whoever sends the release");
    }

    /** A turn with two flushes: the sockets have not read the bytes of the first when the second is written. */
    @Test
    void bytesThatASocketHasNotReadAreNotOverwritten() {
        final VirtualWorld.Client client = world(3);
        final List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        final TestClient conductor = client.engine();
        conductor.execute(() -> {
            outcomes.add(client.redlock().acquireAsync("first", options()).toCompletableFuture());
            // Behind the flush, in the same turn.
            conductor.execute(() -> outcomes
                    .add(client.redlock().acquireAsync("second", options()).toCompletableFuture()));
        });
        world.settle();
        for (final CompletableFuture<AcquireOutcome> outcome : outcomes) {
            acquired(get(outcome));
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(2, node(i).redis().keys().size(), "keys on " + node(i));
        }
    }

    // ---- between two reads of a lease's fields ----------------------------------------------------------------------

    /** Runs something once, while a thread that asks for the validity reads the clock. */
    private <T> T inTheMiddleOf(final VirtualWorld.Client client, final Supplier<T> question, final Runnable task) {
        final boolean[] isOver = {false};
        client.clockListener(() -> {
            if (!isOver[0]) {
                isOver[0] = true;
                task.run();
            }
        });
        final T answer = question.get();
        assertTrue(isOver[0], "the clock was read");
        return answer;
    }

    private Lease reusable(final VirtualWorld.Client client, final Lease lease, final long ttlMs) {
        client.redlock()
                .acquire(client.redlock().key("orders"), AcquireOptions.ofTtl(Duration.ofMillis(ttlMs)).tryOnce(),
                        lease,
                        outcome -> assertTrue(outcome.isAcquired(), outcome::toString));
        world.settle();
        return lease;
    }

    @Test
    void aLeaseThatIsReleasedWhileItIsLookedAtIsNotHeld() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        assertFalse(inTheMiddleOf(client, lease::isHeld, lease::releaseAsync), "its state comes last");
        world.settle();
    }

    @Test
    void aLeaseThatIsLostWhileItIsLookedAtIsNotHeld() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        assertFalse(inTheMiddleOf(client, lease::isHeld, () -> get(lease.extendAsync(TTL))), "its state comes last");
        assertEquals(LeaseState.LOST, lease.state(), "lost");
    }

    /** Between the two reads a handle may be released and used for a lock that is valid for a shorter time. */
    @Test
    void theValidityOfALeaseIsNeverThatOfTheOneBefore() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        final long remainingNs = inTheMiddleOf(client, lease::remainingValidityNs, () -> {
            assertEquals(ReleaseOutcome.RELEASED, release(lease), "the long one");
            reusable(client, lease, 500);
        });
        assertTrue(lease.isHeld(), "the short one");
        assertTrue(remainingNs <= 500 * MS, "half a second, but it was " + remainingNs);
    }

    /** The end of a validity is read before the state: it must not be there when the state says "held" again. */
    @Test
    void nothingIsLeftOfTheValidityBeforeWhileALeaseIsAcquired() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = reusable(client, client.redlock().newLease(), 10_000);
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() > 9_000 * MS, "the first one's");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the first one");
        eachNode(node -> node.delay(() -> MS));
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        assertEquals(LeaseState.ACQUIRING, lease.state(), "the second one");
        assertTrue(TestEngine.validUntilNs(lease) - world.nowNs() <= 0, "it is not valid for any time yet");
    }
}
