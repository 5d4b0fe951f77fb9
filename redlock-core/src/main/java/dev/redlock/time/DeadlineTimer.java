package dev.redlock.time;

/**
 * A timer that is linked into a {@link TimerWheel} itself, so that starting and stopping it allocates nothing.
 *
 * @threading event-loop-confined
 */
public final class DeadlineTimer {

    /**
     * What happens at the deadline.
     *
     * @threading event-loop-confined
     */
    @FunctionalInterface
    public interface Handler {
        /**
         * The deadline has passed; the timer is stopped and may be started again from here.
         *
         * @param nowNs monotonic now
         */
        void onDeadline(long nowNs);
    }

    final Handler handler;
    DeadlineTimer previous;
    DeadlineTimer next;
    /** Where it stands, also for a while after it was stopped. */
    TimerList list;
    /** The deadline that its place was chosen for: it is found there no later than that. */
    long placedNs;
    long deadlineNs;
    boolean isStarted;

    /**
     * A stopped timer.
     *
     * @param handler called once each time a deadline passes
     */
    public DeadlineTimer(final Handler handler) {
        this.handler = handler;
    }

    /** @return true between start and the deadline or stop */
    public boolean isStarted() {
        return isStarted;
    }

    /** @return the deadline it was last started with, monotonic nanoseconds */
    public long deadlineNs() {
        return deadlineNs;
    }
}
