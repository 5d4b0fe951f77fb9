package dev.redlock.jmh.lock;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;

/**
 * Runs a load for as long as asked and prints one line of figures, so that all programs that measure cycles measure and
 * print in the same way. A closed loop counts what ends in the measured time; an open loop what was meant to begin in
 * it, even if it ends later. A failure ends the run.
 *
 * @threading any thread; {@link #run} once
 */
final class CycleMeter {

    /** What may be under way when an open loop ends: a hundredth of it, and what comes in a tenth of a second. */
    private static final double UNFINISHED_SHARE_MAX = 0.01;
    private static final double UNFINISHED_SECONDS_MAX = 0.1;

    /** What comes before the measured time of a turn: all lanes are under way then. */
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
     * @param label          what stands in the first column, unless the options say otherwise
     * @param loopNamePrefix how the names of the event loops' threads begin
     */
    CycleMeter(final CycleOptions options, final String label, final String loopNamePrefix) {
        this.options = options;
        this.label = options.label(label);
        this.loopNamePrefix = loopNamePrefix;
        this.isOpen = options.isOpen();
    }

    private PhaseTimes newTimes() {
        final PhaseTimes times = new PhaseTimes();
        allTimes.add(times);
        if (Thread.currentThread().getName().startsWith(loopNamePrefix)) {
            loopTimes.add(times);
        }
        return times;
    }

    /** Where the calling thread writes down what it sees. */
    PhaseTimes times() {
        return timesOfThread.get();
    }

    /** Where something belongs that began, or was meant to begin, at that time and ends now. */
    int phaseOf(final long startNs) {
        if (!isOpen) {
            return phase;
        }
        if (startNs - fromNs < 0) {
            return PhaseTimes.WARM_UP;
        }
        return startNs - toNs < 0 ? PhaseTimes.MEASURED : PhaseTimes.AFTER;
    }

    /** Something went wrong: the run is over and has failed. */
    void fail(final String what) {
        failureCount.increment();
        synchronized (firstFailures) {
            if (firstFailures.size() < 3 && !firstFailures.contains(what)) {
                firstFailures.add(what);
            }
        }
        failed.countDown();
    }

    /**
     * Runs the load and prints its figures, once, or in turns if the options say so.
     *
     * @param turns each line asks for a turn
     * @param out   where to
     * @return the exit code: 0, or 1 if anything failed or the rate was missed
     * @throws IOException          if the kernel's figures cannot be read
     * @throws InterruptedException if the thread is interrupted
     */
    int run(final CycleLoad load, final InputStream turns, final PrintWriter out)
            throws IOException, InterruptedException {
        final CycleUsage used = measure(load, options.warmupNs());
        if (!options.isInTurns()) {
            report(used, out);
        } else if (failureCount.sum() == 0) {
            out.println("ready");
            out.flush();
            final BufferedReader lines = new BufferedReader(new InputStreamReader(turns, StandardCharsets.UTF_8));
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

    private CycleUsage measure(final CycleLoad load, final long warmupNs) throws IOException, InterruptedException {
        phase = PhaseTimes.WARM_UP;
        final long startNs = System.nanoTime();
        fromNs = startNs + warmupNs;
        toNs = fromNs + options.measuredNs();
        final SendSchedule schedule = schedule(startNs, warmupNs);
        load.begin(schedule);
        final Pacer pacer = isOpen ? new Pacer(load, schedule) : null;
        if (pacer != null) {
            pacer.start();
        }
        awaitUntil(fromNs);
        final CycleUsage before = CycleUsage.now(options.serverPids(), loopNamePrefix);
        phase = PhaseTimes.MEASURED;
        awaitUntil(toNs);
        phase = PhaseTimes.AFTER;
        final CycleUsage used = CycleUsage.now(options.serverPids(), loopNamePrefix).since(before);
        if (pacer != null) {
            checkRate(load.unfinished(System.nanoTime()));
            if (failureCount.sum() > 0) {
                pacer.stop();
            }
            pacer.awaitEnd();
        }
        load.end(failureCount.sum() > 0);
        return used;
    }

    private SendSchedule schedule(final long startNs, final long warmupNs) {
        if (!isOpen) {
            return null;
        }
        final double periodNs = 1e9 / options.rate();
        return new SendSchedule(startNs, periodNs,
                Math.max(1, (long) Math.ceil((warmupNs + options.measuredNs()) / periodNs)));
    }

    /** Ends early when something has failed. */
    private void awaitUntil(final long untilNs) throws InterruptedException {
        failed.await(untilNs - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    private void checkRate(final long unfinished) {
        final double intended = options.rate() * options.measuredNs() / 1e9;
        final double unfinishedMax = Math.ceil(
                intended * UNFINISHED_SHARE_MAX + options.rate() * UNFINISHED_SECONDS_MAX);
        if (unfinished > unfinishedMax) {
            fail(String.format(Locale.ROOT, "missed the rate: of %.0f cycles meant to begin, %d had not ended when the "
                    + "time was up (at most %.0f may be under way); ask for a lower rate or more outstanding", intended,
                    unfinished, unfinishedMax));
        }
    }

    private void report(final CycleUsage used, final PrintWriter out) {
        final CycleTimes all = CycleTimes.empty();
        allTimes.forEach(times -> all.add(times.of(PhaseTimes.MEASURED)));
        final double count = all.cycles().getTotalCount();
        if (count == 0) {
            if (failureCount.sum() == 0) {
                fail("no cycle ended in the measured time");
            }
            return;
        }
        final double perSecond = count / (isOpen ? options.measuredNs() : used.ns()) * 1e9;
        out.printf(Locale.ROOT, "%-28s n=%d out=%-3d %9.0f cycles/s  acquire %s us  cycle %s us"
                + "  client cpu %.2f us (loops %.2f)  servers %.2f us  heap %.1f B  other cores %.2f%s%s%n",
                label, options.addresses().length, options.outstanding(), perSecond, percentiles(all.acquires()),
                percentiles(all.cycles()), used.clientNs() / 1e3 / count, used.loopsNs() / 1e3 / count,
                used.serversNs() / 1e3 / count, used.heapBytes() / count, used.otherCores(), rate(all.lates()),
                shares(count));
        out.flush();
    }

    private String rate(final Histogram lates) {
        return isOpen
                ? String.format(Locale.ROOT, "  rate %.0f/s, begun late p50 %.1f p99 %.1f us", options.rate(),
                        us(lates, 50), us(lates, 99))
                : "";
    }

    /** How the cycles were spread over several loops. */
    private String shares(final double count) {
        return loopTimes.size() < 2
                ? ""
                : loopTimes.stream()
                        .map(times -> String.format(Locale.ROOT, "%.0f %%",
                                100 * times.of(PhaseTimes.MEASURED).cycles().getTotalCount() / count))
                        .collect(Collectors.joining(", ", "  by loop ", ""));
    }

    private static String percentiles(final Histogram histogram) {
        return String.format(Locale.ROOT, "p50 %.1f p99 %.1f p99.9 %.1f max %.0f", us(histogram, 50),
                us(histogram, 99), us(histogram, 99.9), histogram.getMaxValue() / 1e3);
    }

    private static double us(final Histogram histogram, final double percentile) {
        return histogram.getValueAtPercentile(percentile) / 1e3;
    }
}
