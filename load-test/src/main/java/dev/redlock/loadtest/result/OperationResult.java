package dev.redlock.loadtest.result;

import java.io.Serializable;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * The latencies of one operation of one series.
 *
 * @param histogram nanoseconds, of the whole recorded time; not to be changed
 * @threading immutable
 */
public record OperationResult(Histogram histogram, List<Interval> intervals) implements Serializable {
    /** A percentile, 0 to 100, in microseconds; 0 if nothing was recorded. */
    public double us(double percentile) {
        return histogram.getValueAtPercentile(percentile) / 1e3;
    }
}
