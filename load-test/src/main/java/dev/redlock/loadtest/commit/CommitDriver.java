package dev.redlock.loadtest.commit;

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
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
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
import java.util.stream.Stream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * The client's side of {@link VersusCommitCommand}, which compiles this source against each of two states of the
 * project. So it uses the part of the public API that both have. It reads lines with the form of the calls, the cycles
 * in flight and the seconds, runs a closed loop for each, and prints its figures. There is one event loop.
 *
 * @threading caller-confined; the cycles run on the event loop, or in threads of their own
 */
public final class CommitDriver {

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(10);
    private static final int IN_FLIGHT_MAX = 8192;
    private static final String CALLBACKS = "callbacks";
    private static final String PLATFORM = "platform";
    private static final double US_PER_TICK = 10_000;

    private final Redlock redlock;
    private final CostMeter costs;
    private final List<Lane> lanes;
    private final AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(30));
    private final Histogram cycles = new ConcurrentHistogram(1_000, LIMIT_NS, 3);
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
                System.out.println(driver.measure(in.next(), in.nextInt(), in.nextDouble()));
            }
        }
    }

    private String measure(String form, int inFlight, double seconds) throws IOException, InterruptedException {
        cycles.reset();
        ended = new CountDownLatch(inFlight);
        CountDownLatch begin = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        isRunning = true;
        List<Lane> used = lanes.subList(0, inFlight);
        if (!form.equals(CALLBACKS)) {
            used.forEach(lane -> start(form, () -> lane.block(begin, end)));
        }
        long[] before = counts();
        costs.begin();
        if (form.equals(CALLBACKS)) {
            used.forEach(Lane::begin);
        } else {
            begin.countDown();
        }
        TimeUnit.MICROSECONDS.sleep((long) (seconds * 1e6));
        isRunning = false;
        boolean hasEnded = ended.await(LIMIT_NS, TimeUnit.NANOSECONDS);
        Usage usage = costs.end();
        long[] after = counts();
        end.countDown();
        long lostVotes = redlock.nodes().stream().mapToLong(CommitDriver::lostVotes).sum();
        if (failure != null || !hasEnded || lostVotes > 0) {
            return String.format(Locale.ROOT, "FAIL %s, %d votes lost, %d cycles without end, %s", failure, lostVotes,
                    ended.getCount(), redlock.nodes());
        }
        double count = cycles.getTotalCount();
        return String.format(Locale.ROOT, "%.0f,%.1f,%.1f,%.1f,%.0f,%.3f,%.3f,%.3f,%.3f,%.3f,%.2f,%.2f,%.3f",
                count / usage.ns() * 1e9, cycles.getValueAtPercentile(50) / 1e3, cycles.getValueAtPercentile(99) / 1e3,
                cycles.getValueAtPercentile(99.9) / 1e3, cycles.getMaxValue() / 1e3, usage.clientCpuNs() / 1e3 / count,
                (after[0] - before[0]) * US_PER_TICK / count, (after[1] - before[1]) * US_PER_TICK / count,
                usage.loopCpuNs() / 1e3 / count, usage.serverCpuNs() / 1e3 / count, usage.heapBytes() / count,
                usage.otherCores(), (after[2] - before[2]) / count);
    }

    /** Starts a platform or a virtual thread. JDK 17 has no virtual ones. */
    private static void start(String form, Runnable task) {
        if (form.equals(PLATFORM)) {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            thread.start();
            return;
        }
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JDK has no " + form + " threads", e);
        }
    }

    private static long lostVotes(NodeStatus node) {
        return node.refusedCount() + node.errorCount() + node.disconnectCount();
    }

    /** The ticks of this process in user mode and in the kernel, and how often its threads have given up the CPU. */
    private static long[] counts() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        long switches = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads) {
                switches += switches(thread);
            }
        }
        return new long[]{Long.parseLong(fields[11]), Long.parseLong(fields[12]), switches};
    }

    private static long switches(Path thread) {
        String name = "voluntary_ctxt_switches:";
        try (Stream<String> lines = Files.lines(thread.resolve("status"))) {
            return lines.filter(line -> line.startsWith(name))
                    .mapToLong(line -> Long.parseLong(line.substring(name.length()).strip()))
                    .sum();
        } catch (IOException | UncheckedIOException e) {
            // It has ended.
            return 0;
        }
    }

    /**
     * One lock, acquired and released again and again.
     *
     * @threading event-loop-confined once it has begun, or caller-confined to the thread of its cycle
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

        /** As the thread of a request does it. */
        void block(CountDownLatch begin, CountDownLatch end) {
            try {
                begin.await();
                while (isRunning) {
                    long beganNs = System.nanoTime();
                    redlock.acquire(key, options).lease().close();
                    cycles.recordValue(Math.min(LIMIT_NS, System.nanoTime() - beganNs));
                }
                ended.countDown();
                // Its counts are read before it ends.
                end.await();
            } catch (InterruptedException | RuntimeException e) {
                fail(e.toString());
            }
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
