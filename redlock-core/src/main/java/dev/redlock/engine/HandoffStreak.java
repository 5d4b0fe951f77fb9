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
    static final int PAUSE_MULTIPLE = 10;
    /** The same for pauses that find out whether other clients want the lock at all. */
    static final int PROBE_MULTIPLE = 100;
    /** A streak without known competitors asks at this interval, in pauses, whether another client has a ticket. */
    private static final int YIELD_MULTIPLE = 20;
    private static final int IDLE_PAUSES_MAX = 32;
    private static final int PAUSE_DOUBLINGS_MAX = 5;
    private static final int PROBE_DOUBLINGS_MAX = 2;
    private static final long NOT_DRAWN = -1;

    private boolean isOfWaiter;
    private int handoffCount;
    /** Other clients probably want the lock: an attempt was refused some streaks ago. */
    private boolean isContended;
    /** Pauses in a row in which no other client came. */
    private int idlePauseCount;
    private long startNs;
    /** When the streak last asked whether another client has a ticket, or its start. */
    private long yieldedNs;
    private long pauseNs;

    /** The lease of a caller that does not wait has no streak. */
    void reset(long nowNs) {
        start(nowNs);
        isContended = false;
        idlePauseCount = 0;
        isOfWaiter = false;
    }

    /** Starts with the first lease of a streak. */
    void start(long nowNs) {
        isOfWaiter = true;
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        startNs = nowNs;
        yieldedNs = nowNs;
    }

    /** Takes over the state of another streak. */
    void continueFrom(HandoffStreak streak) {
        handoffCount = streak.handoffCount;
        isOfWaiter = true;
        isContended = streak.isContended;
        idlePauseCount = streak.idlePauseCount;
        startNs = streak.startNs;
        yieldedNs = streak.yieldedNs;
        pauseNs = streak.pauseNs;
    }

    /** Ends the streak: the next lease starts a new one. */
    void end() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        isContended = false;
        idlePauseCount = 0;
    }

    /** Another client holds the lock: the next streak is contended. */
    void onRefused() {
        end();
        isContended = true;
    }

    /** The lock is free, and another client has a ticket: it did not come in the pause, and may need a longer one. */
    void onYielded() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        isContended = true;
    }

    /** The streak ends with a pause. After some pauses in which nobody came, the lock is not contended any more. */
    void onPause() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        idlePauseCount++;
        if (idlePauseCount > IDLE_PAUSES_MAX) {
            isContended = false;
            idlePauseCount = 0;
        }
    }

    /** Doubles with each pause in which nobody came: the other clients may be slow. */
    long longerPauseNs(long shortestNs) {
        return shortestNs << Math.min(idlePauseCount, isContended ? PAUSE_DOUBLINGS_MAX : PROBE_DOUBLINGS_MAX);
    }

    void onHandoff() {
        handoffCount++;
    }

    boolean isOfWaiter() {
        return isOfWaiter;
    }

    boolean isContended() {
        return isContended;
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

    boolean isLongEnoughToPause(long nowNs, int multiple) {
        return (nowNs - startNs) / multiple >= pauseNs;
    }

    /** Whether the next attempt asks if another client has a ticket: it costs a round trip, and a pause more. */
    boolean isYieldDue(long nowNs) {
        return !isContended && (nowNs - yieldedNs) / YIELD_MULTIPLE >= pauseNs;
    }

    void onYield(long nowNs) {
        yieldedNs = nowNs;
    }
}
