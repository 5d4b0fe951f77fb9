package dev.redlock.time;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Converts the durations of the public API to the integers of the engine, and rejects durations out of range.
 *
 * @threading any thread
 */
public final class Durations {

    private Durations() {
    }

    /**
     * Whole milliseconds of a duration.
     *
     * @param  name                     the option or argument, for the error message
     * @param  duration                 at least a millisecond; longer than the range of a long counts as the maximum
     * @return                          milliseconds, 1 or more
     * @throws IllegalArgumentException if it is shorter than a millisecond
     * @throws NullPointerException     if it is null
     */
    public static long millisOf(String name, Duration duration) {
        Objects.requireNonNull(duration, () -> name + " is null: give a duration");
        if (duration.isNegative() || millis(duration) == 0) {
            throw new IllegalArgumentException(name + " " + duration + " is too short: at least 1 ms is needed");
        }
        return millis(duration);
    }

    /**
     * Nanoseconds of a duration.
     *
     * @param  name                     the option or argument, for the error message
     * @param  duration                 zero or more; longer than the range of a long counts as the maximum
     * @return                          nanoseconds, 0 or more
     * @throws IllegalArgumentException if it is negative
     * @throws NullPointerException     if it is null
     */
    public static long nanosOf(String name, Duration duration) {
        Objects.requireNonNull(duration, () -> name + " is null: give a duration");
        if (duration.isNegative()) {
            throw new IllegalArgumentException(name + " " + duration + " is negative: give zero or more");
        }
        return saturatedNanos(duration);
    }

    private static long millis(Duration duration) {
        return TimeUnit.NANOSECONDS.toMillis(saturatedNanos(duration));
    }

    private static long saturatedNanos(Duration duration) {
        return duration.getSeconds() >= Long.MAX_VALUE / 1_000_000_000 ? Long.MAX_VALUE : duration.toNanos();
    }

    /** A time in seconds with one decimal, or in milliseconds below one second. */
    public static String textOf(long ns) {
        long ms = (ns + 500_000) / 1_000_000;
        return ms < 1_000 ? ms + " ms" : ms / 1_000 + "." + ms % 1_000 / 100 + " s";
    }
}
