package dev.redlock.time;

import java.util.function.LongConsumer;

/**
 * Timers for near and far deadlines. Start and stop are O(1), and allocate only if more timers are in the wheel than
 * ever before.
 *
 * <p>Most timers of a lock are stopped long before their deadlines. So a stopped timer keeps its place until the wheel
 * reaches it, and a timer that is started again for a later time keeps its place until then. Both are a few plain
 * stores. Places change about twenty times a second for each timer instead of twice for each lock; {@link TimerSpokes}
 * has them. Agrona's wheel needs a map of timer ids, 60 to 220 ns instead of 4 to 8, and has no next deadline.
 *
 * <p>Guarantees: a handler is never called before its deadline; each start causes at most one call. Assumption: {@link
 * #poll} is called at or after {@link #wakeAtNs}; a handler is as late as that call.
 *
 * @threading event-loop-confined
 */
public final class TimerWheel extends TimerSpokes {

    /** Gets the deadline of each start before {@link #wakeNs}, so that the loop wakes up in time. */
    private final LongConsumer startListener;
    /** The loop wakes up at this time, if it is set. */
    long wakeNs;
    boolean isWakeSet;

    /** An empty wheel; all later times are at or after this one. The listener gets each start. */
    public TimerWheel(long nowNs, LongConsumer startListener) {
        super(nowNs);
        this.startListener = startListener;
    }

    /** Starts a timer, or moves it to another deadline, monotonic; one in the past is due at the next poll. */
    public void start(DeadlineTimer timer, long deadlineNs) {
        if (timer.place == TimerPlaces.NONE || deadlineNs - timer.placedNs < 0) {
            place(timer, deadlineNs);
        }
        timer.deadlineNs = deadlineNs;
        if (!timer.isStarted) {
            timer.isStarted = true;
            startedCount++;
        }
        if (!isWakeSet || deadlineNs - wakeNs < 0) {
            startListener.accept(deadlineNs);
        }
    }

    /** Stops a timer; nothing happens if it is not started. */
    public void stop(DeadlineTimer timer) {
        if (timer.isStarted) {
            timer.isStarted = false;
            startedCount--;
        }
    }
}
