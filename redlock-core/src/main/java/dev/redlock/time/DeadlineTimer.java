package dev.redlock.time;

import java.util.function.LongConsumer;

/**
 * A timer of a {@link TimerWheel}. It knows its place in the wheel, so start and stop need no search.
 *
 * @threading event-loop-confined
 */
public final class DeadlineTimer {

    final LongConsumer handler;
    /** Its place in the wheel, also for a while after a stop; {@link TimerPlaces#NONE} if it has none. */
    int place = TimerPlaces.NONE;
    /** The deadline that the place was chosen for: the wheel finds the timer by this time. */
    long placedNs;
    long deadlineNs;
    boolean isStarted;

    /**
     * A stopped timer.
     *
     * @param handler gets the monotonic time after each deadline; the timer is stopped then, and it may start it again
     */
    public DeadlineTimer(LongConsumer handler) {
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
