package dev.redlock.jmh.lock;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts the cycles of one event loop. Only that loop writes, a cache line away from everything else, so that two loops
 * share nothing but the client.
 *
 * @threading any thread reads; the event loop writes
 */
final class CycleCounter implements CycleRecorder {
    private static final int COUNTER = 16;

    private final AtomicLongArray counters = new AtomicLongArray(2 * COUNTER);

    long count() {
        return counters.getOpaque(COUNTER);
    }

    @Override
    public void onStarted(long intendedNs, long nowNs) {
        // Closed loops only.
    }

    @Override
    public void onAcquired(long startNs) {
        // Cycles are counted when they end.
    }

    @Override
    public long onReleased(long startNs) {
        counters.setOpaque(COUNTER, counters.getPlain(COUNTER) + 1);
        return 0;
    }
}
