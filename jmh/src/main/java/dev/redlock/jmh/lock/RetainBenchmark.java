package dev.redlock.jmh.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.CallerClient;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Acquires and releases locks that the client retains, on real nodes: no cycle sends a command, except where the time
 * of a lock is over. With {@code -prof gc} the bytes are those of all threads of the fork. The baseline is a lock of
 * the JDK.
 *
 * @threading any thread
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class RetainBenchmark {

    private static final int KEYS = 10_000;
    private static final int CYCLES = 100_000;
    private static final Duration TTL = Duration.ofHours(1);

    /** The number of nodes. */
    @Param("3")
    public int nodeCount;

    private RedisNodes nodes;
    private Redlock redlock;
    private AcquireOptions options;
    private final ReentrantLock monitor = new ReentrantLock();
    private ResourceKey one;
    private ResourceKey shared;
    private ResourceKey onLoop;

    /** Starts nodes and connects. */
    @Setup
    public void connect() throws InterruptedException {
        nodes = RedisNodes.start(nodeCount);
        redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .clockSampleInterval(Duration.ofSeconds(60))
                .nodeTimeout(Duration.ofSeconds(5))
                .maxTtl(TTL)
                .eventLoops(1));
        options = AcquireOptions.ofTtl(TTL).retain(TTL).waitUpTo(Duration.ofSeconds(30));
        one = redlock.key("one");
        shared = redlock.key("shared");
        onLoop = redlock.key("loop");
    }

    /** Closes the client and the nodes. */
    @TearDown
    public void close() {
        redlock.close();
        nodes.close();
    }

    /**
     * Many locks that the client retains.
     *
     * @threading caller-confined; read by the benchmark
     */
    @State(Scope.Benchmark)
    public static class Keys {

        private final ResourceKey[] keys = new ResourceKey[KEYS];

        /** Acquires each once. */
        @Setup
        public void retain(RetainBenchmark benchmark) throws InterruptedException {
            for (int i = 0; i < KEYS; i++) {
                keys[i] = benchmark.redlock.key("key/" + i);
                benchmark.blockingCycle(keys[i]);
            }
        }
    }

    /**
     * What a thread reuses.
     *
     * @threading caller-confined; the harness gives each thread its own
     */
    @State(Scope.Thread)
    public static class Caller {

        private static final int STEP = 7919;

        private Lease lease;
        private Lane lane;
        private int next;

        /** Creates all reused objects. */
        @Setup
        public void create(RetainBenchmark benchmark) {
            lease = benchmark.redlock.newLease();
            lane = new Lane(benchmark);
        }

        private int nextKey() {
            next = (next + STEP) % KEYS;
            return next;
        }
    }

    /**
     * Cycles on the event loop, in the callback form.
     *
     * @threading any thread; one run at a time
     */
    private static final class Lane {

        private final RetainBenchmark benchmark;
        private final Lease lease;
        private final AcquireCallback onAcquired = this::onAcquired;
        private final ReleaseCallback onReleased = this::onReleased;
        private int left;
        private volatile Thread waiter;
        private volatile String failure;

        private Lane(RetainBenchmark benchmark) {
            this.benchmark = benchmark;
            this.lease = benchmark.redlock.newLease();
        }

        private void run(int count) {
            left = count;
            waiter = Thread.currentThread();
            begin();
            while (waiter != null) {
                LockSupport.park(this);
            }
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
        }

        private void begin() {
            benchmark.redlock.acquire(benchmark.onLoop, benchmark.options, lease, onAcquired);
        }

        private void onAcquired(AcquireOutcome outcome) {
            if (outcome.isAcquired()) {
                lease.release(onReleased);
            } else {
                end("not acquired: " + outcome);
            }
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            if (outcome != ReleaseOutcome.RETAINED && outcome != ReleaseOutcome.RELEASED) {
                end("not released: " + outcome);
            } else if (--left == 0) {
                end(null);
            } else {
                begin();
            }
        }

        private void end(String reason) {
            failure = reason;
            Thread parked = waiter;
            waiter = null;
            LockSupport.unpark(parked);
        }
    }

    private void cycle(Lease lease, ResourceKey key) {
        CallerClient.acquire(redlock, key, options, lease);
        if (!((AcquireOutcome) lease).isAcquired()) {
            awaitNodes(lease);
        }
        lease.release();
    }

    /** The time of a retained lock was over: the nodes have it. */
    private static void awaitNodes(Lease lease) {
        while (lease.state() == LeaseState.ACQUIRING) {
            Thread.yield();
        }
        if (!lease.isHeld()) {
            throw new IllegalStateException("not held: " + lease);
        }
    }

    private void blockingCycle(ResourceKey key) throws InterruptedException {
        AcquireOutcome outcome = redlock.acquire(key, options);
        if (!outcome.isAcquired()) {
            throw new IllegalStateException("not acquired: " + outcome);
        }
        outcome.lease().release();
    }

    /** One key, on the caller's thread, with a reused lease. */
    @Benchmark
    public void oneKey(Caller caller) {
        cycle(caller.lease, one);
    }

    /** One key in the blocking form, which allocates the lease. */
    @Benchmark
    public void blocking() throws InterruptedException {
        blockingCycle(one);
    }

    /** 10,000 keys in turn, on the caller's thread. */
    @Benchmark
    public void manyKeys(Caller caller, Keys many) {
        cycle(caller.lease, many.keys[caller.nextKey()]);
    }

    /** One key in the blocking form, while another thread wants it too. */
    @Benchmark
    @Group("twoThreads")
    public void first() throws InterruptedException {
        blockingCycle(shared);
    }

    /** The other thread: a fair lock gives both the same time. */
    @Benchmark
    @Group("twoThreads")
    public void second() throws InterruptedException {
        blockingCycle(shared);
    }

    /** One key, each cycle started in the callback of the one before. */
    @Benchmark
    @OperationsPerInvocation(CYCLES)
    public void onLoop(Caller caller) {
        caller.lane.run(CYCLES);
    }

    /** The baseline: a lock of this JVM, and the two readings of the clock that a lease needs. */
    @Benchmark
    public long baselineLocalLock() {
        monitor.lock();
        try {
            return System.nanoTime() ^ System.nanoTime();
        } finally {
            monitor.unlock();
        }
    }
}
