package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.ThreadMXBean;
import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.rig.CallbackLane;
import dev.redlock.micrometer.RedlockMetrics;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.util.ResourceLeakDetector;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a warmed cycle allocates on the heap, on the caller's thread and on the event loop together, against real nodes.
 * Over epoll that is nothing. Netty's io_uring loop allocates a little in each turn, whatever runs on it.
 *
 * <p>Each figure is the best of several windows: a window in which the JIT compiler swaps code in, or the reply to a
 * clock sample or to {@code INFO} is decoded, shows bytes that no cycle caused. The client asks each node for its
 * {@code INFO} every second, so windows that take that long have fewer cycles. One scheduled task of Netty's for
 * each node timeout remains; it is spread over so many cycles that it stays far below one byte.
 *
 * <p>To find what allocates, run a test with {@code -XX:-UseTLAB} and a flight recording of
 * {@code jdk.ObjectAllocationOutsideTLAB}, which then has the stack of each allocation.
 */
class AllocationTest {

    private static final int CYCLES_PER_WINDOW = 1_024;
    /** A multiple of the lanes. */
    private static final int CYCLES_PER_WINDOW_MIN = 64;
    private static final long WINDOW_NS_MAX = 300_000_000;
    private static final int WINDOWS_MAX = 80;
    /** What the turns of Netty's io_uring loop may cost a cycle that is alone; the fast compiler leaves more of it. */
    private static final double IO_URING_BYTES_MAX = isOptimizing() ? 200 : 2_000;
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static ResourceLeakDetector.Level levelBefore;
    private static RedisNodes nodes;
    private static Redlock redlock;
    private static long loopThreadId;

    private static boolean isOptimizing() {
        return ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                .getVMOption("TieredStopAtLevel")
                .getValue()
                .equals("4");
    }

    @BeforeAll
    static void start() {
        // The leak detector of the test run records each buffer, which is what this test must not count.
        levelBefore = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        nodes = RequiredNodes.start(new RedisNodesContext().count(3));
    }

    private static void connect(TransportKind kind) {
        connect(kind, new RedlockContext());
    }

    private static void connect(TransportKind kind, RedlockContext context) {
        disconnect();
        // A node timeout that no busy machine reaches: here it is not latency that is looked at.
        redlock = Redlock.connect(context.nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .transport(kind)
                .connectTimeout(Duration.ofSeconds(20))
                .clockSampleInterval(Duration.ofSeconds(60))
                .nodeTimeout(Duration.ofSeconds(10)));
        System.out.println(nodes + ", transport " + redlock.transportDescription());
        loopThreadId = threadId("redlock-0");
    }

    private static void disconnect() {
        if (redlock != null) {
            redlock.close();
            redlock = null;
        }
    }

    @AfterAll
    static void close() {
        ResourceLeakDetector.setLevel(levelBefore);
        disconnect();
        if (nodes != null) {
            nodes.close();
        }
    }

    private static void connectOverEpoll() {
        try {
            connect(TransportKind.EPOLL);
        } catch (IllegalArgumentException e) {
            Assumptions.abort(e.getMessage());
        }
    }

    private static long threadId(String name) {
        return Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(thread -> thread.getName().equals(name))
                .mapToLong(Thread::getId)
                .max()
                .orElseThrow(() -> new AssertionError("no thread is called " + name));
    }

    private static long allocatedBytes() {
        return THREADS.getThreadAllocatedBytes(loopThreadId)
                + THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /** The fewest bytes per cycle that a window needed; ends early at the wanted result. The first windows warm up. */
    private static double bestBytesPerCycle(Cycle cycle, double enough) {
        double best = Double.MAX_VALUE;
        int count = CYCLES_PER_WINDOW;
        for (int i = 0; i < WINDOWS_MAX && best >= enough; i++) {
            long beganNs = System.nanoTime();
            long before = allocatedBytes();
            cycle.run(count);
            best = Math.min(best, (double) (allocatedBytes() - before) / count);
            count = nextCount(count, System.nanoTime() - beganNs);
        }
        return best;
    }

    /** As many cycles as the machine has time for. */
    private static int nextCount(int count, long tookNs) {
        if (tookNs > WINDOW_NS_MAX) {
            return Math.max(CYCLES_PER_WINDOW_MIN, count / 2);
        }
        return tookNs < WINDOW_NS_MAX / 4 ? Math.min(CYCLES_PER_WINDOW, count * 2) : count;
    }

    private static void assertBelow(String what, double limit, Cycle cycle) {
        double best = bestBytesPerCycle(cycle, limit);
        System.out.printf("%s: %.3f B/cycle%n", what, best);
        assertTrue(best < limit, () -> what + " allocates " + best + " bytes per cycle, less than " + limit
                + " is promised");
    }

    @BeforeEach
    void connectedOverEpoll() {
        if (redlock == null || !redlock.transportDescription().startsWith("EPOLL")) {
            connectOverEpoll();
        }
    }

    @Test
    void acquireAndReleaseFromAnotherThreadAllocateNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/caller"), OPTIONS);
        assertBelow("acquire + release from a caller's thread", 1, cycles::runFromCaller);
    }

    @Test
    void acquireAndReleaseOnTheEventLoopAllocateNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/loop"), OPTIONS);
        assertBelow("acquire + release chained on the event loop", 1, cycles::runOnLoop);
    }

    @Test
    void sixtyFourInFlightAllocateNothing() {
        assertLanesAllocateNothing("acquire + release, 64 in flight");
    }

    /** Each node gets other releases of a turn than the others. */
    @Test
    void thriftyQuorumsAllocateNothing() {
        connect(TransportKind.EPOLL, new RedlockContext().thriftyQuorums(true));
        try {
            CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/thrifty"), OPTIONS,
                    AcquireOutcome.Kind.ACQUIRED, 30_000);
            assertBelow("acquire + extend + release of a quorum", 1, cycles::runOnLoop);
            assertLanesAllocateNothing("acquire + release of a quorum, 64 in flight");
        } finally {
            disconnect();
        }
    }

    private static void assertLanesAllocateNothing(String what) {
        CallbackLane[] lanes = new CallbackLane[64];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = new CallbackLane(redlock, redlock.key("allocation/lane/" + i), OPTIONS);
        }
        assertBelow(what, 1, count -> {
            for (CallbackLane lane : lanes) {
                lane.begin(count / lanes.length);
            }
            for (CallbackLane lane : lanes) {
                lane.await();
            }
        });
    }

    @Test
    void namesInValuesAllocateNothing() {
        connect(TransportKind.EPOLL, new RedlockContext().clientName("orders-7c9f:4711").nameInValues(true));
        try {
            CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/named"), OPTIONS,
                    AcquireOutcome.Kind.ACQUIRED, 30_000);
            assertBelow("acquire + extend + release with a name", 1, cycles::runOnLoop);
        } finally {
            disconnect();
        }
    }

    @Test
    void metricsAllocateNothing() {
        connectOverEpoll();
        new RedlockMetrics(redlock).bindTo(new SimpleMeterRegistry());
        try {
            CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/metrics"), OPTIONS);
            assertBelow("acquire + release with metrics", 1, cycles::runOnLoop);
        } finally {
            disconnect();
        }
    }

    @Test
    void groupsAllocateNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/group"), OPTIONS.group("allocation"));
        assertBelow("acquire + release of a group", 1, cycles::runOnLoop);
        assertEquals("allocation", redlock.groups().get(0).name());
    }

    @Test
    void fencedLocksAllocateNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/fenced"), OPTIONS.fenced(),
                AcquireOutcome.Kind.ACQUIRED, 30_000);
        assertBelow("fenced acquire + extend + release", 1, cycles::runOnLoop);
    }

    @Test
    void waitBudgetAllocatesNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/wait"),
                OPTIONS.waitUpTo(Duration.ofSeconds(5)));
        assertBelow("acquire with a wait budget + release", 1, cycles::runOnLoop);
    }

    @Test
    void extendAllocatesNothing() {
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/extend"), OPTIONS,
                AcquireOutcome.Kind.ACQUIRED, 30_000);
        assertBelow("acquire + extend + release", 1, cycles::runOnLoop);
    }

    /** So many that their timers share one periodic task. */
    @Test
    void renewalsOfManyLeasesAllocateNothing() throws InterruptedException {
        AcquireOptions renewed = AcquireOptions.ofTtl(Duration.ofSeconds(6)).tryOnce().autoExtend();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            leases.add(redlock.acquire("allocation/renewed/" + i, renewed).lease());
        }
        assertBelow("renewal of one of 5000 leases", 1, AllocationTest::awaitRenewals);
        leases.forEach(lease -> assertEquals(LeaseState.HELD, lease.state()));
        leases.forEach(Lease::release);
    }

    /** Without a listener: the change of the thread allocates. */
    private static void awaitRenewals(int count) {
        long end = redlock.counters().extendedCount() + count;
        while (redlock.counters().extendedCount() < end) {
            Thread.yield();
        }
    }

    @Test
    void refusedAcquireAllocatesNothing() throws InterruptedException {
        ResourceKey key = redlock.key("allocation/refused");
        try (Lease holder = redlock.acquire(key, AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()).lease()) {
            CallbackLane cycles = new CallbackLane(redlock, key, OPTIONS, AcquireOutcome.Kind.CONTENDED, 0);
            assertBelow("refused acquire, rolled back", 1, cycles::runOnLoop);
            assertEquals(LeaseState.HELD, holder.state());
        }
    }

    @Test
    void acquireThatComesTooLateAllocatesNothing() {
        // The rest of the ttl less a nanosecond: the drift takes off 1 % of 10 s and of twice 60.1 s, and 2 ms.
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/late"),
                AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce().minValidity(Duration.ofNanos(8_695_999_999L)),
                AcquireOutcome.Kind.TOO_SLOW, 0);
        assertBelow("granted acquire, rolled back for want of validity", 1, cycles::runOnLoop);
    }

    @Test
    void blockingFormAllocatesTheLeaseAlone() {
        ResourceKey key = redlock.key("allocation/blocking");
        double leaseBytes = leaseBytes();
        assertBelow("blocking acquire + release (a lease is " + leaseBytes + " B)", leaseBytes + 1, count -> {
            for (int i = 0; i < count; i++) {
                cycleBlocking(key);
            }
        });
    }

    private static void cycleBlocking(ResourceKey key) {
        try (Lease lease = redlock.acquire(key, OPTIONS).lease()) {
            assertTrue(lease.isHeld(), "the lock is held");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The size of a lease, measured in the same way as everything else here. */
    private static double leaseBytes() {
        int count = 100_000;
        Lease last = redlock.newLease();
        long id = Thread.currentThread().getId();
        long before = THREADS.getThreadAllocatedBytes(id);
        for (int i = 0; i < count; i++) {
            last = redlock.newLease();
        }
        long after = THREADS.getThreadAllocatedBytes(id);
        assertEquals(LeaseState.IDLE, last.state());
        return Math.rint((double) (after - before) / count);
    }

    @Test
    void ioUringAllocatesOnlyInItsTurns() {
        try {
            connect(TransportKind.IO_URING);
        } catch (IllegalArgumentException e) {
            Assumptions.abort(e.getMessage());
        }
        CallbackLane cycles = new CallbackLane(redlock, redlock.key("allocation/uring"), OPTIONS);
        assertBelow("acquire + release over io_uring", IO_URING_BYTES_MAX, cycles::runOnLoop);
    }

    @Test
    void readingCountersAndNodesAllocatesNothing() {
        long[] sink = new long[1];
        var counters = redlock.counters();
        var status = redlock.nodes().get(0);
        assertBelow("reading counters and a node's state", 0.01, count -> {
            for (int i = 0; i < count; i++) {
                sink[0] += counters.acquiredCount() + counters.rolledBackCount() + counters.lostCount()
                        + status.grantedCount() + status.roundTripNs() + status.state().ordinal();
            }
        });
    }

    /** Something that can be run again and again. */
    @FunctionalInterface
    private interface Cycle {
        void run(int count);
    }
}
