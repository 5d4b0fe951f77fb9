package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A caller that returns to its lock, or the next local waiter, leaves the lock to other clients: by a pause, or by an
 * attempt that the coordinator refuses if another client waits. Links take no time here, so each pause has its minimum.
 */
class HandoffPauseTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** The shortest pause. */
    private static final long PAUSE_NS = 500_000;
    private static final long NS_PER_MS = 1_000_000;

    private VirtualWorld.Client owner;

    private CompletableFuture<AcquireOutcome> waiter(VirtualWorld.Client client) {
        return acquireAsync(client, options().waitUpTo(WAIT));
    }

    private void runNs(long ns) {
        world.runUntilNs(world.nowNs() + ns);
    }

    private void ownerThatPausesAfterOneHandoff() {
        world = new VirtualWorld(3);
        owner = client(context().localHandoffsMax(1));
    }

    // ---- a caller that returns --------------------------------------------------------------------------------------

    /** Returns a lease of the owner, for which it has waited until another client released the lock. */
    private Lease contendedLease(VirtualWorld.Client other) {
        Lease theirs = lease(other);
        CompletableFuture<AcquireOutcome> waiting = waiter(owner);
        world.runMs(5);
        release(theirs);
        return acquired(get(waiting));
    }

    /**
     * Another client waits, but is slow. The owner returns before it has forgotten the other one: it asks in order,
     * unless its budget is too short for a refusal.
     */
    @ParameterizedTest
    @CsvSource({"0, 1000000000, true", "2000000, 2000000, false", "2000001, 1000000000, true",
        "2000001, 2000000, false",
        "2000001, 2000001, true", "10000000, 1000000000, true", "10000001, 1000000000, false"})
    void aCallerThatReturnsGivesWayToAClientThatWaits(long afterNs, long budgetNs, boolean isGivingWay) {
        owner = world(3);
        VirtualWorld.Client other = client();
        Lease lease = contendedLease(other);
        waiter(other);
        world.runMs(5);
        other.pause();
        lease.releaseAsync();
        runNs(afterNs);
        CompletableFuture<AcquireOutcome> returning = acquireAsync(owner,
                options().waitUpTo(Duration.ofNanos(budgetNs)));
        world.settle();
        assertEquals(isGivingWay, !returning.isDone());
    }

    /** To give way costs one round trip more. */
    @Test
    void aCallerThatReturnsLateGivesWayOnceIfNobodyComes() {
        owner = world(3);
        Lease lease = contendedLease(client());
        for (int i = 0; i < 5; i++) {
            release(lease);
            world.runMs(3);
            int before = attemptsThatRegister();
            lease = acquired(get(waiter(owner)));
            assertEquals(i == 0, attemptsThatRegister() > before, "return " + i);
        }
    }

    /** Returns a lease of the owner that ends with a pause: a node has reported the mark of a client, which is slow. */
    private Lease leaseBesideAMark(AcquireOptions options) {
        AcquireOptions waiting = options.waitUpTo(WAIT);
        VirtualWorld.Client other = client();
        Lease lease = acquired(get(acquireAsync(owner, waiting)));
        acquireAsync(other, waiting);
        world.settle();
        other.pause();
        world.runMs(11);
        lease.releaseAsync();
        return acquired(get(acquireAsync(owner, waiting)));
    }

    @ParameterizedTest
    @CsvSource({"2000000, 10000000000, true", "2000001, 10000000000, false", "0, 8000000, false", "0, 8000001, true"})
    void aCallerThatReturnsToAnotherKindOfLockPausesForAWaiterWithAMark(long afterNs, long budgetNs,
            boolean isPausing) {
        ownerThatPausesAfterOneHandoff();
        AcquireOptions writing = options().forWriting();
        Lease lease = leaseBesideAMark(writing);
        lease.releaseAsync();
        runNs(afterNs);
        CompletableFuture<AcquireOutcome> returning = acquireAsync(owner,
                writing.waitUpTo(Duration.ofNanos(budgetNs)));
        runNs(isPausing ? 4 * PAUSE_NS - 1 : 0);
        assertEquals(isPausing, !returning.isDone());
        runNs(1);
        acquired(returning.getNow(null));
    }

    /** A waiter that has given up leaves its mark for half a second, which costs a tenth of the time at most. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PLAIN")
    void theMarkOfAClientThatHasGivenUpCostsPausesUntilItExpires(Kind kind) {
        owner = world(3);
        loadScripts(kind);
        VirtualWorld.Client other = client();
        Lease lease = acquire(kind);
        CompletableFuture<AcquireOutcome> theirs = acquireAsync(other, kind);
        world.settle();
        theirs.cancel(true);
        int[] pauses = new int[2];
        for (int i = 0; i < 1_000; i++) {
            world.runMs(1);
            lease.releaseAsync();
            long releasedNs = world.nowNs();
            lease = acquire(kind);
            pauses[i / 500] += world.nowNs() > releasedNs ? 1 : 0;
        }
        // The reservation of a set ends with its waiter.
        assertEquals(kind == Kind.SET, pauses[0] == 0);
        assertTrue(pauses[0] <= 500 / 20, () -> pauses[0] + " pauses");
        assertEquals(0, pauses[1]);
    }

    /** Its callers come back at once, or wait in its queue. The other client, or the reader, waits for one pause. */
    @ParameterizedTest
    @CsvSource({"SET, 0", "SET, 2", "WRITE, 0", "WRITE, 2", "PERMIT, 0", "PERMIT, 2"})
    void aClientThatLeavesAMarkGetsTheLockAfterThePause(Kind kind, int localWaiters) {
        owner = world(3);
        loadScripts(kind);
        VirtualWorld.Client other = client();
        AcquireOptions reading = options().forReading().waitUpTo(WAIT);
        for (int i = 0; i < 10; i++) {
            ArrayDeque<CompletableFuture<AcquireOutcome>> waiting = new ArrayDeque<>();
            Lease lease = acquire(kind);
            IntStream.range(0, localWaiters).forEach(j -> waiting.add(acquireAsync(owner, kind)));
            CompletableFuture<AcquireOutcome> theirs = i % 2 == 0 || kind != Kind.WRITE
                    ? acquireAsync(other, kind)
                    : acquireAsync(i % 4 == 1 ? owner : other, reading);
            int leases = 0;
            while (!theirs.isDone()) {
                leases++;
                world.runMs(1);
                lease.releaseAsync();
                waiting.add(acquireAsync(owner, kind));
                world.await("a lease", 20, () -> theirs.isDone() || waiting.peek().isDone());
                lease = theirs.isDone() ? lease : acquired(waiting.remove().join());
            }
            acquired(theirs.join()).releaseAsync();
            waiting.forEach(next -> acquired(get(next)).releaseAsync());
            world.runMs(100);
            int count = leases;
            assertTrue(count <= 60, () -> count + " leases of a millisecond");
        }
    }

    /** A client that holds all permits refuses its own waiters: that is no reason to leave a permit free. */
    @Test
    void theMarkOfOwnWaitersForPermitsCausesNoPause() {
        owner = world(3);
        ArrayDeque<CompletableFuture<AcquireOutcome>> waiting = new ArrayDeque<>();
        ArrayDeque<Lease> held = new ArrayDeque<>();
        IntStream.range(0, 8).forEach(i -> waiting.add(acquireAsync(owner, options().forPermitOf(2).waitUpTo(WAIT))));
        world.settle();
        for (int i = 0; i < 400; i++) {
            while (!waiting.isEmpty() && waiting.peek().isDone()) {
                held.add(acquired(waiting.remove().join()));
            }
            assertEquals(2, held.size(), "permits in use after " + i + " ms");
            world.runMs(1);
            held.remove().releaseAsync();
            waiting.add(acquireAsync(owner, options().forPermitOf(2).waitUpTo(WAIT)));
            world.settle();
        }
    }

    // ---- releases that ask whether another client waits -------------------------------------------------------------

    /** The kinds of locks that one caller acquires. */
    private enum Kind {
        PLAIN, SET, WRITE, PERMIT
    }

    /** Attempts in order, and commands that register. */
    private int attemptsThatRegister() {
        return world.nodes()
                .stream()
                .map(FakeNode::redis)
                .mapToInt(node -> node.commandCount("CLIENT CACHING") + node.commandCount("acquire_in_order"))
                .sum();
    }

    private Lease acquire(Kind kind) {
        return acquired(get(acquireAsync(owner, kind)));
    }

    private CompletableFuture<AcquireOutcome> acquireAsync(VirtualWorld.Client client, Kind kind) {
        AcquireOptions options = options().waitUpTo(WAIT);
        return switch (kind) {
            case PLAIN -> acquireAsync(client, options);
            case SET -> client.redlock().acquireAllAsync(List.of("orders", "stock"), options).toCompletableFuture();
            case WRITE -> acquireAsync(client, options.forWriting());
            case PERMIT -> acquireAsync(client, options.forPermitOf(1));
        };
    }

    /** The nodes have the scripts from then on: otherwise, the first release would come after the next attempt. */
    private void loadScripts(Kind kind) {
        release(acquire(kind));
        world.runMs(100);
    }

    private int questions() {
        return world.nodes()
                .stream()
                .map(FakeNode::redis)
                .mapToInt(node -> node.commandCount("ZCARD") + node.commandCount("PTTL")
                        + node.commandCount("remaining_ttl_set"))
                .sum();
    }

    /** Each attempt uses the cheapest command, at all nodes at once, and gets the lock without a pause. */
    @ParameterizedTest
    @EnumSource
    void oneReleaseIn10MillisecondsAsksWhetherAnotherClientWaits(Kind kind) {
        owner = world(3);
        loadScripts(kind);
        List<Integer> asking = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Lease lease = acquire(kind);
            world.runMs(1);
            int before = questions();
            lease.releaseAsync();
            long releasedNs = world.nowNs();
            world.settle();
            if (questions() > before) {
                asking.add(i);
            }
            assertEquals(releasedNs, world.nowNs());
        }
        assertEquals(0, attemptsThatRegister());
        assertEquals(9, asking.get(0), "releases, one each ms");
        for (int i = 1; i < asking.size(); i++) {
            int apart = asking.get(i) - asking.get(i - 1);
            assertTrue(apart >= 5 && apart <= 15, () -> "releases " + asking);
        }
        assertTrue(asking.size() >= 16 && asking.size() <= 26, () -> "releases " + asking);
    }

    /** Waiters of this client are no reason to leave the lock free. */
    @Test
    void aQueueWithoutCompetitorsNeverPauses() {
        ownerThatPausesAfterOneHandoff();
        Lease first = acquired(get(waiter(owner)));
        CompletableFuture<AcquireOutcome> second = waiter(owner);
        CompletableFuture<AcquireOutcome> next = waiter(owner);
        release(first);
        Lease lease = acquired(get(second));
        int before = attemptsThatRegister();
        for (int i = 0; i < 100; i++) {
            CompletableFuture<AcquireOutcome> last = waiter(owner);
            world.runMs(1);
            lease.releaseAsync();
            world.settle();
            lease = acquired(next.getNow(null));
            next = last;
        }
        assertEquals(before, attemptsThatRegister());
        assertEquals(10, questions());
    }

    /** A caller that comes back after some time has left the lock free. */
    @Test
    void aCallerThatReturnsLateDoesNotAsk() {
        owner = world(3);
        for (int i = 0; i < 50; i++) {
            release(acquire(Kind.PLAIN));
            world.runMs(3);
        }
        assertEquals(0, questions());
        assertEquals(0, attemptsThatRegister());
    }

    /**
     * The release that follows the answer leaves the lock to the other client, which is slow. Local waiters have a
     * turn, with whose grant the coordinator has said that another client waits: it ends with their handoffs.
     */
    @ParameterizedTest
    @CsvSource({"0, 12", "2, 5"})
    void aClientThatWaitsGetsTheLockAfterTheNextQuestion(int localWaiters, int leasesBefore) {
        owner = world(3);
        VirtualWorld.Client other = client();
        Lease lease = acquired(get(waiter(owner)));
        ArrayDeque<CompletableFuture<AcquireOutcome>> waiting = new ArrayDeque<>();
        IntStream.range(0, localWaiters).forEach(i -> waiting.add(waiter(owner)));
        runNs(localWaiters * 1_000L);
        CompletableFuture<AcquireOutcome> theirs = waiter(other);
        world.settle();
        other.pause();
        int leases = 0;
        boolean isFree = false;
        while (!isFree && leases < 100) {
            leases++;
            world.runMs(1);
            lease.releaseAsync();
            waiting.add(waiter(owner));
            world.settle();
            isFree = keyCount() == 0;
            lease = isFree ? null : acquired(waiting.remove().getNow(null));
        }
        assertEquals(leasesBefore, leases, "leases of a millisecond until the lock is free");
        other.resume();
        world.await("their grant", 3, theirs::isDone);
        acquired(theirs.join()).releaseAsync();
        acquired(get(waiting.remove())).releaseAsync();
        world.runMs(100);
    }

    /** A client that has given up has left the queue. */
    @Test
    void aClientThatHasGivenUpCostsNoPause() {
        owner = world(3);
        VirtualWorld.Client other = client();
        Lease lease = acquired(get(waiter(owner)));
        CompletableFuture<AcquireOutcome> theirs = waiter(other);
        world.settle();
        theirs.cancel(true);
        int pauses = 0;
        for (int i = 0; i < 100; i++) {
            world.runMs(1);
            lease.releaseAsync();
            long releasedNs = world.nowNs();
            lease = acquired(get(waiter(owner)));
            pauses += world.nowNs() > releasedNs ? 1 : 0;
        }
        assertEquals(0, pauses);
    }

    /** The key of the queue may be foreign. */
    @Test
    void aKeyThatIsNoQueueIsIgnored() {
        owner = world(3);
        for (int i = 0; i < 30; i++) {
            Lease lease = acquire(Kind.PLAIN);
            eachNode(node -> node.redis().set(KeyText.counterName("orders") + ":queue", "foreign", -1));
            world.runMs(1);
            lease.releaseAsync();
        }
        world.settle();
        int asked = questions();
        assertTrue(asked >= 2 && asked <= 5, () -> asked + " questions");
        assertEquals(0, attemptsThatRegister());
    }

    @Test
    void aNodeThatRejectsTheQuestionIsNotAtFault() {
        owner = world(3);
        eachNode(node -> node.redis().failNext("ZCARD", "NOPERM this user has no permissions to run 'zcard'", 1_000));
        for (int i = 0; i < 100; i++) {
            Lease lease = acquire(Kind.PLAIN);
            world.runMs(1);
            lease.releaseAsync();
        }
        assertEquals(0, attemptsThatRegister());
        owner.redlock().nodes().forEach(node -> assertNull(node.problem()));
    }

    /** Each node gets as much load as the others. */
    @Test
    void handoffsWithoutPushesAskDifferentNodes() {
        world = new VirtualWorld(5);
        owner = client(context().wakeUpKeysMax(0).localHandoffsMax(0).thriftyQuorums(true));
        TreeSet<Integer> asked = new TreeSet<>();
        Lease lease = acquired(get(waiter(owner)));
        for (int i = 0; i < 20; i++) {
            CompletableFuture<AcquireOutcome> next = waiter(owner);
            world.runMs(1);
            lease.releaseAsync();
            lease = acquired(get(next));
            IntStream.range(0, 5).filter(node -> key(node) != null).forEach(asked::add);
        }
        assertEquals(5, asked.size(), () -> "nodes " + asked);
    }

    // ---- the pause of a queue ---------------------------------------------------------------------------------------

    /** Another client may have taken the released permit in the pause, so the waiter does not ask for that one. */
    @Test
    void aWaiterForAPermitSearchesAfterItsPause() {
        ownerThatPausesAfterOneHandoff();
        VirtualWorld.Client other = client();
        AcquireOptions permit = options().forPermitOf(1);
        Lease lease = leaseBesideAMark(permit);
        String key = TestEngine.lockedResource(lease);
        CompletableFuture<AcquireOutcome> third = acquireAsync(owner, permit.waitUpTo(WAIT));
        world.runMs(1);
        release(lease);
        assertFalse(third.isDone(), "pauses");
        Lease theirs = acquired(acquire(other, permit));
        assertEquals(key, TestEngine.lockedResource(theirs));
        List<String> requests = new ArrayList<>();
        eachNode(node -> node.redis().listener((client, command, reply) -> requests.add(command)));
        int searchesBefore = searches();
        runNs(4 * PAUSE_NS);
        assertEquals(searchesBefore + 1, searches());
        assertEquals(List.of(), requests, "no attempt for the permit");
        release(theirs);
        acquired(get(third));
    }

    private int searches() {
        return world.nodes().stream().map(FakeNode::redis).mapToInt(node -> node.commandCount("find_permit")).sum();
    }

    /** The waiter has a place for its next attempt when the pause starts, and other acquisitions use it meanwhile. */
    @Test
    void aPauseDoesNotUseAPlaceOfAnAttempt() {
        world = new VirtualWorld(3);
        owner = client(context().localHandoffsMax(1).inFlightMax(1));
        AcquireOptions writing = options().forWriting().waitUpTo(WAIT);
        Lease lease = leaseBesideAMark(writing);
        eachNode(node -> node.delay(() -> NS_PER_MS));
        CompletableFuture<AcquireOutcome> busy = owner.redlock().acquireAsync("busy", options()).toCompletableFuture();
        CompletableFuture<AcquireOutcome> third = acquireAsync(owner, writing);
        busy.thenRun(lease::releaseAsync);
        world.await("the place", 100, busy::isDone);
        assertNull(third.getNow(null), "pauses");
        acquired(get(owner.redlock().acquireAsync("stock", options())));
        acquired(get(third));
    }

    // ---- locks with the same resource -------------------------------------------------------------------------------

    /** No node wakes the waiter, and its own delay is long. */
    @ParameterizedTest
    @EnumSource(names = {"SET", "WRITE"})
    void theEndOfALeaseStartsTheLocalWaiterForOneOfItsResources(Kind kind) {
        owner = pollingWorld(3);
        loadScripts(kind);
        Lease lease = acquire(kind);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(owner, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 4_000_000_000L));
        world.runMs(100);
        assertFalse(waiting.isDone());
        lease.releaseAsync();
        world.runMs(1);
        assertTrue(waiting.isDone());
        acquired(waiting.join());
    }
}
