package dev.redlock.node;

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

    /**
     * Counters that are all zero.
     *
     * @param length their number
     */
    public Counters(int length) {
        this.counts = new long[length];
    }

    /**
     * Adds to a counter; a current number may fall.
     *
     * @param counter its index
     * @param change  what to add
     */
    public final void add(int counter, long change) {
        COUNTS.setOpaque(counts, counter, counts[counter] + change);
    }

    /**
     * Sets a counter.
     *
     * @param counter its index
     * @param value   its new value
     */
    public final void set(int counter, long value) {
        COUNTS.setOpaque(counts, counter, value);
    }

    /**
     * A recent value.
     *
     * @param counter its index
     * @return the count
     */
    public final long read(int counter) {
        return (long) COUNTS.getOpaque(counts, counter);
    }
}
