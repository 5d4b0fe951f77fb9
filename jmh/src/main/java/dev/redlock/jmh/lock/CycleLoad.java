package dev.redlock.jmh.lock;

import dev.redlock.loadtest.rig.SendSchedule;

/**
 * A load of cycles on nodes. A {@link CycleMeter} starts and ends it, and gets its latencies.
 *
 * @threading any thread
 */
interface CycleLoad {

    /**
     * Starts the load, for the first time or again after its end.
     * @param schedule the start times of the cycles; null for a closed loop, in which each cycle starts at the end of
     *                 the one before it in its slot
     */
    void begin(SendSchedule schedule);

    /**
     * Starts the due cycles of the schedule while slots are free.
     *
     * @return true if a due cycle found no slot, so that the caller must call again
     */
    boolean onDue(long nowNs);

    /** The number of due cycles of the schedule that have not ended. */
    long unfinished(long nowNs);

    /**
     * Ends the load: starts only cycles that are due already. Returns when all cycles have ended.
     *
     * @param isDropping whether to drop due cycles that have not started
     */
    void end(boolean isDropping) throws InterruptedException;
}
