package dev.redlock.engine;

/**
 * Counts consecutive local handoffs: leases on one resource that one waiter of this client hands to the next. The
 * streak belongs to the lease while it is held, then to the queue until the attempt of the next waiter has ended.
 *
 * <p>During a streak, other clients rarely get the lock, because an acquire follows each release immediately. So a
 * streak ends with a pause that leaves the lock free for them. The pause may be idle time, so only a long streak ends
 * with one.
 *
 * @threading event-loop-confined
 */
final class HandoffStreak {

    /** A streak lasts at least ten times its pause, so that pauses take at most a tenth of the time. */
    private static final int PAUSE_MULTIPLE = 10;
    private static final long NOT_DRAWN = -1;

    private int handoffCount;
    private long startNs;
    private long pauseNs;

    /** Starts with the first lease of a streak. */
    void start(long nowNs) {
        end();
        startNs = nowNs;
    }

    /** Takes over the state of another streak. */
    void continueFrom(HandoffStreak streak) {
        handoffCount = streak.handoffCount;
        startNs = streak.startNs;
        pauseNs = streak.pauseNs;
    }

    /** Ends the streak: the next lease starts a new one. */
    void end() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
    }

    void onHandoff() {
        handoffCount++;
    }

    int handoffCount() {
        return handoffCount;
    }

    /** The random pause is drawn once for a streak, because the shortest of many draws would win. */
    boolean hasPause() {
        return pauseNs != NOT_DRAWN;
    }

    void setPause(long newPauseNs) {
        pauseNs = newPauseNs;
    }

    long pauseNs() {
        return pauseNs;
    }

    boolean isLongEnoughToPause(long nowNs) {
        return (nowNs - startNs) / PAUSE_MULTIPLE >= pauseNs;
    }
}
