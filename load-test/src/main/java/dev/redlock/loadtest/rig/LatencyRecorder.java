package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.OperationResult;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Latencies of one operation, over time and in all.
 *
 * @threading any thread records; the thread that runs the rig does the rest
 */
final class LatencyRecorder {
    private static final long HIGHEST_NS = TimeUnit.MINUTES.toNanos(10);
    private static final int DIGITS = 3;

    private final String operation;
    private final Recorder recorder = new Recorder(1, HIGHEST_NS, DIGITS);
    private final Histogram total = new Histogram(1, HIGHEST_NS, DIGITS);
    private final List<Interval> intervals = new ArrayList<>();
    private Histogram used;

    LatencyRecorder(String operation) {
        this.operation = operation;
    }

    String operation() {
        return operation;
    }

    void record(long latencyNs) {
        recorder.recordValue(Math.min(HIGHEST_NS, Math.max(0, latencyNs)));
    }

    /** Ends an interval. */
    void rotate(long offsetMs, long lengthMs, IntervalLog log) {
        used = recorder.getIntervalHistogram(used);
        Interval interval = Interval.of(offsetMs, lengthMs, used);
        total.add(used);
        intervals.add(interval);
        log.append(operation, interval, used);
    }

    long count() {
        return total.getTotalCount();
    }

    OperationResult result() {
        return new OperationResult(total, intervals);
    }
}
