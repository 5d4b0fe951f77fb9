package dev.redlock.time;

/**
 * A timer of a {@link TimerWheel}. It knows its place in the wheel, so start and stop need no search.
 *
 * @threading event-loop-confined
 */
public final class DeadlineTimer {

    /**
     * Called at the deadline.
     *
     * @threading event-loop-confined
     */
    @FunctionalInterface
    public interface Handler {
        /**
         * The deadline has passed; the timer is stopped, and the handler may start it again.
         *
         * @param nowNs monotonic now
         */
        void onDeadline(long nowNs);
    }

    final Handler handler;
    /** Its place in the wheel, also for a while after a stop; {@link TimerPlaces#NONE} if it has none. */
    int place = TimerPlaces.NONE;
    /** The deadline that the place was chosen for: the wheel finds the timer by this time. */
    long placedNs;
    long deadlineNs;
    boolean isStarted;

    /**
     * A stopped timer.
     *
     * @param handler called once each time a deadline passes
     */
    public DeadlineTimer(Handler handler) {
        this.handler = handler;
    }

    /** @return true between start and the deadline or stop */
    public boolean isStarted() {
        return isStarted;
    }

    /** @return the deadline of the last start, monotonic nanoseconds */
    public long deadlineNs() {
        return deadlineNs;
    }
}
