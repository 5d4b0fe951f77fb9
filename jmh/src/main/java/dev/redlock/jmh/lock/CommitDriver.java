package dev.redlock.jmh.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/**
 * The client's side of {@link VersusCommit}, which compiles this source against each of two states of the project. So
 * it uses the part of the public API that both have. It reads lines with the cycles in flight and the seconds, runs a
 * closed loop on one event loop for each, and prints its figures.
 *
 * @threading caller-confined; the cycles run on the event loop
 */
public final class CommitDriver {

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(10);
    private static final int IN_FLIGHT_MAX = 1024;
    private static final double US_PER_TICK = 10_000;

    private final Redlock redlock;
    private final CostMeter costs;
    private final List<Lane> lanes;
    private final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(30));
    private final Histogram cycles = new Histogram(1_000, LIMIT_NS, 3);
    private CountDownLatch ended;
    private volatile boolean isRunning;
    private volatile String failure;

    private CommitDriver(Redlock redlock, List<Long> serverPids) {
        this.redlock = redlock;
        costs = new CostMeter(() -> 0, new CostMeter.Scope("redlock-", serverPids));
        lanes = IntStream.range(0, IN_FLIGHT_MAX).mapToObj(Lane::new).toList();
    }

    /**
     * Runs until the end of standard input.
     *
     * @param args the command mode, the largest batch of releases, the processes of the nodes, and their addresses
     * @throws IOException          if /proc has no figures
     * @throws InterruptedException if interrupted
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        RedlockContext context = new RedlockContext().nodes(args[3].split(","))
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .commands(CommandMode.valueOf(args[0]))
                .releaseBatchMax(Integer.parseInt(args[1]))
                .eventLoops(1);
        try (Redlock redlock = Redlock.connect(context); Scanner in = new Scanner(System.in)) {
            // The type of the state differs.
            for (int i = 0; !redlock.nodes().stream().allMatch(n -> n.state().toString().equals("READY")); i++) {
                if (i == TimeUnit.NANOSECONDS.toMillis(LIMIT_NS)) {
                    throw new IllegalStateException(redlock.nodes().toString());
                }
                TimeUnit.MILLISECONDS.sleep(1);
            }
            CommitDriver driver = new CommitDriver(redlock,
                    Arrays.stream(args[2].split(",")).map(Long::valueOf).toList());
            while (in.hasNext()) {
                System.out.println(driver.measure(in.nextInt(), in.nextDouble()));
            }
        }
    }

    private String measure(int inFlight, double seconds) throws IOException, InterruptedException {
        cycles.reset();
        ended = new CountDownLatch(inFlight);
        isRunning = true;
        long[] ticks = ticks();
        costs.begin();
        lanes.subList(0, inFlight).forEach(Lane::begin);
        TimeUnit.MICROSECONDS.sleep((long) (seconds * 1e6));
        isRunning = false;
        boolean hasEnded = ended.await(LIMIT_NS, TimeUnit.NANOSECONDS);
        Usage used = costs.end();
        long[] ticksAfter = ticks();
        long lostVotes = redlock.nodes().stream().mapToLong(CommitDriver::lostVotes).sum();
        if (failure != null || !hasEnded || lostVotes > 0) {
            return String.format(Locale.ROOT, "FAIL %s, %d votes lost, %d cycles without end, %s", failure, lostVotes,
                    ended.getCount(), redlock.nodes());
        }
        double count = cycles.getTotalCount();
        return String.format(Locale.ROOT, "%.0f,%.1f,%.1f,%.1f,%.0f,%.3f,%.3f,%.3f,%.3f,%.3f,%.2f,%.2f",
                count / used.ns() * 1e9, cycles.getValueAtPercentile(50) / 1e3, cycles.getValueAtPercentile(99) / 1e3,
                cycles.getValueAtPercentile(99.9) / 1e3, cycles.getMaxValue() / 1e3, used.clientCpuNs() / 1e3 / count,
                (ticksAfter[0] - ticks[0]) * US_PER_TICK / count, (ticksAfter[1] - ticks[1]) * US_PER_TICK / count,
                used.loopCpuNs() / 1e3 / count, used.serverCpuNs() / 1e3 / count, used.heapBytes() / count,
                used.otherCores());
    }

    private static long lostVotes(NodeStatus node) {
        return node.refusedCount() + node.errorCount() + node.disconnectCount();
    }

    /** This process in user mode and in the kernel. */
    private static long[] ticks() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return new long[]{Long.parseLong(fields[11]), Long.parseLong(fields[12])};
    }

    /**
     * One lock, acquired and released again and again.
     *
     * @threading event-loop-confined once it has begun
     */
    private final class Lane {
        private final AcquireCallback onAcquired = this::onAcquired;
        private final ReleaseCallback onReleased = this::onReleased;
        private final Lease lease = redlock.newLease();
        private final ResourceKey key;
        private long startNs;

        Lane(int number) {
            // The last release of another contender may be on its way to a slow node.
            key = redlock.key(String.format(Locale.ROOT, "commit:%08x:%04d", ProcessHandle.current().pid(), number));
        }

        void begin() {
            startNs = System.nanoTime();
            redlock.acquire(key, options, lease, onAcquired);
        }

        private void onAcquired(AcquireOutcome outcome) {
            if (outcome.isAcquired()) {
                lease.release(onReleased);
            } else {
                fail(outcome.toString());
            }
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            cycles.recordValue(Math.min(LIMIT_NS, System.nanoTime() - startNs));
            if (outcome != ReleaseOutcome.RELEASED) {
                fail(outcome.toString());
            } else if (isRunning) {
                begin();
            } else {
                ended.countDown();
            }
        }

        private void fail(String what) {
            failure = what;
            ended.countDown();
        }
    }
}
