package dev.redlock.jmh.lock;

import dev.redlock.loadtest.rig.Pacer;
import dev.redlock.loadtest.rig.SendSchedule;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;

/**
 * Runs a load for a given time and prints one line of figures, the same for all programs that measure cycles. A closed
 * loop counts the cycles that end in the measured time. An open loop counts the cycles that it intended to start in
 * that time, even if they end later. A failure ends the run.
 *
 * @threading any thread; {@link #run} once
 */
final class CycleMeter {

    /** The pause before a send that found no slot is tried again. */
    private static final long BACKLOG_NS = 20_000;
    /** The time before the measured time of a turn, until all lanes are busy. */
    private static final long SETTLE_NS = 200_000_000;

    private final CycleOptions options;
    private final String label;
    private final String loopNamePrefix;
    private final boolean isOpen;
    private final List<PhaseTimes> allTimes = new CopyOnWriteArrayList<>();
    private final List<PhaseTimes> loopTimes = new CopyOnWriteArrayList<>();
    private final ThreadLocal<PhaseTimes> timesOfThread = ThreadLocal.withInitial(this::newTimes);
    private final LongAdder failureCount = new LongAdder();
    private final List<String> firstFailures = new CopyOnWriteArrayList<>();
    private final CountDownLatch failed = new CountDownLatch(1);
    private long fromNs;
    private long toNs;
    private volatile int phase = PhaseTimes.WARM_UP;

    /**
     * A meter for one run.
     *
     * @param label          the default of the first column
     * @param loopNamePrefix the prefix of the event loops' thread names
     */
    CycleMeter(CycleOptions options, String label, String loopNamePrefix) {
        this.options = options;
        this.label = options.label(label);
        this.loopNamePrefix = loopNamePrefix;
        this.isOpen = options.isOpen();
    }

    private PhaseTimes newTimes() {
        PhaseTimes times = new PhaseTimes();
        allTimes.add(times);
        if (Thread.currentThread().getName().startsWith(loopNamePrefix)) {
            loopTimes.add(times);
        }
        return times;
    }

    /** The histograms of the calling thread. */
    PhaseTimes times() {
        return timesOfThread.get();
    }

    /** The phase of a cycle that started, or was intended to start, at that time and ends now. */
    int phaseOf(long startNs) {
        if (!isOpen) {
            return phase;
        }
        if (startNs - fromNs < 0) {
            return PhaseTimes.WARM_UP;
        }
        return startNs - toNs < 0 ? PhaseTimes.MEASURED : PhaseTimes.AFTER;
    }

    /** Records a failure, which ends the run. */
    void fail(String what) {
        failureCount.increment();
        synchronized (firstFailures) {
            if (firstFailures.size() < 3 && !firstFailures.contains(what)) {
                firstFailures.add(what);
            }
        }
        failed.countDown();
    }

    /**
     * Runs the load and prints its figures, once or in turns.
     *
     * @param turns each line starts a turn
     * @param out   gets the figures
     * @return the exit code: 0, or 1 if anything failed or the rate was missed
     * @throws IOException          if the kernel's figures cannot be read
     * @throws InterruptedException if the thread is interrupted
     */
    int run(CycleLoad load, InputStream turns, PrintWriter out)
            throws IOException, InterruptedException {
        CycleUsage used = measure(load, options.warmupNs());
        if (!options.isInTurns()) {
            report(used, out);
        } else if (failureCount.sum() == 0) {
            out.println("ready");
            out.flush();
            BufferedReader lines = new BufferedReader(new InputStreamReader(turns, StandardCharsets.UTF_8));
            while (failureCount.sum() == 0 && lines.readLine() != null) {
                allTimes.forEach(PhaseTimes::reset);
                report(measure(load, SETTLE_NS), out);
            }
        }
        firstFailures.forEach(what -> out.println("FAIL: " + label + ": " + what));
        if (failureCount.sum() > firstFailures.size()) {
            out.println("FAIL: " + label + ": " + failureCount.sum() + " failures in all");
        }
        out.flush();
        return failureCount.sum() == 0 ? 0 : 1;
    }

    private CycleUsage measure(CycleLoad load, long warmupNs) throws IOException, InterruptedException {
        phase = PhaseTimes.WARM_UP;
        long startNs = System.nanoTime();
        fromNs = startNs + warmupNs;
        toNs = fromNs + options.measuredNs();
        SendSchedule schedule = isOpen
                ? SendSchedule.of(startNs, options.rate(), warmupNs + options.measuredNs())
                : null;
        load.begin(schedule);
        Pacer pacer = isOpen ? new Pacer(new Sends(load, schedule), schedule.periodNs()) : null;
        if (pacer != null) {
            pacer.start();
        }
        awaitUntil(fromNs);
        CycleUsage before = CycleUsage.now(options.serverPids(), loopNamePrefix);
        phase = PhaseTimes.MEASURED;
        awaitUntil(toNs);
        phase = PhaseTimes.AFTER;
        CycleUsage used = CycleUsage.now(options.serverPids(), loopNamePrefix).since(before);
        if (pacer != null) {
            checkRate(load.unfinished(System.nanoTime()), schedule);
            if (failureCount.sum() > 0) {
                pacer.stop();
            }
            pacer.awaitEnd();
        }
        load.end(failureCount.sum() > 0);
        return used;
    }

    /** Returns early after a failure. */
    private void awaitUntil(long untilNs) throws InterruptedException {
        failed.await(untilNs - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    private void checkRate(long unfinished, SendSchedule schedule) {
        double intended = options.rate() * options.measuredNs() / 1e9;
        long unfinishedMax = schedule.unfinishedMax(intended, Duration.ZERO);
        if (unfinished > unfinishedMax) {
            fail(String.format(Locale.ROOT, "missed the rate: of %.0f cycles intended to start, %d had not ended at "
                    + "the end of the time (at most %d may be unfinished); use a lower rate or more "
                    + "outstanding", intended,
                    unfinished, unfinishedMax));
        }
    }

    private void report(CycleUsage used, PrintWriter out) {
        CycleTimes all = CycleTimes.empty();
        allTimes.forEach(times -> all.add(times.of(PhaseTimes.MEASURED)));
        double count = all.cycles().getTotalCount();
        if (count == 0) {
            if (failureCount.sum() == 0) {
                fail("no cycle ended in the measured time");
            }
            return;
        }
        double perSecond = count / (isOpen ? options.measuredNs() : used.ns()) * 1e9;
        out.printf(Locale.ROOT, "%-28s n=%d out=%-3d %9.0f cycles/s  acquire %s us  cycle %s us"
                + "  client cpu %.2f us (loops %.2f)  servers %.2f us  heap %.1f B  other cores %.2f%s%s%n",
                label, options.addresses().length, options.outstanding(), perSecond, percentiles(all.acquires()),
                percentiles(all.cycles()), used.clientNs() / 1e3 / count, used.loopsNs() / 1e3 / count,
                used.serversNs() / 1e3 / count, used.heapBytes() / count, used.otherCores(), rate(all.lates()),
                shares(count));
        out.flush();
    }

    private String rate(Histogram lates) {
        return isOpen
                ? String.format(Locale.ROOT, "  rate %.0f/s, begun late p50 %.1f p99 %.1f us", options.rate(),
                        us(lates, 50), us(lates, 99))
                : "";
    }

    /** The shares of several loops. */
    private String shares(double count) {
        return loopTimes.size() < 2
                ? ""
                : loopTimes.stream()
                        .map(times -> String.format(Locale.ROOT, "%.0f %%",
                                100 * times.of(PhaseTimes.MEASURED).cycles().getTotalCount() / count))
                        .collect(Collectors.joining(", ", "  by loop ", ""));
    }

    private static String percentiles(Histogram histogram) {
        return String.format(Locale.ROOT, "p50 %.1f p99 %.1f p99.9 %.1f max %.0f", us(histogram, 50),
                us(histogram, 99), us(histogram, 99.9), histogram.getMaxValue() / 1e3);
    }

    private static double us(Histogram histogram, double percentile) {
        return histogram.getValueAtPercentile(percentile) / 1e3;
    }

    /** Records the cycles of one lane. */
    CycleRecorder newRecorder() {
        return new LaneTimes();
    }

    /**
     * The lane's cycles in the times of the thread that runs it, which is always the same.
     *
     * @threading any thread; one call at a time
     */
    private final class LaneTimes implements CycleRecorder {
        private PhaseTimes times;

        @Override
        public void onStarted(long intendedNs, long nowNs) {
            CycleTimes.record(CycleMeter.this.times().of(phaseOf(intendedNs)).lates(), nowNs - intendedNs);
        }

        @Override
        public void onAcquired(long startNs) {
            long nowNs = System.nanoTime();
            CycleTimes.record(timesOf(startNs).acquires(), nowNs - startNs);
        }

        @Override
        public long onReleased(long startNs) {
            long nowNs = System.nanoTime();
            CycleTimes.record(timesOf(startNs).cycles(), nowNs - startNs);
            return nowNs;
        }

        private CycleTimes timesOf(long startNs) {
            if (times == null) {
                times = CycleMeter.this.times();
            }
            return times.of(phaseOf(startNs));
        }
    }

    /**
     * Starts the cycles of an open loop, and tries again soon where no slot was free.
     *
     * @threading caller-confined to the pacing thread
     */
    private static final class Sends implements Pacer.Target {
        private final CycleLoad load;
        private final SendSchedule schedule;
        private boolean isBehind;
        private long due;

        Sends(CycleLoad load, SendSchedule schedule) {
            this.load = load;
            this.schedule = schedule;
        }

        @Override
        public boolean onDue(long nowNs) {
            isBehind = load.onDue(nowNs);
            due = schedule.due(nowNs);
            return isBehind || due < schedule.total();
        }

        @Override
        public long nextNs() {
            return isBehind ? System.nanoTime() + BACKLOG_NS : schedule.intendedNs(due);
        }
    }
}
