package dev.redlock.time;

/**
 * A monotonic clock. Values may be negative and may wrap: compare two of them by subtraction only.
 *
 * @threading any thread
 */
@FunctionalInterface
public interface NanoClock {

    /** @return nanoseconds since an arbitrary, fixed moment */
    long nanoTime();

    /** @return the machine's monotonic clock; only this method of the library reads it */
    static NanoClock system() {
        return System::nanoTime;
    }
}
