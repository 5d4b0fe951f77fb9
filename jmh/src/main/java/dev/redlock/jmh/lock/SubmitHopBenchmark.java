package dev.redlock.jmh.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.loadtest.rig.CallbackLane;
import io.netty.channel.IoEventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The way from a caller's thread to the event loop and back, without a node: an acquire that fails at once, because its
 * node is down. The baseline is a bare task on such a loop that unparks its caller.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(1)
public class SubmitHopBenchmark {

    private MultiThreadIoEventLoopGroup group;
    private IoEventLoop loop;
    private Redlock redlock;
    private CallbackLane lane;
    private final Runnable answer = this::onRun;
    private volatile Thread waiter;

    /** A client of a node that is down, and a loop for the baseline. */
    @Setup
    public void connect() throws IOException {
        int deadPort;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            deadPort = free.getLocalPort();
        }
        group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        loop = group.next();
        redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:" + deadPort)
                .eventLoops(loop)
                .reconnectDelay(Duration.ofSeconds(60), Duration.ofSeconds(60))
                .connectTimeout(Duration.ofMillis(100)));
        lane = new CallbackLane(redlock, redlock.key("hop"), AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce(),
                AcquireOutcome.Kind.NO_QUORUM, 0);
    }

    /** Closes the client and the loop. */
    @TearDown
    public void close() {
        redlock.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** The client: submit, decide, call back, unpark. */
    @Benchmark
    public void acquireThatIsDecidedAtOnce() {
        lane.runOnLoop(1);
    }

    /** The baseline: execute, unpark. */
    @Benchmark
    public void baselineBareTask() {
        waiter = Thread.currentThread();
        loop.execute(answer);
        while (waiter != null) {
            LockSupport.park(this);
        }
    }

    private void onRun() {
        Thread parked = waiter;
        waiter = null;
        LockSupport.unpark(parked);
    }
}
