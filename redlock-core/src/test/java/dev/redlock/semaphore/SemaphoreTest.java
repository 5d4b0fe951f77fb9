package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How semaphores choose permits, and which event wakes their waiters. */
class SemaphoreTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** A push, an attempt at the coordinator and one at the other nodes; 200 us for the timers. */
    private static final long WOKEN_US = 700;

    private static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    private static AcquireOptions waitingForPermitOf(int count) {
        return permitOf(count).waitUpTo(WAIT);
    }

    private List<Lease> allPermits(VirtualWorld.Client client, int count) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            leases.add(acquired(acquire(client, permitOf(count))));
        }
        return leases;
    }

    private int searches() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("find_permit")).sum();
    }

    @Test
    void aClientTakesItsPermitsWithOneRoundTripEach() {
        VirtualWorld.Client client = slowWorld(3);
        Set<String> permits = new HashSet<>();
        for (int i = 0; i < 16; i++) {
            long startNs = world.nowNs();
            Lease lease = acquired(acquire(client, permitOf(16)));
            assertEquals(2 * LINK_NS, world.nowNs() - startNs, 20_000, "a round trip");
            permits.add(TestEngine.lockedResource(lease));
        }
        assertEquals(16, permits.size(), "it does not ask for a permit that it uses");
        assertEquals(0, searches());
    }

    /** Different clients start with different permits, so they rarely meet. */
    @Test
    void theFirstPermitIsRandom() {
        world(3);
        Set<String> permits = new HashSet<>();
        for (int i = 0; i < 8; i++) {
            Lease lease = acquired(acquire(client(), permitOf(256)));
            permits.add(TestEngine.lockedResource(lease));
            release(lease);
        }
        assertTrue(permits.size() > 4, permits::toString);
    }

    /** Also of those that it does not use, and without a search for the last one. */
    @Test
    void theNextPermitIsRandom() {
        world(3);
        Set<String> permits = new HashSet<>();
        for (int i = 0; i < 8; i++) {
            VirtualWorld.Client client = client();
            Lease first = acquired(acquire(client, permitOf(256)));
            Lease next = acquired(acquire(client, permitOf(256)));
            permits.add(TestEngine.lockedResource(next));
            release(first);
            release(next);
            allPermits(client, 2).forEach(this::release);
        }
        assertTrue(permits.size() > 4, permits::toString);
        assertEquals(0, searches());
    }

    @Test
    void anAttemptFindsTheOnlyFreePermit() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        List<Lease> leases = allPermits(other, 16);
        for (int i = 0; i < 16; i++) {
            release(leases.get(i));
            world.runMs(1);
            Lease found = acquired(acquire(client, permitOf(16)));
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, permitOf(16)).kind());
            release(found);
            world.runMs(1);
            leases.set(i, acquired(acquire(other, permitOf(16))));
        }
    }

    @Test
    void aSearchIsSentAgainToAServerThatHasLostTheScript() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = allPermits(client(), 16);
        release(leases.get(5));
        world.runMs(1);
        eachNode(node -> node.redis().flushScripts());
        int before = searches();
        Lease found = acquired(acquire(client, permitOf(16)));
        assertEquals(2, ((AcquireOutcome) found).attemptCount(), "a refusal, and the permit that the search found");
        assertEquals(1, searches() - before, "searches that a node executed");
    }

    @Test
    void aSearchWhoseConnectionEndsDoesNotDelayTheAttempt() {
        for (int lost = 0; lost < 3; lost++) {
            VirtualWorld.Client client = slowWorld(3);
            List<Lease> leases = allPermits(client(), 16);
            release(leases.get(5));
            world.runMs(1);
            long startNs = world.nowNs();
            CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, permitOf(16));
            world.runUntilNs(startNs + 3 * LINK_NS);
            node(lost).breakConnections();
            get(acquiring);
            assertTrue(world.nowNs() - startNs <= 20 * LINK_NS, "long before the node timeout");
            nothingIsLeft();
        }
        world = null;
    }

    @Test
    void theRefusalReportsTheEarliestEndOfAPermit() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        for (int seconds = 3; seconds < 8; seconds++) {
            acquired(acquire(other,
                    AcquireOptions.ofTtl(Duration.ofSeconds(seconds)).forPermitOf(5).tryOnce()));
        }
        AcquireOutcome outcome = acquire(client, permitOf(5));
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
        assertTrue(outcome.shortestRemainingTtlMs() > 2_900 && outcome.shortestRemainingTtlMs() <= 3_000,
                outcome::toString);
    }

    @Test
    void theReleaseOfAnyPermitWakesTheWaiterOfAnotherClient() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        List<Lease> leases = allPermits(client, 4);
        for (int i = 0; i < 4; i++) {
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, waitingForPermitOf(4));
            world.runMs(200);
            int before = searches();
            long tookUs = handoffUs(leases.get(i), waiting);
            assertTrue(tookUs <= WOKEN_US, () -> "woken after " + tookUs + " us");
            assertEquals(before, searches(), "the push names the permit");
            release(waiting.join().lease());
            world.runMs(1);
            leases.set(i, acquired(acquire(client, permitOf(4))));
        }
        assertEquals(0, other.redlock().counters().backstopCount());
    }

    @Test
    void aReleaseGivesThePermitToALocalWaiterInOneRoundTrip() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = allPermits(client, 3);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, waitingForPermitOf(3));
        world.runMs(200);
        String permit = TestEngine.lockedResource(leases.get(1));
        long tookUs = handoffUs(leases.get(1), waiting);
        assertEquals(200, tookUs, 20, "us");
        assertEquals(permit, TestEngine.lockedResource(waiting.join().lease()));
    }

    @Test
    void localWaitersAreServedInTheOrderOfArrival() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = allPermits(client, 2);
        List<Integer> order = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int number = i;
            CompletableFuture<AcquireOutcome> each = acquireAsync(client, waitingForPermitOf(2));
            each.thenRun(() -> order.add(number));
            waiting.add(each);
        }
        world.runMs(100);
        leases.forEach(Lease::releaseAsync);
        for (CompletableFuture<AcquireOutcome> each : waiting) {
            release(acquired(get(each)));
        }
        assertEquals(List.of(0, 1, 2, 3, 4, 5), order);
    }

    /** Several permits become free before the waiter asks for the first. */
    @Test
    void allReleasedPermitsFindTheirWaiters() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = allPermits(client, 5);
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (VirtualWorld.Client waiter : List.of(client(), client(), client)) {
            waiting.add(acquireAsync(waiter, waitingForPermitOf(5)));
            waiting.add(acquireAsync(waiter, waitingForPermitOf(5)));
        }
        world.runMs(200);
        assertTrue(waiting.stream().noneMatch(CompletableFuture::isDone));
        leases.forEach(Lease::releaseAsync);
        world.runMs(20);
        assertEquals(5, waiting.stream().filter(CompletableFuture::isDone).count(), "all permits are in use again");
    }

    @Test
    void aWaiterTakesThePermitOfADeadHolderWhenItExpires() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client dead = client();
        List<Lease> living = List.of(acquired(acquire(client, permitOf(3))), acquired(acquire(client, permitOf(3))));
        acquired(acquire(dead, AcquireOptions.ofTtl(Duration.ofSeconds(3)).forPermitOf(3).tryOnce()));
        dead.pause();
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client(), waitingForPermitOf(3));
        // A push of another permit in between does not hide the expiry.
        world.runMs(1_000);
        release(living.get(0));
        acquired(get(waiting));
        Lease second = acquired(acquire(client(), waitingForPermitOf(3)));
        assertTrue(nowMs() - startMs < 3_100, () -> "after " + (nowMs() - startMs) + " ms");
        assertTrue(second.isHeld() && living.get(1).isHeld());
    }

    /** The other nodes do not have the script when the waiter registers there. */
    @Test
    void aWaiterIsWokenAlthoughAnyNodeStops() {
        for (int stopped = 0; stopped < 3; stopped++) {
            VirtualWorld.Client client = world(3);
            Lease holder = allPermits(client, 1).get(0);
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(client(), waitingForPermitOf(1));
            assertWokenWithout(stopped, holder, waiting);
            nothingIsLeft();
            world = null;
        }
    }

    @Test
    void aWaiterForASetIsWokenAlthoughAnyNodeStops() {
        List<String> set = List.of("orders", "stock");
        for (int stopped = 0; stopped < 3; stopped++) {
            Lease holder = acquired(get(world(3).redlock().acquireAllAsync(set, options())));
            CompletableFuture<AcquireOutcome> waiting = client().redlock()
                    .acquireAllAsync(set, options().waitUpTo(WAIT))
                    .toCompletableFuture();
            assertWokenWithout(stopped, holder, waiting);
            nothingIsLeft();
            world = null;
        }
    }

    private void assertWokenWithout(int stopped, Lease holder, CompletableFuture<AcquireOutcome> waiting) {
        world.runMs(200);
        node(stopped).pause();
        long tookUs = handoffUs(holder, waiting);
        assertTrue(tookUs < 60_000, () -> "without node " + stopped + " after " + tookUs + " us");
        node(stopped).resume();
    }

    @Test
    void waitersPollNodesThatDoNotPush() {
        VirtualWorld.Client client = pollingWorld(3);
        VirtualWorld.Client other = client(context().wakeUpKeysMax(0));
        List<Lease> leases = allPermits(client, 3);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, waitingForPermitOf(3));
        world.runMs(500);
        assertFalse(waiting.isDone());
        leases.get(2).releaseAsync();
        world.runMs(500);
        acquired(waiting.join());
    }

    /** One attempt asks nodes that do not reply, one after the other. */
    @Test
    void anAttemptWithoutAWaitBudgetEnds() {
        VirtualWorld.Client client = world(3);
        allPermits(client(), 3);
        eachNode(node -> node.delay(() -> NODE_TIMEOUT_MS * 1_000_000 / 3));
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, permitOf(3));
        assertFalse(outcome.isAcquired());
        assertTrue(nowMs() - startMs <= 5 * NODE_TIMEOUT_MS, () -> "after " + (nowMs() - startMs) + " ms");
    }

    /** A client with many waiters does not keep all permits. */
    @Test
    void aWaiterOfAnotherClientGetsAPermit() {
        VirtualWorld.Client busy = slowWorld(3);
        VirtualWorld.Client other = client();
        for (int i = 0; i < 8; i++) {
            workForever(busy);
        }
        world.runMs(100);
        for (int i = 0; i < 20; i++) {
            Lease lease = acquired(get(acquireAsync(other, waitingForPermitOf(2).waitUpTo(Duration.ofSeconds(2)))));
            world.runMs(1);
            release(lease);
        }
    }

    private void workForever(VirtualWorld.Client client) {
        acquireAsync(client, waitingForPermitOf(2)).thenAccept(outcome -> {
            if (outcome.isAcquired()) {
                world.after(1_000_000,
                        () -> outcome.lease().releaseAsync().thenRun(() -> workForever(client)));
            }
        });
    }

    @Test
    void theFlightRecordOfALostPermitHasTheEventsOfItsPermit() {
        VirtualWorld.Client client = world(3);
        world.runMs(3_000);
        Lease lease = acquired(acquire(client, permitOf(1)));
        try (LogLines log = new LogLines()) {
            eachNode(node -> node.redis().clockJump(3_600_000));
            world.runMs(2_000);
            assertEquals(LeaseState.LOST, lease.state());
            List<String> lines = log.with("flight record of orders:");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains("orders:redlock:permit:{orders}:0 #1  acquired"), lines::toString);
        }
    }

    @Test
    void aNumberThatChangesSharesThePermits() {
        VirtualWorld.Client client = world(3);
        List<Lease> three = allPermits(client, 3);
        CompletableFuture<AcquireOutcome> smaller = acquireAsync(client(), waitingForPermitOf(2));
        CompletableFuture<AcquireOutcome> local = acquireAsync(client, waitingForPermitOf(4));
        Lease fourth = acquired(get(local));
        assertNotEquals(TestEngine.lockedResource(three.get(0)), TestEngine.lockedResource(fourth));
        world.runMs(1_000);
        assertFalse(smaller.isDone(), "the first two permits are in use");
        three.forEach(Lease::releaseAsync);
        acquired(get(smaller));
    }

    @Test
    void otherQueuesOfTheClientLearnOfAPermitThatItFrees() {
        for (CommandMode mode : List.of(CommandMode.AUTO, CommandMode.SCRIPTS)) {
            world = new VirtualWorld(3);
            VirtualWorld.Client client = client(context().commands(mode));
            List<Lease> two = allPermits(client, 2);
            CompletableFuture<AcquireOutcome> smaller = acquireAsync(client, waitingForPermitOf(1));
            world.runMs(100);
            two.forEach(Lease::releaseAsync);
            world.runMs(20);
            assertTrue(smaller.isDone(), "woken, not by its backstop");
            nothingIsLeft();
            world = null;
        }
    }

    /** The first search was in progress when the client freed the permit, and nodes do not push its own changes. */
    @Test
    void aPermitThatIsFreedDuringTheFirstSearchWakesAQueueWithAnotherNumber() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client();
        eachNode(node -> node.delay(() -> 100_000));
        world.runMs(1_100);
        List<Lease> two = List.of(acquired(acquire(client, permitOf(2))), acquired(acquire(client, permitOf(2))));
        // The coordinator has the script of searches from now on.
        assertFalse(acquire(client, permitOf(2)).isAcquired());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, permitOf(1).waitUpTo(WAIT));
        world.after(20_000, () -> two.forEach(Lease::releaseAsync));
        long startMs = nowMs();
        world.await("the permit", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 5, () -> "waited for " + tookMs + " ms");
        acquired(waiting.join());
    }
}
