package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Several waiters of one client take several free permits at the same time. */
class SemaphoreWaitersTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final long ROUND_TRIP_US = 200;

    private final List<Integer> order = new ArrayList<>();

    /** Its end and its callback come while the push of the permit is passed to the queues. */
    @Test
    void aFollowerThatEndsAtOnceMayEndTheQueue() {
        VirtualWorld.Client other = slowLinks();
        List<Lease> leases = permits(other, 2, 2);
        VirtualWorld.Client client = client();
        world.runMs(1_100);
        CompletableFuture<AcquireOutcome> head = acquireAsync(client, permitOf(2).waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> follower = acquireAsync(client, permitOf(2).waitUpTo(WAIT));
        follower.whenComplete((outcome, thrown) -> head.cancel(false));
        world.runMs(100);
        AtomicBoolean hasThrown = new AtomicBoolean();
        client.clockListener(() -> {
            if (isStartingFollower() && hasThrown.compareAndSet(false, true)) {
                throw new IllegalStateException("the clock cannot be read, thrown by a test");
            }
        });
        leases.get(0).releaseAsync();
        // The first push has started the head when the second one comes.
        world.runUntilNs(world.nowNs() + LINK_NS);
        leases.get(1).releaseAsync();
        world.runMs(100);
        assertTrue(hasThrown.get(), "precondition: a push started a follower, which failed");
        assertTrue(follower.isDone() && head.isCancelled());
        for (int i = 0; i < 3; i++) {
            assertEquals(0, status(client, i).disconnectCount(), "the rest of the push is read");
        }
        clearRecordedExceptions();
        release(acquired(acquire(client, permitOf(2))));
    }

    /** One that starts in place of a follower that has won must not end that one again. */
    @Test
    void aFollowerThatEndsAtOnceEndsNoneThatHasWon() {
        VirtualWorld.Client client = slowLinks();
        AtomicBoolean hasThrown = new AtomicBoolean();
        client.clockListener(() -> {
            if (isFollowerOfOneThatEnds() && hasThrown.compareAndSet(false, true)) {
                throw new IllegalStateException("the clock cannot be read, thrown by a test");
            }
        });
        List<CompletableFuture<AcquireOutcome>> all = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            all.add(acquireAsync(client, permitOf(100).waitUpTo(WAIT)));
        }
        all.forEach(each -> each.whenComplete((outcome, thrown) -> {
            if (outcome != null && !outcome.isAcquired()) {
                all.forEach(other -> other.cancel(false));
            }
        }));
        world.runMs(1_000);
        assertTrue(hasThrown.get(), "precondition: a follower started when another one ended, and failed");
        clearRecordedExceptions();
        List<Lease> held = all.stream()
                .filter(each -> !each.isCancelled() && each.join().isAcquired())
                .map(each -> each.join().lease())
                .toList();
        assertEquals(held.size(), client.redlock().counters().heldCount(), "each lease has an owner");
        held.forEach(Lease::releaseAsync);
        world.runMs(100);
        assertEquals(0, keyCount());
        for (int i = 0; i < 3; i++) {
            assertEquals(0, status(client, i).disconnectCount(), "the connections stay");
        }
    }

    private static boolean isFollowerOfOneThatEnds() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream().anyMatch(frame -> frame.contains(".PermitFollowers.start"))
                && frames.stream().anyMatch(frame -> frame.endsWith(".AcquireScheduler.finish"));
    }

    private static boolean isStartingFollower() {
        List<String> frames = StackWalker.getInstance()
                .walk(all -> all.map(frame -> frame.getClassName() + "." + frame.getMethodName()).toList());
        return frames.stream().anyMatch(frame -> frame.contains(".PermitFollowers.start"))
                && frames.stream().anyMatch(frame -> frame.contains(".KeyChanges."));
    }

    private static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    private VirtualWorld.Client slowLinks() {
        world = new VirtualWorld(3);
        // Direct commands release there, which a node does not push to their own connection.
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client();
        slowDown();
        return client;
    }

    private void slowDown() {
        eachNode(node -> node.delay(() -> LINK_NS));
        world.runMs(1_100);
    }

    private List<Lease> permits(VirtualWorld.Client client, int taken, int count) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < taken; i++) {
            leases.add(acquired(acquire(client, permitOf(count))));
        }
        return leases;
    }

    private List<CompletableFuture<AcquireOutcome>> waiters(VirtualWorld.Client client, int waiters, int count) {
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            int number = i;
            CompletableFuture<AcquireOutcome> each = acquireAsync(client, permitOf(count).waitUpTo(WAIT));
            each.thenRun(() -> order.add(number));
            waiting.add(each);
        }
        return waiting;
    }

    private static int doneCount(List<CompletableFuture<AcquireOutcome>> waiting) {
        return (int) waiting.stream().filter(CompletableFuture::isDone).count();
    }

    private long roundTripsUntil(List<CompletableFuture<AcquireOutcome>> waiting, int doneCount) {
        long startNs = world.nowNs();
        world.await("permits", 10_000, () -> doneCount(waiting) >= doneCount);
        long tookUs = (world.nowNs() - startNs) / 1_000;
        return (tookUs + ROUND_TRIP_US / 2) / ROUND_TRIP_US;
    }

    private static Set<String> permits(List<CompletableFuture<AcquireOutcome>> waiting) {
        Set<String> permits = new HashSet<>();
        waiting.stream()
                .filter(CompletableFuture::isDone)
                .forEach(done -> permits.add(TestEngine.lockedResource(acquired(done.join()))));
        return permits;
    }

    private int searches() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("find_permit")).sum();
    }

    private int attempts() {
        return world.nodes()
                .stream()
                .mapToInt(node -> node.redis().commandCount("acquire") + node.redis().commandCount("SET NX"))
                .sum();
    }

    @Test
    void waitersTakeFreePermitsTogether() {
        VirtualWorld.Client client = slowLinks();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 8, 8);
        assertEquals(1, roundTripsUntil(waiting, 8));
        assertEquals(8, permits(waiting).size(), "each has a permit of its own");
        assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), order);
        assertEquals(0, searches());
    }

    @Test
    void manyWaitersTakeManyPermitsInAFewRoundTrips() {
        VirtualWorld.Client client = slowLinks();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 200, 256);
        long roundTrips = roundTripsUntil(waiting, 200);
        assertTrue(roundTrips <= 6, () -> roundTrips + " round trips");
        assertEquals(200, permits(waiting).size(), "each has a permit of its own");
    }

    /** The head searches once, and the node names all free permits. */
    @Test
    void waitersTakeThePermitsThatOthersLeaveFree() {
        VirtualWorld.Client client = slowLinks();
        permits(client(), 20, 40);
        int before = attempts();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 30, 40);
        long roundTrips = roundTripsUntil(waiting, 20);
        assertTrue(roundTrips <= 5, () -> roundTrips + " round trips");
        world.runMs(100);
        assertEquals(20, doneCount(waiting));
        assertEquals(20, permits(waiting).size());
        assertTrue(attempts() - before <= 3 * (20 + 12), () -> attempts() - before + " commands");
    }

    /** A full semaphore costs a client with many waiters a few attempts, not one for each. */
    @Test
    void waitersOfAFullSemaphoreMakeFewAttempts() {
        VirtualWorld.Client client = slowLinks();
        permits(client(), 32, 32);
        int before = attempts();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 100, 32);
        world.runMs(20);
        assertEquals(0, doneCount(waiting));
        assertTrue(attempts() - before <= 3 * 8, () -> attempts() - before + " commands");
        assertTrue(searches() <= 3, () -> searches() + " searches, with the registration on the other nodes");
    }

    @Test
    void eachReleaseOfAnotherClientWakesOneWaiter() {
        VirtualWorld.Client client = slowLinks();
        VirtualWorld.Client other = client();
        List<Lease> leases = permits(other, 6, 6);
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 10, 6);
        world.runMs(20);
        int before = attempts();
        leases.subList(0, 5).forEach(Lease::releaseAsync);
        long roundTrips = roundTripsUntil(waiting, 5);
        assertTrue(roundTrips <= 4, () -> roundTrips + " round trips, with the release and the push");
        assertEquals(3 * 5, attempts() - before, "no other waiter asks");
        assertEquals(List.of(0, 1, 2, 3, 4), order);
        assertEquals(0, client.redlock().counters().backstopCount());
    }

    /** The coordinator pushes the next change of each permit, also of the one that it has refused. */
    @Test
    void aReleaseCostsEachWaitingClientOneRefusalAndNoSearch() {
        for (long waitMs : new long[]{5, 200}) {
            List<Lease> leases = permits(slowLinks(), 4, 4);
            List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                waiting.addAll(waiters(client(), 1, 4));
            }
            world.runMs(waitMs);
            for (int i = 0; i < 3; i++) {
                int searches = searches();
                int attempts = attempts();
                leases.get(i).releaseAsync();
                world.runMs(5);
                assertEquals(i + 1, doneCount(waiting));
                assertEquals(3 + 2 - i, attempts() - attempts, "commands of one permit and of the refusals");
                assertEquals(searches, searches(), "after " + waitMs + " ms, release " + i);
            }
            nothingIsLeft();
            world = null;
        }
    }

    @Test
    void localReleasesServeSeveralWaitersInOneRoundTrip() {
        VirtualWorld.Client client = slowLinks();
        List<Lease> leases = permits(client, 4, 4);
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 6, 4);
        world.runMs(20);
        leases.forEach(Lease::releaseAsync);
        assertEquals(1, roundTripsUntil(waiting, 4));
        assertEquals(4, permits(waiting).size());
        assertEquals(List.of(0, 1, 2, 3), order);
    }

    /** Leases from a higher limit do not count: the client leaves a mark while it waits for one of fewer permits. */
    @Test
    void aClientWithPermitsAboveALoweredLimitIsServed() {
        VirtualWorld.Client busy = slowWorld(3);
        VirtualWorld.Client other = client();
        List<Lease> low = permits(busy, 2, 2);
        permits(other, 2, 4);
        low.forEach(lease -> returnAndTakeAgain(busy, lease));
        world.runMs(200);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, permitOf(2).waitUpTo(WAIT));
        world.runMs(100);
        assertTrue(waiting.isDone(), "served");
        acquired(waiting.join());
    }

    /** The caller holds a permit for a millisecond each time. */
    private void returnAndTakeAgain(VirtualWorld.Client client, Lease lease) {
        lease.releaseAsync();
        acquireAsync(client, permitOf(2).waitUpTo(WAIT)).thenAccept(outcome -> {
            if (outcome.isAcquired()) {
                world.after(1_000_000, () -> returnAndTakeAgain(client, outcome.lease()));
            }
        });
    }

    @Test
    void twoClientsShareTheFreePermits() {
        for (int round = 0; round < 20; round++) {
            VirtualWorld.Client one = slowLinks();
            VirtualWorld.Client other = client();
            List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>(waiters(one, 8, 8));
            waiting.addAll(waiters(other, 8, 8));
            long roundTrips = roundTripsUntil(waiting, 8);
            assertTrue(roundTrips <= 12, () -> roundTrips + " round trips");
            world.runMs(100);
            assertEquals(8, doneCount(waiting));
            assertEquals(8, permits(waiting).size());
            nothingIsLeft();
            world = null;
        }
    }

    /** Its permit is free again, and no node pushes that. */
    @Test
    void thePermitOfACancelledAttemptGoesToTheNextWaiter() {
        for (int cancelled = 0; cancelled < 3; cancelled++) {
            for (long afterUs = 50; afterUs < 1_200; afterUs += 100) {
                VirtualWorld.Client client = slowLinks();
                permits(client(), 2, 4);
                List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 5, 4);
                world.runUntilNs(world.nowNs() + afterUs * 1_000);
                // Also if it has the permit already, because nobody has taken that from the future.
                int left = 2;
                waiting.remove(cancelled).cancel(false);
                world.runMs(4);
                int done = doneCount(waiting);
                int number = cancelled;
                long us = afterUs;
                assertEquals(left, done, () -> "permits, waiter " + number + " cancelled after " + us + " us");
                assertEquals(left, permits(waiting).size());
                nothingIsLeft();
                world = null;
            }
        }
    }

    @Test
    void anAttemptBehindTheHeadEndsWithItsBudget() {
        VirtualWorld.Client client = world(3);
        permits(client(), 8, 8);
        eachNode(node -> node.delay(() -> 20_000_000));
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waiting.add(acquireAsync(client, permitOf(8).waitUpTo(Duration.ofMillis(30))));
        }
        world.runMs(100);
        waiting.forEach(each -> assertEquals(AcquireOutcome.Kind.TIMED_OUT, each.join().kind()));
    }

    /** The attempt of the waiter fails before its budget ends, or after it. */
    @ParameterizedTest
    @CsvSource({"1, 30, 3", "20, 40, 2"})
    void aWaiterBehindTheHeadEndsWithItsBudgetAfterItsAttempt(long linkMs, long endMs, int refusals) {
        VirtualWorld.Client client = world(3);
        permits(client(), 2, 2);
        eachNode(node -> node.delay(() -> linkMs * 1_000_000));
        acquireAsync(client, permitOf(2).waitUpTo(WAIT));
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, permitOf(2).waitUpTo(Duration.ofMillis(30)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.lastReason());
        assertEquals(1, outcome.attemptCount());
        assertEquals(endMs, nowMs() - startMs);
        assertEquals(refusals, client.redlock().counters().contendedAttemptCount(),
                "its attempt, that of the head, and the search of the head unless it is in progress");
    }

    @Test
    void theLimitOfAttemptsInFlightApplies() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().inFlightMax(2));
        slowDown();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 8, 8);
        long roundTrips = roundTripsUntil(waiting, 8);
        assertTrue(roundTrips >= 4, () -> roundTrips + " round trips");
        assertEquals(8, permits(waiting).size());
    }

    @Test
    void closingEndsTheAttemptsBehindTheHead() {
        VirtualWorld.Client client = slowLinks();
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 20, 8);
        world.runUntilNs(world.nowNs() + 50_000);
        client.engine().close(Duration.ofMillis(100));
        world.runMs(200);
        waiting.forEach(each -> assertEquals(AcquireOutcome.Kind.CLOSED, each.join().kind()));
        eachNode(node -> assertTrue(node.redis().keys().isEmpty(), () -> node.redis().keys().toString()));
    }

    @Test
    void waitersWithoutNodesAreServedWhenTheyReturn() {
        VirtualWorld.Client client = slowLinks();
        eachNode(FakeNode::pause);
        List<CompletableFuture<AcquireOutcome>> waiting = waiters(client, 8, 8);
        world.runMs(500);
        assertFalse(waiting.stream().anyMatch(CompletableFuture::isDone));
        eachNode(FakeNode::resume);
        world.await("permits", 10_000, () -> doneCount(waiting) == 8);
        assertEquals(8, permits(waiting).size());
    }

    /** The head is cancelled just when the budget of the next waiter ends. */
    @Test
    void aWaiterThatIsPromotedKeepsTheReasonOfItsAttempt() {
        VirtualWorld.Client client = slowLinks();
        eachNode(FakeNode::pause);
        CompletableFuture<AcquireOutcome> head = acquireAsync(client, permitOf(4).waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> next = acquireAsync(client, permitOf(4).waitUpTo(Duration.ofMillis(200)));
        long deadlineNs = world.nowNs() + 200_000_000;
        world.runUntilNs(deadlineNs - 1);
        assertFalse(next.isDone());
        world.pass(1);
        head.cancel(false);
        AcquireOutcome outcome = get(next);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason());
    }

    /** Three use one permit: a lease, and two attempts for which no node has searched in time. */
    @Test
    void aPermitIsUsedUntilItsLastUserHasLeft() {
        VirtualWorld.Client client = slowLinks();
        Lease held = permits(client, 1, 1).get(0);
        eachNode(FakeNode::pause);
        waiters(client, 2, 1);
        Lease other = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), permitOf(1), other, outcome -> {
        });
        // The searches are given up after half a node timeout, and the attempts after a whole one more.
        world.runMs(NODE_TIMEOUT_MS / 2 + 1);
        other.close();
        client.call(held::releaseAsync);
        world.runMs(1);
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of()));
        eachNode(FakeNode::resume);
    }
}
