package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireTimes;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@link AcquireTimes} of a client, and the addresses of its nodes. */
@Timeout(60)
class AcquireTimesTest extends VirtualTest {

    private static final AcquireOutcome.Kind ACQUIRED = AcquireOutcome.Kind.ACQUIRED;
    private static final AcquireOutcome.Kind TIMED_OUT = AcquireOutcome.Kind.TIMED_OUT;

    /** Asserts a duration that is rounded up to the end of its bucket. */
    private static void assertRounded(long expectedNs, double ns) {
        assertTrue(ns >= expectedNs && ns <= expectedNs * 33.0 / 32 + 1024, ns + " for " + expectedNs);
    }

    @Test
    void durationsCountByOutcome() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireTimes times = client.redlock().acquireTimes();
        release(lease(client));
        eachNode(node -> node.delay(() -> 1_500_000));
        Lease held = lease(client);
        acquire(client, options().waitUpTo(Duration.ofMillis(100)));
        assertEquals(2, times.count(ACQUIRED));
        assertEquals(3_200_000, times.totalNs(ACQUIRED));
        assertEquals(0, times.countUpTo(ACQUIRED, 199_999));
        assertEquals(1, times.countUpTo(ACQUIRED, 1_000_000));
        assertEquals(2, times.countUpTo(ACQUIRED, 4_000_000));
        assertEquals(0, times.countUpTo(ACQUIRED, -1));
        assertRounded(200_000, times.percentileNs(ACQUIRED, 0.5));
        assertRounded(3_000_000, times.percentileNs(ACQUIRED, 0.51));
        assertRounded(3_000_000, times.percentileNs(ACQUIRED, 1));
        assertEquals(1, times.count(TIMED_OUT));
        assertEquals(100_000_000, times.totalNs(TIMED_OUT));
        assertEquals(0, times.count(AcquireOutcome.Kind.CLOSED));
        assertTrue(Double.isNaN(times.percentileNs(AcquireOutcome.Kind.CLOSED, 1)));
        assertEquals("AcquireTimes{acquired=2, totalNs=3200000}", times.toString());
        release(held);
    }

    @Test
    void percentilesForgetAndCountsDoNot() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireTimes times = client.redlock().acquireTimes();
        release(lease(client));
        world.runMs(60_000);
        assertRounded(200_000, times.percentileNs(ACQUIRED, 1));
        world.runMs(60_000);
        assertTrue(Double.isNaN(times.percentileNs(ACQUIRED, 1)), "no acquisition for a minute");
        assertEquals(1, times.count(ACQUIRED));
    }

    @Test
    void theFirstCallStartsTheRecording() {
        VirtualWorld.Client client = slowWorld(3);
        release(lease(client));
        AcquireTimes times = client.redlock().acquireTimes();
        assertEquals(0, times.count(ACQUIRED));
        release(lease(client));
        assertSame(times, client.redlock().acquireTimes());
        assertEquals(1, times.count(ACQUIRED));
    }

    /** The flight recorder and JFR need the same times, and may be off. */
    @Test
    void acquireTimesAreRecordedWithoutTheFlightRecorder() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> LINK_NS));
        VirtualWorld.Client client = client(context().flightRecorderEvents(0));
        world.runMs(1_100);
        AcquireTimes times = client.redlock().acquireTimes();
        Lease lease = lease(client);
        acquire(client, options());
        assertEquals(200_000, times.totalNs(ACQUIRED));
        assertTrue(times.totalNs(AcquireOutcome.Kind.CONTENDED) >= 200_000, times::toString);
        release(lease);
    }

    /** This client uses all permits, so a search precedes its end, and no attempt. */
    @Test
    void anAcquisitionOfAPermitWithoutAnAttemptHasItsDuration() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireTimes times = client.redlock().acquireTimes();
        Lease held = acquired(acquire(client, options().forPermitOf(1)));
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options().forPermitOf(1)).kind());
        assertEquals(1, times.count(AcquireOutcome.Kind.CONTENDED));
        assertTrue(times.totalNs(AcquireOutcome.Kind.CONTENDED) >= 2 * LINK_NS, times::toString);
        release(held);
    }

    @Test
    void aRejectedAcquisitionCountsWithoutDuration() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        AcquireTimes times = client.redlock().acquireTimes();
        acquire(client, options().autoExtend());
        assertEquals(1, times.count(AcquireOutcome.Kind.OVERLOADED));
        assertEquals(0, times.totalNs(AcquireOutcome.Kind.OVERLOADED));
    }

    @Test
    void wrongArgumentsAreNamed() {
        AcquireTimes times = world(1).redlock().acquireTimes();
        String kind = "kind of outcome is null: name the one to measure";
        Refusal.ofNull(kind, () -> times.count(null));
        Refusal.ofNull(kind, () -> times.totalNs(null));
        Refusal.ofNull(kind, () -> times.countUpTo(null, 1));
        Refusal.ofNull(kind, () -> times.percentileNs(null, 1));
        for (double share : new double[]{0, -0.5, 1.01, Double.NaN}) {
            Refusal.ofArgument("share " + share + " is out of range: give one above 0 and up to 1, such as 0.99",
                    () -> times.percentileNs(ACQUIRED, share));
        }
    }

    @Test
    void threadsThatAskAtOnceGetTheSameObject() throws Exception {
        Redlock redlock = world(1).redlock();
        Set<AcquireTimes> seen = ConcurrentHashMap.newKeySet();
        CyclicBarrier start = new CyclicBarrier(4);
        List<Thread> threads = IntStream.range(0, 4).mapToObj(i -> new Thread(() -> {
            try {
                start.await();
                seen.add(redlock.acquireTimes());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        })).toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(Set.of(redlock.acquireTimes()), seen);
    }

    /** A dashboard may keep the times of a client that has ended. */
    @Test
    @Tag("jdk")
    void theTimesOutliveTheClient() throws InterruptedException {
        Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1"));
        AcquireTimes times = redlock.acquireTimes();
        assertNotNull(redlock.tryAcquire("orders", Duration.ofSeconds(10)));
        redlock.close();
        WeakReference<Redlock> reference = new WeakReference<>(redlock);
        redlock = null;
        while (reference.get() != null) {
            System.gc();
        }
        assertEquals(1, times.count(AcquireOutcome.Kind.NO_QUORUM));
    }

    // ---- addresses --------------------------------------------------------------------------------------------------

    @Test
    void addressesAreThoseOfTheConfiguration() {
        world = new VirtualWorld(2);
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis://user:secret@node-1:1", "node-0:1"));
        assertEquals(List.of("node-1:1", "node-0:1"), client.redlock().nodeAddresses());
        client.redlock()
                .nodes()
                .forEach(
                        node -> assertEquals(node.address(), client.redlock().nodeAddresses().get(node.index())));
    }

    @Test
    void theAddressOfAClusterNamesItsConfiguredServers() {
        try (Redlock redlock = Redlock.connect(new RedlockContext()
                .nodes("redis-cluster://user:secret@127.0.0.1:1,127.0.0.1:2", "rediss-cluster://127.0.0.1:3",
                        "redis-sentinel://127.0.0.1:4,127.0.0.1:5/main"))) {
            assertEquals(List.of("redis-cluster://127.0.0.1:1,127.0.0.1:2", "rediss-cluster://127.0.0.1:3",
                    "redis-sentinel://127.0.0.1:4,127.0.0.1:5/main"), redlock.nodeAddresses());
        }
    }
}
