package dev.redlock.loadtest.result;

import org.HdrHistogram.Histogram;

/**
 * Keeps the histograms of a series as they are made, so that a long run holds none of them in memory.
 *
 * @threading caller-confined
 */
public interface IntervalLog extends AutoCloseable {
    /** Keeps nothing. */
    IntervalLog NONE = new IntervalLog() {
        @Override
        public void append(String operation, Interval interval, Histogram histogram) {
            // Nobody asked.
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    };

    /**
     * One interval is over.
     *
     * @param operation which operation
     * @param interval  when
     * @param histogram nanoseconds; borrowed during the call
     */
    void append(String operation, Interval interval, Histogram histogram);

    /** Writes out what is left. */
    @Override
    void close();
}
