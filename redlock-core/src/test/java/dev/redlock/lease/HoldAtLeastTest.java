package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockCounters;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A lock that stays for a time after its acquisition, although its lease was released earlier. */
class HoldAtLeastTest extends VirtualTest {

    /** The clock allowance of some seconds, and the time of the release. */
    private static final long SLACK_MS = 150;

    private VirtualWorld.Client client;
    private long startMs;

    private static AcquireOptions options(long ttlMs, long holdMinMs) {
        return AcquireOptions.ofTtl(Duration.ofMillis(ttlMs)).tryOnce().holdAtLeast(Duration.ofMillis(holdMinMs));
    }

    private Lease held(AcquireOptions options) {
        Lease lease = acquired(acquire(client, options));
        startMs = nowMs();
        return lease;
    }

    /** Runs until a time after the acquisition. */
    private void runTo(long ms) {
        world.runMs(startMs + ms - nowMs());
    }

    private void assertKept(String when) {
        assertEquals(3, keyCount(), when);
        assertEquals(List.of(), client.engine().engine().stateViolations(List.of()), when);
    }

    @Test
    void aReleaseBeforeItsTimeKeepsTheLockUntilThen() {
        client = world(3);
        VirtualWorld.Client other = client();
        Lease lease = held(options(10_000, 4_000));
        runTo(1_000);
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        assertEquals(LeaseState.RELEASED, lease.state());
        assertFalse(lease.isHeld(), "its holder may not use it");
        assertEquals(ReleaseOutcome.KEPT, release(lease), "the second release");
        assertEquals(ExtendOutcome.NOT_HELD, extend(lease, TTL));
        Lease kept = client.engine().engine().anyHeld();
        assertTrue(kept != lease && kept.isHeld(), "the client still has the lock");
        runTo(3_980);
        assertKept("before the time");
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind(), "the same client too");
        runTo(4_030);
        assertEquals(0, keyCount(), "after the time");
        assertEquals(0, client.engine().heldCount());
        acquired(acquire(other, options()));
        RedlockCounters counters = client.redlock().counters();
        assertEquals(1, counters.releaseCount(ReleaseOutcome.KEPT));
        assertEquals(1, counters.releaseCount(ReleaseOutcome.RELEASED));
        assertEquals(0, counters.lostCount() + counters.expiredCount());
    }

    @Test
    void aReleaseAfterItsTimeReleases() {
        client = world(3);
        Lease lease = held(options(10_000, 4_000));
        runTo(4_010);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(5);
        assertEquals(0, keyCount());
        assertEquals(ReleaseOutcome.RELEASED, release(held(options(10_000, 0))), "zero is none");
    }

    @Test
    void aReleaseAtItsTimeReleases() {
        client = world(3);
        Lease lease = held(options(10_000, 4_000));
        long acquiredNs = TestEngine.acquiredNs(lease);
        world.runUntilNs(acquiredNs + 4_000_000_000L - 1);
        // The other case needs a lock of its own, because a kept one ends at this time.
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        world.runMs(100);
        Lease next = held(options(10_000, 4_000));
        world.runUntilNs(TestEngine.acquiredNs(next) + 4_000_000_000L);
        assertEquals(ReleaseOutcome.RELEASED, release(next));
    }

    @Test
    void aTimeLongerThanTheTtlIsKeptByExtensions() {
        client = world(3);
        Lease lease = held(options(2_000, 7_000));
        runTo(100);
        release(lease);
        for (long ms = 200; ms < 7_000; ms += 200) {
            runTo(ms);
            assertKept("at " + ms + " ms");
        }
        runTo(7_010);
        assertEquals(0, keyCount());
        assertTrue(client.redlock().counters().extendedCount() > 5, "extended while it was needed");
    }

    /** No extension was due before, because the options ask for none. */
    @Test
    void anExtensionIsDueAtOnceIfLittleValidityIsLeft() {
        client = world(3);
        Lease lease = held(options(3_000, 9_000));
        runTo(validityMs(3_000) - 100);
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        runTo(3_200);
        assertKept("after the first ttl");
        runTo(8_990);
        assertKept("until its time");
        runTo(9_010);
        assertEquals(0, keyCount());
    }

    @Test
    void noExtensionIsSentIfTheValidityIsEnough() {
        client = world(3);
        Lease lease = held(options(10_000, 9_000));
        runTo(100);
        release(lease);
        runTo(8_990);
        assertKept("until its time");
        assertEquals(0, client.redlock().counters().extendedCount());
    }

    @Test
    void afterTheEndOfTheProcessTheKeysExpire() {
        client = world(3);
        Lease lease = held(options(3_000, 20_000));
        runTo(500);
        release(lease);
        runTo(5_000);
        client.pause();
        runTo(5_900);
        assertEquals(3, keyCount(), "for the rest of the ttl since the last extension");
        runTo(8_010);
        assertEquals(0, keyCount(), "one ttl after the end of the process at the latest");
    }

    @Test
    void closingKeepsTheLocksOfEndedAndOfRunningJobsForTheirTime() {
        client = world(3);
        Lease lease = held(options(30_000, 4_000));
        runTo(1_000);
        release(lease);
        CompletableFuture<AcquireOutcome> running = client.redlock()
                .acquireAsync("running", options(30_000, 4_000))
                .toCompletableFuture();
        acquired(get(running));
        CloseReport report = get(client.engine().close(Duration.ofSeconds(1)));
        assertEquals(new CloseReport(0, List.of()), report);
        runTo(3_990);
        assertEquals(3, keyCount(), "for its time");
        assertTrue(node(0).redis().get("running") != null, "its job may have had an effect");
        runTo(4_000 + SLACK_MS);
        assertEquals(0, keyCount(), "no longer than its time and the clock allowance");
        runTo(4_990);
        assertTrue(node(0).redis().get("running") != null, "for its time");
        runTo(5_000 + SLACK_MS);
        assertEquals(null, node(0).redis().get("running"));
    }

    @Test
    void closingLeavesTheKeysToATtlThatIsShorterThanTheTime() {
        client = world(3);
        release(held(options(2_000, 9_000)));
        runTo(100);
        get(client.engine().close(Duration.ofSeconds(1)));
        runTo(1_990);
        assertEquals(3, keyCount(), "the shorter of its time and the ttl");
        runTo(2_010);
        assertEquals(0, keyCount());
    }

    /** A process that dies after its job does not keep others from the next run for the rest of a long ttl. */
    @Test
    void theKeysOfEveryKindExpireWithTheTimeOfAJobThatHasEnded() {
        client = world(3);
        VirtualWorld.Client other = client();
        AcquireOptions job = options(30_000, 3_000).autoExtend();
        Map<String, AcquireOptions> kinds = Map.of("fenced", job.fenced(), "read", job.forReading(), "write",
                job.forWriting(), "permit", job.forPermitOf(1));
        startMs = nowMs();
        kinds.forEach((name, kind) -> release(acquired(get(client.redlock().acquireAsync(name, kind)))));
        world.settle();
        client.pause();
        runTo(2_980);
        kinds.keySet().forEach(name -> assertEquals(AcquireOutcome.Kind.CONTENDED, next(other, name), name));
        runTo(3_000 + SLACK_MS);
        kinds.keySet().forEach(name -> assertEquals(AcquireOutcome.Kind.ACQUIRED, next(other, name), name));
    }

    private AcquireOutcome.Kind next(VirtualWorld.Client other, String name) {
        AcquireOptions options = name.equals("permit") ? options().forPermitOf(1) : options().forWriting();
        return get(other.redlock().acquireAsync(name, options)).kind();
    }

    @Test
    void theKeysOfASetExpireWithTheTimeOfAJobThatHasEnded() {
        client = world(3);
        Lease lease = acquired(
                get(client.redlock().acquireAllAsync(List.of("orders", "others"), options(30_000, 3_000))));
        startMs = nowMs();
        release(lease);
        world.settle();
        client.pause();
        runTo(2_990);
        assertEquals(3, keyCount());
        runTo(3_000 + SLACK_MS);
        assertEquals(0, keyCount());
        assertEquals(null, node(0).redis().get("others"));
    }

    @Test
    void anExtensionOfAKeptLockLastsForItsTimeOnly() {
        client = world(3);
        release(held(options(10_000, 12_000)));
        runTo(5_000);
        assertTrue(client.redlock().counters().extendedCount() > 0, "extended");
        client.pause();
        runTo(11_990);
        assertEquals(3, keyCount());
        runTo(12_000 + SLACK_MS);
        assertEquals(0, keyCount());
    }

    /** The holder hears of the loss; the keys that are left stay. */
    @Test
    void aLostOrExpiredLeaseIsNotReleasedBeforeItsTime() {
        client = world(3);
        List<LeaseState> notified = new ArrayList<>();
        held(options(6_000, 5_000).autoExtend().listener((lost, state) -> notified.add(state)));
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        runTo(2_100);
        assertEquals(List.of(LeaseState.LOST), notified);
        assertTrue(key(2) != null, "no release was sent");
        runTo(10_000);
        notified.clear();
        Lease expired = held(options(1_000, 5_000).listener((lost, state) -> notified.add(state)));
        runTo(validityMs(1_000) + 5);
        assertEquals(List.of(LeaseState.EXPIRED), notified);
        assertEquals(ReleaseOutcome.EXPIRED, release(expired));
        assertEquals(3, keyCount(), "until the ttl");
        runTo(1_010);
        assertEquals(0, keyCount());
    }

    @Test
    void aKeptLockThatIsLostIsLeftAndNobodyIsNotified() {
        client = world(3);
        List<LeaseState> notified = new ArrayList<>();
        Lease lease = held(options(3_000, 20_000).listener((lost, state) -> notified.add(state)));
        release(lease);
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runMs(1_100);
        assertEquals(0, client.engine().heldCount());
        assertEquals(List.of(), notified);
        assertEquals(0, client.redlock().counters().lostCount());
        world.runMs(8_000);
        assertEquals(0, keyCount());
    }

    /** The lock is held when the event loop takes the cancellation, for example that of an interrupted thread. */
    @Test
    void aCancelledAcquisitionIsReleasedAtOnce() {
        client = world(3);
        TestEngine.cancel(held(options(10_000, 8_000)));
        world.runMs(20);
        assertEquals(0, keyCount());
        acquireAsync(client, options(10_000, 8_000)).cancel(false);
        world.runMs(20);
        assertEquals(0, keyCount());
        assertEquals(0, client.redlock().counters().releaseCount(ReleaseOutcome.KEPT));
    }

    // ---- changed while it is held -----------------------------------------------------------------------------------

    @Test
    void aHeldLeaseMayGetALongerTimeFromNowOn() {
        client = world(3);
        Lease lease = held(options(2_000, 1_000).autoExtend());
        runTo(800);
        lease.holdAtLeast(Duration.ofSeconds(5));
        runTo(3_000);
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        runTo(5_780);
        assertKept("until its new time");
        runTo(5_810);
        assertEquals(0, keyCount());
    }

    @Test
    void aHeldLeaseMayGetAShorterTimeOrNone() {
        client = world(3);
        Lease lease = held(options(10_000, 8_000));
        runTo(1_000);
        lease.holdAtLeast(Duration.ofSeconds(1));
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        runTo(2_010);
        assertEquals(0, keyCount());
        Lease none = held(options(10_000, 8_000));
        none.holdAtLeast(Duration.ZERO);
        assertEquals(ReleaseOutcome.RELEASED, release(none));
    }

    /** Without an option that extends it, the lease has to count for the limit from then on, and no longer. */
    @Test
    void aLeaseWithoutAShortestHoldMayGetOne() {
        world = new VirtualWorld(3);
        client = client(context().autoExtendedLeasesMax(1));
        for (int i = 0; i < 3; i++) {
            Lease lease = held(options());
            lease.holdAtLeast(Duration.ofSeconds(20));
            assertEquals(AcquireOutcome.Kind.OVERLOADED,
                    get(client.redlock().acquireAsync("others", options().autoExtend())).kind(), "it counts");
            assertEquals(ReleaseOutcome.KEPT, release(lease));
            runTo(19_980);
            assertKept("extended beyond its ttl");
            runTo(20_010);
            assertEquals(0, keyCount());
            assertFalse(lease.isHeld());
            release(acquired(get(client.redlock().acquireAsync("others", options().autoExtend()))));
        }
        Lease unchanged = held(options());
        unchanged.holdAtLeast(Duration.ofDays(400 * 365));
        unchanged.holdAtLeast(Duration.ZERO);
        release(acquired(get(client.redlock().acquireAsync("others", options().autoExtend()))));
        assertEquals(ReleaseOutcome.RELEASED, release(unchanged));
    }

    /** The requests of one thread reach the event loop in order, also if another thread has woken it before. */
    @Test
    void aReleaseThatFollowsHonoursIt() throws Exception {
        client = world(3);
        Lease lease = held(options(10_000, 0).autoExtend());
        new BlockedCall<>(() -> {
            lease.extendAsync(TTL);
            lease.holdAtLeast(Duration.ofSeconds(3));
            lease.releaseAsync();
            return null;
        }).awaitEnd();
        runTo(2_900);
        assertKept("the release came after it");
        assertEquals(LeaseState.RELEASED, lease.state());
        runTo(3_050);
        assertEquals(0, keyCount());
    }

    @Test
    void itIsAlsoKeptIfTheClientIsClosed() {
        client = world(3);
        Lease lease = held(options(10_000, 0).autoExtend());
        runTo(4_000);
        lease.holdAtLeast(Duration.ofSeconds(3));
        get(client.engine().close(Duration.ofSeconds(1)));
        runTo(6_980);
        assertEquals(3, keyCount());
        runTo(7_000 + SLACK_MS);
        assertEquals(0, keyCount());
    }

    @Test
    void aLeaseThatIsNotHeldIsUnchanged() {
        client = world(3);
        Lease lease = client.redlock().newLease();
        lease.holdAtLeast(TTL);
        client.redlock().acquire(client.redlock().key("orders"), options(), lease, outcome -> {
        });
        assertThrows(IllegalStateException.class, () -> lease.holdAtLeast(TTL), "being acquired");
        world.runMs(10);
        assertThrows(IllegalArgumentException.class, () -> lease.holdAtLeast(Duration.ofNanos(-1)));
        assertThrows(NullPointerException.class, () -> lease.holdAtLeast(null));
        CompletableFuture<ReleaseOutcome> releasing = lease.releaseAsync().toCompletableFuture();
        lease.holdAtLeast(TTL);
        assertEquals(ReleaseOutcome.RELEASED, get(releasing));
        lease.holdAtLeast(TTL);
        world.runMs(10);
        assertEquals(0, keyCount());
        Lease fenced = held(options(10_000, 0).fenced());
        long token = fenced.fencingToken();
        fenced.holdAtLeast(Duration.ofSeconds(1));
        assertEquals(token, fenced.fencingToken());
        assertEquals(ExtendOutcome.EXTENDED, extend(fenced, TTL));
        assertEquals(ReleaseOutcome.KEPT, release(fenced));
    }

    @Test
    void waitersOfAllClientsGetTheLockWhenItsTimeHasPassed() {
        client = world(3);
        VirtualWorld.Client other = client();
        Lease lease = held(options(10_000, 3_000));
        AcquireOptions waiting = options().waitUpTo(Duration.ofSeconds(20));
        CompletableFuture<AcquireOutcome> local = acquireAsync(client, waiting);
        runTo(100);
        release(lease);
        CompletableFuture<AcquireOutcome> remote = acquireAsync(other, waiting);
        runTo(2_990);
        assertFalse(local.isDone() || remote.isDone(), "too early");
        Lease first = get(CompletableFuture.anyOf(local, remote).thenApply(any -> ((AcquireOutcome) any).lease()));
        assertTrue(nowMs() - startMs <= 3_020, () -> "after " + (nowMs() - startMs) + " ms");
        release(first);
        get(local);
        get(remote);
    }

    @Test
    void aCallbackGetsItsOutcomeAfterTheCallAndMayReuseTheLease() {
        client = world(3);
        Lease lease = client.redlock().newLease();
        List<String> events = new ArrayList<>();
        client.redlock().acquire(client.redlock().key("orders"), options(10_000, 2_000), lease, outcome -> {
            lease.release((released, how) -> {
                events.add("released " + how);
                client.redlock()
                        .acquire(client.redlock().key("others"), options(), lease,
                                next -> events.add("next " + next.kind()));
            });
            events.add("returned");
        });
        world.runMs(50);
        assertEquals(List.of("returned", "released KEPT", "next ACQUIRED"), events);
        assertTrue(lease.isHeld(), "of the other lock");
        assertKept("the first lock");
        world.runMs(2_000);
        assertEquals(0, keyCount());
        assertTrue(lease.isHeld(), "of the other lock");
    }

    @Test
    void anExtensionInProgressEndsWithTheLease() {
        client = world(3);
        Lease lease = held(options(10_000, 2_000));
        eachNode(node -> node.delay(() -> 5_000_000));
        List<String> events = new ArrayList<>();
        lease.extend(8_000, (extended, outcome) -> {
            events.add("extend " + outcome);
            // A second release, before the first one is complete.
            lease.close();
        });
        world.settle();
        lease.release((released, how) -> events.add("release " + how));
        world.runMs(50);
        assertEquals(List.of("extend NOT_HELD", "release KEPT"), events);
        assertKept("kept");
        runTo(2_050);
        assertEquals(0, keyCount());
    }

    @Test
    void keptLocksCountForTheLimitOfExtendedLeases() {
        world = new VirtualWorld(3);
        client = client(context().autoExtendedLeasesMax(1));
        release(held(options(10_000, 2_000)));
        AcquireOptions another = options(10_000, 1);
        assertEquals(AcquireOutcome.Kind.OVERLOADED,
                get(client.redlock().acquireAsync("others", another)).kind());
        runTo(2_050);
        for (int i = 0; i < 3; i++) {
            Lease next = acquired(get(client.redlock().acquireAsync("others", another)));
            world.runMs(10);
            assertEquals(ReleaseOutcome.RELEASED, release(next), "its place is free again");
        }
    }

    @Test
    void theReleaseOfAKeptLockIsRetainedForANodeThatIsDown() {
        client = world(3);
        Lease lease = held(options(10_000, 2_000));
        node(2).cutOff(name -> true);
        node(2).breakConnections();
        release(lease);
        runTo(2_100);
        assertTrue(key(0) == null && key(1) == null && key(2) != null, "one node cannot be reached");
        node(2).cutOff(name -> false);
        world.await("delivered", 5_000, () -> key(2) == null);
    }

    @Test
    void aNegativeTimeIsRejected() {
        Refusal.ofArgument("shortest hold PT-0.001S is negative: give zero or more",
                () -> AcquireOptions.ofTtl(TTL).holdAtLeast(Duration.ofMillis(-1)));
        Refusal.ofNull("shortest hold is null: give a duration", () -> AcquireOptions.ofTtl(TTL).holdAtLeast(null));
    }
}
