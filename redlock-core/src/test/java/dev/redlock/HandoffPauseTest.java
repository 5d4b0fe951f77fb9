package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
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
 * attempt that the doorkeeper refuses if another client waits. Links take no time here, so each pause has its minimum.
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
     * Another client waits, but is slow. The owner returns after the time of a woken client, and before it has
     * forgotten the other one: it asks whether a client waits, unless its budget is too short for a refusal.
     */
    @ParameterizedTest
    @CsvSource({"500000, 1000000000, false", "500001, 1000000000, true", "500001, 2000000, false",
        "500001, 2000001, true", "10000000, 1000000000, true", "10000001, 1000000000, false"})
    void aCallerThatReturnsLateGivesWayToAClientThatWaits(long afterNs, long budgetNs, boolean isGivingWay) {
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

    /** As long as the owner expects another client, each acquire costs one round trip more. */
    @Test
    void aCallerThatReturnsLateForgetsOthersThatDoNotComeFor33Times() {
        owner = world(3);
        Lease lease = contendedLease(client());
        for (int i = 0; i < 40; i++) {
            release(lease);
            world.runMs(1);
            int before = attemptsThatRegister();
            lease = acquired(get(waiter(owner)));
            assertEquals(i < 33, attemptsThatRegister() > before, "return " + i);
        }
    }

    /** No other client is known, so the owner pauses to find out, after a streak of a hundred pauses. */
    @ParameterizedTest
    @CsvSource({"500000, 1000000000, true", "500001, 1000000000, false", "0, 2000000, false", "0, 2000001, true"})
    void aCallerThatReturnsAtOncePausesAfterALongStreak(long afterNs, long budgetNs, boolean isPausing) {
        ownerThatPausesAfterOneHandoff();
        Lease lease = acquired(get(waiter(owner)));
        world.runMs(60);
        lease.releaseAsync();
        runNs(afterNs);
        CompletableFuture<AcquireOutcome> returning = acquireAsync(owner,
                options().waitUpTo(Duration.ofNanos(budgetNs)));
        runNs(isPausing ? PAUSE_NS - 1 : 0);
        assertEquals(isPausing, !returning.isDone());
        runNs(1);
        acquired(returning.getNow(null));
    }

    // ---- attempts that ask whether another client waits -------------------------------------------------------------

    /** The kinds of locks that one caller acquires. */
    private enum Kind {
        PLAIN, SET, WRITE, PERMIT
    }

    private int attemptsThatRegister() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("CLIENT CACHING")).sum();
    }

    private Lease acquire(Kind kind) {
        AcquireOptions options = options().waitUpTo(WAIT);
        return acquired(get(switch (kind) {
            case PLAIN -> acquireAsync(owner, options);
            case SET -> owner.redlock().acquireAllAsync(List.of("orders", "stock"), options);
            case WRITE -> acquireAsync(owner, options.forWriting());
            case PERMIT -> acquireAsync(owner, options.forPermitOf(1));
        }));
    }

    /** The nodes have the scripts from then on: otherwise, the first release would come after the next attempt. */
    private void loadScripts(Kind kind) {
        release(acquire(kind));
        world.runMs(100);
    }

    /** Other attempts use the cheapest command, at all nodes at once. They do not register for pushes. */
    @ParameterizedTest
    @EnumSource
    void aCallerThatReturnsAtOnceAsksEvery20PausesWhetherAnotherClientWaits(Kind kind) {
        owner = world(3);
        loadScripts(kind);
        List<Integer> asking = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int before = attemptsThatRegister();
            Lease lease = acquire(kind);
            if (attemptsThatRegister() > before) {
                asking.add(i);
            }
            world.runMs(1);
            lease.releaseAsync();
        }
        boolean isAskingPossible = kind == Kind.PLAIN || kind == Kind.SET;
        assertEquals(isAskingPossible ? List.of(10, 20, 30, 40) : List.of(), asking, "attempts, one each millisecond");
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

    /** Another client may have taken the released slot in the pause, so the waiter does not ask for that one. */
    @Test
    void aWaiterForAPermitSearchesAfterItsPause() {
        ownerThatPausesAfterOneHandoff();
        VirtualWorld.Client other = client();
        AcquireOptions permit = options().forPermitOf(1);
        Lease first = acquired(acquire(owner, permit));
        CompletableFuture<AcquireOutcome> second = acquireAsync(owner, permit.waitUpTo(WAIT));
        world.runMs(10);
        release(first);
        Lease lease = acquired(get(second));
        String slot = TestEngine.lockedResource(lease);
        CompletableFuture<AcquireOutcome> third = acquireAsync(owner, permit.waitUpTo(WAIT));
        world.runMs(1);
        release(lease);
        assertFalse(third.isDone(), "pauses");
        Lease theirs = acquired(acquire(other, permit));
        assertEquals(slot, TestEngine.lockedResource(theirs));
        List<String> requests = new ArrayList<>();
        eachNode(node -> node.redis().listener((client, command, reply) -> requests.add(command)));
        int searchesBefore = searches();
        runNs(PAUSE_NS);
        assertEquals(searchesBefore + 1, searches());
        assertEquals(List.of(), requests, "no attempt for the slot");
        release(theirs);
        acquired(get(third));
    }

    private int searches() {
        return world.nodes().stream().map(FakeNode::redis).mapToInt(node -> node.commandCount("find_permit")).sum();
    }

    /** The waiter has a slot for its next attempt when the pause starts, and other acquisitions use it meanwhile. */
    @Test
    void aPauseDoesNotUseASlotOfAnAttempt() {
        world = new VirtualWorld(3);
        owner = client(context().localHandoffsMax(1).inFlightMax(1));
        Lease first = lease(owner);
        CompletableFuture<AcquireOutcome> second = waiter(owner);
        world.runMs(10);
        release(first);
        Lease lease = acquired(get(second));
        eachNode(node -> node.delay(() -> NS_PER_MS));
        CompletableFuture<AcquireOutcome> busy = owner.redlock().acquireAsync("busy", options()).toCompletableFuture();
        CompletableFuture<AcquireOutcome> third = waiter(owner);
        busy.thenRun(lease::releaseAsync);
        world.await("the slot", 100, busy::isDone);
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
