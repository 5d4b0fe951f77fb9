package dev.redlock.node;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The counters of one node. One thread writes, any thread reads. A read returns a recent value and allocates nothing.
 *
 * @threading any thread
 */
public final class NodeStatistics {

    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts = new long[NodeCounter.values().length];

    NodeStatistics() {
        // all zero
    }

    void add(NodeCounter counter) {
        COUNTS.setOpaque(counts, counter.ordinal(), counts[counter.ordinal()] + 1);
    }

    void set(NodeCounter counter, long value) {
        COUNTS.setOpaque(counts, counter.ordinal(), value);
    }

    /**
     * A recent value.
     *
     * @param counter which one
     * @return the count
     */
    public long read(NodeCounter counter) {
        return (long) COUNTS.getOpaque(counts, counter.ordinal());
    }
}
