package dev.redlock.loadtest.result;

import java.io.Serializable;
import org.HdrHistogram.Histogram;

/**
 * One point of a time series of latencies.
 *
 * @param offsetMs its start, from the start of the run
 * @param p50Us    median; 0 if there was none
 * @threading immutable
 */
public record Interval(long offsetMs, long lengthMs, long count, double p50Us, double p99Us,
        double maxUs) implements Serializable {
    private static final double NS_PER_US = 1e3;

    public static Interval of(long offsetMs, long lengthMs, Histogram histogram) {
        return new Interval(offsetMs, lengthMs, histogram.getTotalCount(),
                histogram.getValueAtPercentile(50) / NS_PER_US, histogram.getValueAtPercentile(99) / NS_PER_US,
                histogram.getMaxValue() / NS_PER_US);
    }
}
