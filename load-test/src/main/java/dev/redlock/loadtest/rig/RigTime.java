package dev.redlock.loadtest.rig;

import java.util.concurrent.CountDownLatch;

/**
 * The clock and all waits of a rig, so that a test can replace them with virtual time.
 *
 * @threading any thread
 */
interface RigTime extends AutoCloseable {
    /** The monotonic clock. */
    long nowNs();

    /**
     * Waits for a latch.
     *
     * @param deadlineNs the deadline, on the clock of {@link #nowNs}
     * @return whether the latch is open; false at the deadline
     * @throws InterruptedException if interrupted
     */
    boolean await(CountDownLatch latch, long deadlineNs) throws InterruptedException;

    /**
     * Runs a task after a delay, exact to a tenth of a millisecond.
     *
     * @param task    short, does not block
     * @param delayNs from now
     */
    void schedule(Runnable task, long delayNs);

    /**
     * Calls a target at its exact times, on a thread that does nothing else.
     *
     * @param target   called at each of its times
     * @param periodNs from one to the next
     */
    void pace(Pacer.Target target, double periodNs);

    /** Stops the pacer and discards scheduled tasks. */
    @Override
    void close();
}
