package dev.redlock.loadtest.rig;

import java.time.Duration;

/**
 * The times at which the cycles of an open loop are meant to start.
 *
 * @param startNs  the first, on the clock of {@link System#nanoTime}
 * @threading immutable
 */
public record SendSchedule(long startNs, double periodNs, long total) {
    /** An open loop may end with this share of its cycles unfinished, beside those of {@link #UNFINISHED_SPAN_MAX}. */
    private static final double UNFINISHED_SHARE_MAX = 0.01;
    private static final Duration UNFINISHED_SPAN_MAX = Duration.ofMillis(100);

    /** A schedule that fills a span of time; at least one cycle. */
    public static SendSchedule of(long startNs, double ratePerSecond, long spanNs) {
        double periodNs = 1e9 / ratePerSecond;
        return new SendSchedule(startNs, periodNs, Math.max(1, (long) Math.ceil(spanNs / periodNs)));
    }

    /** The time at which a cycle is meant to start, on the clock of {@link System#nanoTime}. */
    public long intendedNs(long send) {
        return startNs + (long) (send * periodNs);
    }

    /** The number of cycles that are meant to start in a span from the start of the schedule. */
    long intendedWithin(long spanNs) {
        return Math.min(total, (long) Math.ceil(spanNs / periodNs));
    }

    /**
     * The most cycles that may be unfinished at the end of a rate that was kept: a hundredth of all, and the cycles of
     * a tenth of a second.
     */
    public long unfinishedMax(double intended, Duration cycleMax) {
        return (long) Math.ceil(
                intended * UNFINISHED_SHARE_MAX + UNFINISHED_SPAN_MAX.plus(cycleMax).toNanos() / periodNs);
    }
}
