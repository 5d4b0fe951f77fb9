package dev.redlock.jmh.lock;

/**
 * Records the cycles of {@link CycleLanes}. Start times are values that {@link #onReleased} has returned, or intended
 * times of an open loop.
 *
 * @threading any thread; one call at a time for each lane
 */
interface CycleRecorder {
    /** A cycle of an open loop has started. */
    void onStarted(long intendedNs, long nowNs);

    /** The lock is held. */
    void onAcquired(long startNs);

    /**
     * The lock is released.
     *
     * @return now, the start time of the next cycle of a closed loop; 0 from a recorder without a clock
     */
    long onReleased(long startNs);
}
