package dev.redlock.loadtest.commit;

import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * Lock cycles in a closed loop for a given time, and their figures: in callbacks, or in threads that block, of which
 * each lane has one. It uses no type of the client, because {@link CommitDriver} is compiled against others of them.
 *
 * @threading caller-confined, except for the calls of lanes
 */
final class ClosedLoop {

    /** The figures of {@link #measure}, in their order. */
    static final List<String> FIGURES = List.of("cycles/s", "p50 us", "p99 us", "p99.9 us", "max us", "client us",
            "user us", "system us", "loop us", "servers us", "heap B", "other cores", "switches");
    static final String CALLBACKS = "callbacks";
    static final String PLATFORM = "platform";
    static final String VIRTUAL = "virtual";
    /** What a line starts with instead of figures. */
    static final String FAIL = "FAIL";
    static final int LANES_MAX = 8192;
    /** The longest cycle, and the longest wait for the last ones. */
    static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long AWAIT_CYCLE_MS = 10;

    private static final int VIRTUAL_JDK = 21;
    private static final double US_PER_TICK = 10_000;

    private final CostMeter costs;
    private final Histogram cycles = new ConcurrentHistogram(1_000, LIMIT_NS, 3);
    private CountDownLatch ended;
    private volatile boolean isRunning;
    private volatile String failure;

    /**
     * One lock, acquired and released again and again.
     *
     * @threading any thread, one at a time
     */
    interface Lane {
        /** Starts its first cycle in callbacks, which call {@link #record}, and begin the next one or {@link #end}. */
        void begin();

        /** Acquires and releases, blocking. */
        void cycle() throws Exception;
    }

    /**
     * A loop that has not begun.
     *
     * @param loopThreads the prefix of the names of the client's event loops
     * @param serverPids  the processes of the nodes
     */
    ClosedLoop(String loopThreads, List<Long> serverPids) {
        costs = new CostMeter(() -> 0, new CostMeter.Scope(loopThreads, serverPids));
    }

    /**
     * Runs.
     *
     * @param form    of the calls
     * @param problem what the client reports in the end; empty if nothing
     * @return the figures, or a line that starts with {@link #FAIL}
     */
    String measure(List<? extends Lane> lanes, String form, double seconds, Supplier<String> problem)
            throws IOException, InterruptedException {
        cycles.reset();
        ended = new CountDownLatch(lanes.size());
        CountDownLatch begin = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        isRunning = true;
        if (!form.equals(CALLBACKS)) {
            lanes.forEach(lane -> start(form, () -> block(lane, begin, end)));
        }
        long[] before = counts();
        costs.begin();
        if (form.equals(CALLBACKS)) {
            lanes.forEach(Lane::begin);
        } else {
            begin.countDown();
        }
        TimeUnit.MICROSECONDS.sleep((long) (seconds * 1e6));
        awaitCycle();
        isRunning = false;
        boolean hasEnded = ended.await(LIMIT_NS, TimeUnit.NANOSECONDS);
        Usage usage = costs.end();
        long[] after = counts();
        end.countDown();
        String said = problem.get();
        double count = cycles.getTotalCount();
        if (failure != null || !hasEnded || !said.isEmpty()) {
            return String.format(Locale.ROOT, "%s: %s%.0f cycles, %d without end%s", FAIL,
                    failure == null ? "" : failure + ", ", count, ended.getCount(), said.isEmpty() ? "" : ", " + said);
        }
        return String.format(Locale.ROOT, "%.0f,%.1f,%.1f,%.1f,%.0f,%.3f,%.3f,%.3f,%.3f,%.3f,%.2f,%.2f,%.3f",
                count / usage.ns() * 1e9, cycles.getValueAtPercentile(50) / 1e3, cycles.getValueAtPercentile(99) / 1e3,
                cycles.getValueAtPercentile(99.9) / 1e3, cycles.getMaxValue() / 1e3, usage.clientCpuNs() / 1e3 / count,
                (after[0] - before[0]) * US_PER_TICK / count, (after[1] - before[1]) * US_PER_TICK / count,
                usage.loopCpuNs() / 1e3 / count, usage.serverCpuNs() / 1e3 / count, usage.heapBytes() / count,
                usage.otherCores(), (after[2] - before[2]) / count);
    }

    /** A busy machine may give the lanes no core until the end: then the turn lasts until one has ended a cycle. */
    private void awaitCycle() throws InterruptedException {
        long startNs = System.nanoTime();
        while (cycles.getTotalCount() == 0 && failure == null && System.nanoTime() - startNs < LIMIT_NS) {
            TimeUnit.MILLISECONDS.sleep(AWAIT_CYCLE_MS);
        }
    }

    // ---- lanes ------------------------------------------------------------------------------------------------------

    /** Whether a lane begins another cycle. */
    boolean isRunning() {
        return isRunning;
    }

    /** Records a cycle that ends now. */
    void record(long startNs) {
        cycles.recordValue(Math.min(LIMIT_NS, System.nanoTime() - startNs));
    }

    /** The last cycle of a lane has ended. */
    void end() {
        ended.countDown();
    }

    /** Ends a lane and the run, which then has no figures. */
    void fail(String what) {
        failure = what;
        ended.countDown();
    }

    /** As the thread of a request does it. */
    private void block(Lane lane, CountDownLatch begin, CountDownLatch end) {
        try {
            begin.await();
            while (isRunning) {
                long startNs = System.nanoTime();
                lane.cycle();
                record(startNs);
            }
            ended.countDown();
            // Its counts are read before it ends.
            end.await();
        } catch (Exception e) {
            // Each library has exceptions of its own.
            fail(e.toString());
        }
    }

    /** Starts a platform or a virtual thread. */
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

    static boolean hasVirtualThreads() {
        return Runtime.version().feature() >= VIRTUAL_JDK;
    }

    // ---- the process ------------------------------------------------------------------------------------------------

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
}
