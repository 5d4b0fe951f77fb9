package dev.redlock.jmh.lock;

/**
 * Cycles on nodes, begun and ended by a {@link CycleMeter}, which they tell what they took.
 *
 * @threading any thread
 */
interface CycleLoad {

    /**
     * Begins, for the first time or again after the end.
     *
     * @param schedule when which cycle is to begin; null for a closed loop, in which each begins when the one before it
     *                 in its slot has ended
     */
    void begin(SendSchedule schedule);

    /**
     * Begins what is due by the schedule, as far as slots are free.
     *
     * @return true if something is due that found no slot, and this has to be called again for it
     */
    boolean onDue(long nowNs);

    /** How many cycles are due by the schedule and have not ended. */
    long unfinished(long nowNs);

    /**
     * Begins nothing more but what is due by the schedule. Returns when all has ended.
     *
     * @param isDropping whether what is due and has not begun is given up
     */
    void end(boolean isDropping) throws InterruptedException;
}
