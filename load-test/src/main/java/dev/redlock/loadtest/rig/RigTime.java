package dev.redlock.loadtest.rig;

import java.util.concurrent.CountDownLatch;

/**
 * Every clock and every wait of a rig, so that a test can put a virtual one in its place.
 *
 * @threading any thread
 */
interface RigTime extends AutoCloseable {
    /** The monotonic clock. */
    long nowNs();

    /**
     * Waits for a latch.
     *
     * @param latch      what to wait for
     * @param deadlineNs how long, on {@link #nowNs}
     * @return whether the latch is open; false when the time is up
     * @throws InterruptedException if interrupted
     */
    boolean await(CountDownLatch latch, long deadlineNs) throws InterruptedException;

    /**
     * Runs a task later, give or take a tenth of a millisecond.
     *
     * @param task    short, does not block
     * @param delayNs from now
     */
    void schedule(Runnable task, long delayNs);

    /**
     * Runs the pacer of an open loop at its exact times, on a thread that does nothing else.
     *
     * @param pacer    called at each of its times
     * @param periodNs from one to the next
     */
    void pace(Pacer pacer, long periodNs);

    /** Ends what runs and forgets what is scheduled. */
    @Override
    void close();

    /**
     * Sends what is due.
     *
     * @threading caller-confined to the pacing thread
     */
    interface Pacer {
        /**
         * Time has come.
         *
         * @param nowNs now
         * @return whether there is more to send
         */
        boolean onDue(long nowNs);

        /**
         * When to call next.
         *
         * @return a time on {@link RigTime#nowNs}; of no meaning when there is nothing more to send
         */
        long nextNs();
    }
}
