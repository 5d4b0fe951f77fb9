package dev.redlock.loadtest.rig;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Latencies of one operation. Nothing is recorded until it is opened.
 *
 * @threading any thread
 */
final class LatencyRecorder {
    private static final long HIGHEST_NS = TimeUnit.MINUTES.toNanos(10);

    private final Recorder recorder = new Recorder(1, HIGHEST_NS, 3);
    private volatile boolean isOpen;

    void open() {
        isOpen = true;
    }

    void close() {
        isOpen = false;
    }

    void record(long latencyNs) {
        if (isOpen) {
            recorder.recordValue(Math.min(HIGHEST_NS, Math.max(0, latencyNs)));
        }
    }

    Histogram histogram() {
        return recorder.getIntervalHistogram();
    }
}
