package dev.redlock.jmh.lock;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.CommandMode;
import dev.redlock.IdlePolicy;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import dev.redlock.RestartGuardMode;
import dev.redlock.TransportKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Closed-loop cycles against nodes that already run, for as long as asked, and one line of figures: the client's side
 * of a comparison with a program that does the same over bare sockets. Nothing is audited and nothing but the cycle is
 * done, so that the CPU time is the client's own.
 *
 * @threading caller-confined
 */
@Command(name = "cycle-run", mixinStandardHelpOptions = true, description = "Lock cycles against given nodes.")
public final class CycleRun implements Callable<Integer> {

    /** Room for ten seconds from the start, so that no histogram grows while it counts. */
    private static final long HIGHEST_NS = 10_000_000_000L;

    @Option(names = "--nodes", required = true, split = ",", description = "addresses of the nodes")
    private List<String> nodes;

    @Option(names = "--server-pids", split = ",", description = "whose CPU time counts as the servers'")
    private List<Long> serverPids = List.of();

    @Option(names = "--outstanding", defaultValue = "64", description = "cycles in flight (${DEFAULT-VALUE})")
    private int outstanding;

    @Option(names = "--warmup", defaultValue = "8", description = "seconds before it counts (${DEFAULT-VALUE})")
    private int warmupSeconds;

    @Option(names = "--seconds", defaultValue = "8", description = "seconds that count (${DEFAULT-VALUE})")
    private int seconds;

    @Option(names = "--transport", defaultValue = "AUTO", description = "${COMPLETION-CANDIDATES}")
    private TransportKind transport;

    @Option(names = "--idle", defaultValue = "BLOCK", description = "${COMPLETION-CANDIDATES}")
    private IdlePolicy idlePolicy;

    @Option(names = "--commands", defaultValue = "AUTO", description = "${COMPLETION-CANDIDATES}")
    private CommandMode commands;

    @Option(names = "--release-batch", defaultValue = "64", description = "releases in one script call, at most")
    private int releaseBatchMax;

    @Option(names = "--loops", defaultValue = "1", description = "event loops (${DEFAULT-VALUE})")
    private int loops;

    @Option(names = "--blocking", description = "one thread per outstanding cycle, blocking form")
    private boolean isBlocking;

    @Option(names = "--fenced", description = "with fencing tokens")
    private boolean isFenced;

    @Option(names = "--spin-us", defaultValue = "0", description = "how long a blocked caller spins (${DEFAULT-VALUE})")
    private int spinMicroseconds;

    @Option(names = "--label", defaultValue = "redlock", description = "first column")
    private String label;

    private final List<Times> allTimes = new CopyOnWriteArrayList<>();
    private final ThreadLocal<Times> timesOfThread = ThreadLocal.withInitial(this::newTimes);
    private volatile boolean isMeasuring;
    private volatile boolean isStopping;

    /**
     * Runs.
     *
     * @param args see {@code --help}
     */
    public static void main(final String[] args) {
        System.exit(new CommandLine(new CycleRun()).execute(args));
    }

    @Override
    public Integer call() throws Exception {
        final RedlockContext context = new RedlockContext().nodes(nodes.toArray(String[]::new))
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5))
                .transport(transport)
                .idlePolicy(idlePolicy)
                .commands(commands)
                .releaseBatchMax(releaseBatchMax)
                .eventLoops(loops)
                .blockingSpin(Duration.ofNanos(spinMicroseconds * 1000L));
        final AcquireOptions plain = AcquireOptions.ofTtl(Duration.ofSeconds(30));
        final AcquireOptions options = isFenced ? plain.fenced() : plain;
        try (Redlock redlock = Redlock.connect(context)) {
            final List<Lane> lanes = new ArrayList<>();
            for (int i = 0; i < outstanding; i++) {
                final Lane lane = new Lane(redlock, String.format(Locale.ROOT, "cycle:lock:%06d", i), options);
                lanes.add(lane);
                lane.start();
            }
            TimeUnit.SECONDS.sleep(warmupSeconds);
            final Usage before = Usage.now(serverPids);
            isMeasuring = true;
            TimeUnit.SECONDS.sleep(seconds);
            isMeasuring = false;
            final Usage after = Usage.now(serverPids);
            isStopping = true;
            report(lanes, before, after);
        }
        return 0;
    }

    private void report(final List<Lane> lanes, final Usage before, final Usage after) {
        final Histogram acquire = new Histogram(3);
        final Histogram cycle = new Histogram(3);
        for (final Lane lane : lanes) {
            if (lane.failure != null) {
                throw new IllegalStateException(lane.failure);
            }
        }
        for (final Times times : allTimes) {
            acquire.add(times.acquires);
            cycle.add(times.cycles);
        }
        final double count = cycle.getTotalCount();
        final double elapsedNs = after.ns - before.ns;
        System.out.printf(Locale.ROOT, "%-28s n=%d out=%-3d %9.0f cycles/s  acquire p50 %.1f p99 %.1f"
                + "  cycle p50 %.1f p99 %.1f p99.9 %.1f max %.0f us  client cpu %.2f us (loops %.2f)  servers %.2f us"
                + "  heap %.1f B  other cores %.2f%n",
                label, nodes.size(), outstanding, count / elapsedNs * 1e9, us(acquire, 50), us(acquire, 99),
                us(cycle, 50), us(cycle, 99), us(cycle, 99.9), cycle.getMaxValue() / 1e3,
                (after.clientNs - before.clientNs) / 1e3 / count, (after.loopsNs - before.loopsNs) / 1e3 / count,
                (after.serversNs - before.serversNs) / 1e3 / count, (after.heapBytes - before.heapBytes) / count,
                (after.busyNs - before.busyNs - after.clientNs + before.clientNs - after.serversNs
                        + before.serversNs) / elapsedNs);
    }

    private static double us(final Histogram histogram, final double percentile) {
        return histogram.getValueAtPercentile(percentile) / 1e3;
    }

    /**
     * One lock, taken and given back again and again.
     *
     * @threading any thread; one step at a time
     */
    private final class Lane implements Runnable {
        final Redlock redlock;
        final AcquireOptions options;
        final ResourceKey key;
        final Lease lease;
        final AcquireCallback onAcquired = this::onAcquired;
        final ReleaseCallback onReleased = this::onReleased;
        volatile String failure;
        Times times;
        long startNs;

        Lane(final Redlock redlock, final String resource, final AcquireOptions options) {
            this.redlock = redlock;
            this.options = options;
            this.key = redlock.key(resource);
            this.lease = redlock.newLease();
        }

        void start() {
            if (isBlocking) {
                final Thread thread = new Thread(this, "lane");
                thread.setDaemon(true);
                thread.start();
            } else {
                next();
            }
        }

        @Override
        public void run() {
            while (!isStopping) {
                startNs = System.nanoTime();
                try (Lease held = redlock.acquire(key, options).lease()) {
                    record(times().acquires);
                    if (!held.isHeld()) {
                        failure = "not held: " + held;
                        return;
                    }
                } catch (final InterruptedException e) {
                    return;
                }
                record(times().cycles);
            }
        }

        private Times times() {
            if (times == null) {
                times = timesOfThread.get();
            }
            return times;
        }

        private void next() {
            startNs = System.nanoTime();
            redlock.acquire(key, options, lease, onAcquired);
        }

        private void record(final Histogram histogram) {
            if (isMeasuring) {
                histogram.recordValue(System.nanoTime() - startNs);
            }
        }

        private void onAcquired(final AcquireOutcome outcome) {
            if (!outcome.isAcquired()) {
                failure = outcome.toString();
                return;
            }
            record(times().acquires);
            lease.release(onReleased);
        }

        private void onReleased(final Lease released, final ReleaseOutcome outcome) {
            if (outcome != ReleaseOutcome.RELEASED) {
                failure = outcome.toString();
                return;
            }
            record(times().cycles);
            if (!isStopping) {
                next();
            }
        }
    }

    private Times newTimes() {
        final Times times = new Times(new Histogram(1_000, HIGHEST_NS, 3), new Histogram(1_000, HIGHEST_NS, 3));
        allTimes.add(times);
        return times;
    }

    /**
     * The latencies that one thread has seen.
     *
     * @threading caller-confined
     */
    private record Times(Histogram acquires, Histogram cycles) {
    }

    /**
     * What was used so far.
     *
     * @threading immutable
     */
    private record Usage(long ns, long clientNs, long loopsNs, long serversNs, long busyNs, long heapBytes) {
        static Usage now(final List<Long> serverPids) throws IOException {
            long serversNs = 0;
            for (final long pid : serverPids) {
                final String stat = Files.readString(Path.of("/proc/" + pid + "/schedstat"));
                serversNs += Long.parseLong(stat.substring(0, stat.indexOf(' ')));
            }
            final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            final long heap = Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds())).sum();
            final OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            long loopsNs = 0;
            for (final long id : threads.getAllThreadIds()) {
                final ThreadInfo info = threads.getThreadInfo(id);
                if (info != null && info.getThreadName().startsWith("redlock")) {
                    loopsNs += threads.getThreadCpuTime(id);
                }
            }
            return new Usage(System.nanoTime(), os.getProcessCpuTime(), loopsNs, serversNs, allBusyNs(), heap);
        }

        /** What all cores have done so far, in the ticks of 10 ms that Linux counts. */
        private static long allBusyNs() throws IOException {
            final String[] ticks = Files.readAllLines(Path.of("/proc/stat")).get(0).trim().split(" +");
            long busy = 0;
            for (final int column : new int[]{1, 2, 3, 6, 7}) {
                busy += Long.parseLong(ticks[column]);
            }
            return busy * 10_000_000;
        }
    }
}
