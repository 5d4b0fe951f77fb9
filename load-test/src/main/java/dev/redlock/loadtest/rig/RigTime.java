package dev.redlock.loadtest.rig;

import java.util.concurrent.CountDownLatch;

/**
 * The clock and all waits of a rig, so that a test can replace them with virtual time.
 *
 * @threading any thread
 */
interface RigTime extends AutoCloseable {
    long nowNs();

    /** Waits for a latch; false at the deadline, which is on the clock of {@link #nowNs}. */
    boolean await(CountDownLatch latch, long deadlineNs) throws InterruptedException;

    /** Runs a short task, which does not block, after a delay that is exact to a tenth of a millisecond. */
    void schedule(Runnable task, long delayNs);

    /** Calls a target at its exact times, on a thread that does nothing else. */
    void pace(Pacer.Target target, double periodNs);

    /** Stops the pacer and discards scheduled tasks. */
    @Override
    void close();
}
