package dev.redlock.loadtest.result;

import org.HdrHistogram.Histogram;

/**
 * Writes the histograms of a series to disk as they are made, so that a long run does not keep them in memory.
 *
 * @threading caller-confined
 */
public interface IntervalLog extends AutoCloseable {
    IntervalLog NONE = new IntervalLog() {
        @Override
        public void append(String operation, Interval interval, Histogram histogram) {
            // Writes nothing.
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    };

    void append(String operation, Interval interval, Histogram histogram);

    /** Flushes and closes the files. */
    @Override
    void close();
}
