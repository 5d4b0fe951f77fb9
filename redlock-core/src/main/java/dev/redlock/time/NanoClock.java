package dev.redlock.time;

/**
 * A monotonic clock. Values may be negative and may wrap: compare two of them by subtraction only.
 *
 * @threading any thread
 */
@FunctionalInterface
public interface NanoClock {

    /** It is not known how long the machine was suspended. */
    long UNKNOWN = Long.MIN_VALUE;

    /** The unit in which the system counts the time of suspends. */
    long SLEPT_UNIT_NS = 10_000_000;

    /** By how much the difference of two values of {@link #sleptNs} may be wrong. */
    long SLEPT_ERROR_NS = SLEPT_UNIT_NS + 1_000_000;

    /** @return nanoseconds since an arbitrary, fixed moment */
    long nanoTime();

    /**
     * Reads for how long the machine was suspended, while this clock stood still. It may read a file of the kernel.
     *
     * @return nanoseconds, of which only differences have a meaning; or {@link #UNKNOWN}
     */
    default long sleptNs() {
        return UNKNOWN;
    }

    /** @return the machine's monotonic clock; nothing else of the library reads it */
    static NanoClock system() {
        return SystemClock.INSTANCE;
    }
}
