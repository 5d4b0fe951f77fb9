package dev.redlock.telemetry;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An array of counters. One thread writes, any thread reads; a read returns a recent value. Neither allocates nor
 * blocks.
 *
 * @threading any thread may read
 */
public class Counters {

    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts;

    /** So many counters, all zero. */
    public Counters(int length) {
        this.counts = new long[length];
    }

    /** Adds to the counter with an index; a current number may fall. */
    public final void add(int counter, long change) {
        COUNTS.setOpaque(counts, counter, counts[counter] + change);
    }

    /** Sets the counter with an index. */
    public final void set(int counter, long value) {
        COUNTS.setOpaque(counts, counter, value);
    }

    /** A recent value of the counter with an index. */
    public final long read(int counter) {
        return (long) COUNTS.getOpaque(counts, counter);
    }
}
