package dev.redlock.jmh.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.rig.CallbackLane;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
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
 * A cycle on real nodes: one uncontended lock, acquired with a majority and released on all. One operation is one
 * cycle. With {@code -prof gc} the bytes are those of all threads of the fork, including the event loop.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 3, time = 2)
@Fork(1)
public class CallbackCycleBenchmark {

    private static final int IN_FLIGHT = 64;
    private static final int CYCLES = 100;
    private static final long TTL_MS = 30_000;

    /** The number of nodes. */
    @Param({"1", "3", "5", "7"})
    public int nodeCount;

    /** The network transport. */
    @Param("EPOLL")
    public TransportKind transport;

    private RedisNodes nodes;
    private Redlock redlock;
    private SocketRounds sockets;
    private AcquireOptions options;
    private ResourceKey blockingKey;
    private Lease holder;
    private CallbackLane single;
    private CallbackLane extending;
    private CallbackLane refused;
    private CallbackLane late;
    private final CallbackLane[] lanes = new CallbackLane[IN_FLIGHT];

    /** Starts nodes, connects and creates all reused objects. */
    @Setup
    public void connect() throws InterruptedException {
        nodes = RedisNodes.start(nodeCount);
        sockets = new SocketRounds(nodes.addresses());
        redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .clockSampleInterval(Duration.ofSeconds(60))
                .nodeTimeout(Duration.ofSeconds(5))
                .transport(transport));
        options = AcquireOptions.ofTtl(Duration.ofMillis(TTL_MS)).tryOnce();
        blockingKey = redlock.key("blocking");
        holder = redlock
                .acquire(redlock.key("refused"), AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce().autoExtend())
                .lease();
        single = lane("single", options, AcquireOutcome.Kind.ACQUIRED, 0);
        extending = lane("extending", options, AcquireOutcome.Kind.ACQUIRED, TTL_MS);
        refused = lane("refused", options, AcquireOutcome.Kind.CONTENDED, 0);
        // One nanosecond less than the greatest possible rest: every grant comes too late and is rolled back.
        // The rest of the ttl less a nanosecond: the drift takes off 1 % of 10 s and of twice 60.1 s, and 2 ms.
        late = lane("late",
                AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce().minValidity(Duration.ofNanos(8_695_999_999L)),
                AcquireOutcome.Kind.TOO_SLOW, 0);
        for (int i = 0; i < IN_FLIGHT; i++) {
            lanes[i] = lane("lane/" + i, options, AcquireOutcome.Kind.ACQUIRED, 0);
        }
    }

    private CallbackLane lane(String resource, AcquireOptions laneOptions,
            AcquireOutcome.Kind expected, long extendTtlMs) {
        return new CallbackLane(redlock, redlock.key(resource), laneOptions, expected, extendTtlMs);
    }

    /** Closes the client and the nodes. */
    @TearDown
    public void close() throws IOException {
        holder.close();
        redlock.close();
        sockets.close();
        nodes.close();
    }

    /** One in flight, each cycle started on the event loop. */
    @Benchmark
    @OperationsPerInvocation(CYCLES)
    public void oneInFlight() {
        single.runOnLoop(CYCLES);
    }

    /** One in flight, each cycle started by this thread, which parks until its end. */
    @Benchmark
    public void oneInFlightFromCaller() {
        single.runOnLoop(1);
    }

    /** 64 in flight. */
    @Benchmark
    @OperationsPerInvocation(IN_FLIGHT * CYCLES)
    public void sixtyFourInFlight() {
        for (CallbackLane lane : lanes) {
            lane.begin(CYCLES);
        }
        for (CallbackLane lane : lanes) {
            lane.await();
        }
    }

    /** Acquire, one extension, release. */
    @Benchmark
    @OperationsPerInvocation(CYCLES)
    public void extended() {
        extending.runOnLoop(CYCLES);
    }

    /** An acquire that fails because of a holder's keys, and is rolled back. */
    @Benchmark
    @OperationsPerInvocation(CYCLES)
    public void refused() {
        refused.runOnLoop(CYCLES);
    }

    /** An acquire that is granted with too little validity, and is rolled back. */
    @Benchmark
    @OperationsPerInvocation(CYCLES)
    public void rolledBack() {
        late.runOnLoop(CYCLES);
    }

    /** The blocking form: acquire and release park this thread. Allocates the lease. */
    @Benchmark
    public void blocking() throws InterruptedException {
        try (Lease lease = redlock.acquire(blockingKey, options).lease()) {
            if (!lease.isHeld()) {
                throw new IllegalStateException("not held: " + lease);
            }
        }
    }

    /** The baseline: two rounds of PING over plain blocking sockets. */
    @Benchmark
    public void baselineTwoSocketRounds() throws IOException {
        sockets.round();
        sockets.round();
    }
}
