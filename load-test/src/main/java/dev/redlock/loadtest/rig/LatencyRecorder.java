package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.OperationResult;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.IntervalHistogramProvider;
import org.HdrHistogram.Recorder;
import org.HdrHistogram.SingleWriterRecorder;
import org.HdrHistogram.ValueRecorder;

/**
 * Latencies of one operation, over time and in all. Each thread writes to memory of its own, so that the threads of a
 * client do not delay each other.
 *
 * @threading any thread records; the thread that runs the rig does the rest
 */
final class LatencyRecorder {
    private static final long HIGHEST_NS = TimeUnit.MINUTES.toNanos(10);
    private static final int DIGITS = 3;
    /** Plain histograms resolve half a microsecond: a finer one would touch more of the cache at each latency. */
    private static final long LOWEST_NS = 1_000;
    /** More threads share a recorder: each one of its own takes half a megabyte. */
    private static final int WRITERS_MAX = 16;

    private final String operation;
    private final boolean isSeries;
    private final ThreadLocal<Writer> ownWriter = ThreadLocal.withInitial(this::newWriter);
    private final List<Writer> writers = new CopyOnWriteArrayList<>();
    private final Histogram total = new Histogram(1, HIGHEST_NS, DIGITS);
    private final Histogram interval = new Histogram(1, HIGHEST_NS, DIGITS);
    private final List<Interval> intervals = new ArrayList<>();

    /**
     * The memory of one thread, or of several.
     *
     * @threading any thread records; the thread that runs the rig does the rest
     */
    static final class Writer {
        private final String thread = Thread.currentThread().getName();
        /** For the latencies that count, and for those outside the recorded time. */
        private final ValueRecorder[] recorders;
        private Histogram used;
        private long count;

        Writer(ValueRecorder counted, ValueRecorder other) {
            recorders = new ValueRecorder[]{counted, other};
        }

        /**
         * Records a latency. Those outside the recorded time are recorded too, apart from the others: code that first
         * runs at the start of the recorded time would be compiled in it.
         *
         * @param outside 0 if it counts, otherwise 1
         */
        void record(int outside, long latencyNs) {
            recorders[outside].recordValue(Math.min(HIGHEST_NS, Math.max(0, latencyNs)));
        }

        /** A plain histogram is read once, after its thread has stopped. */
        @SuppressWarnings("unchecked")
        Histogram take() {
            used = recorders[0] instanceof Histogram plain
                    ? plain
                    : ((IntervalHistogramProvider<Histogram>) recorders[0]).getIntervalHistogram(used);
            count += used.getTotalCount();
            return used;
        }
    }

    /** Of a series, {@link #rotate} is called while threads record; otherwise it is called once, at the end. */
    LatencyRecorder(String operation, boolean isSeries) {
        this.operation = operation;
        this.isSeries = isSeries;
    }

    private synchronized Writer newWriter() {
        if (writers.size() > WRITERS_MAX) {
            return writers.get(WRITERS_MAX);
        }
        Writer added = writers.size() == WRITERS_MAX
                ? new Writer(new Recorder(1, HIGHEST_NS, DIGITS), new Recorder(1, HIGHEST_NS, 1))
                : new Writer(newRecorder(DIGITS), newRecorder(1));
        writers.add(added);
        return added;
    }

    private ValueRecorder newRecorder(int digits) {
        return isSeries
                ? new SingleWriterRecorder(1, HIGHEST_NS, digits)
                : new Histogram(LOWEST_NS, HIGHEST_NS, digits);
    }

    String operation() {
        return operation;
    }

    /** The memory of the calling thread. */
    Writer writer() {
        return ownWriter.get();
    }

    void rotate(long offsetMs, long lengthMs, IntervalLog log) {
        interval.reset();
        writers.forEach(one -> interval.add(one.take()));
        Interval point = Interval.of(offsetMs, lengthMs, interval);
        total.add(interval);
        intervals.add(point);
        log.append(operation, point, interval);
    }

    long count() {
        return total.getTotalCount();
    }

    /** The number of latencies by thread, in the order of their first one. */
    Map<String, Long> countByThread() {
        Map<String, Long> counts = new LinkedHashMap<>();
        writers.forEach(one -> counts.merge(one.thread, one.count, Long::sum));
        return counts;
    }

    OperationResult result() {
        return new OperationResult(total, intervals);
    }
}
