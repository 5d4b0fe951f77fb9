package dev.redlock.engine;

/**
 * Leases on one resource that waiters of this client had one behind the other, each handed on by the one before. It
 * stays with the lease while that is held, and with the waiting line until the attempt of the next has ended.
 *
 * <p>Other clients hardly get the lock during a run, because each release is followed by an acquire at once. So it ends
 * with a pause in which the lock is free for them. That is time in which nobody may hold it, so the run has to be long
 * enough first.
 *
 * @threading event-loop-confined
 */
final class HandoffStreak {

    /** A run lasts at least so many times its pause: if nobody else comes, pauses take a tenth of the time. */
    private static final int PAUSE_MULTIPLE = 10;
    private static final long NOT_DRAWN = -1;

    private int handoffCount;
    private long startNs;
    private long pauseNs;

    /** The first lease of a run was won. */
    void start(final long nowNs) {
        end();
        startNs = nowNs;
    }

    /** Goes on as another one. */
    void continueFrom(final HandoffStreak streak) {
        handoffCount = streak.handoffCount;
        startNs = streak.startNs;
        pauseNs = streak.pauseNs;
    }

    /** Whoever wins the lock next begins a new one. */
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

    /** Drawn once for a run: of many draws the shortest would win. */
    boolean hasPause() {
        return pauseNs != NOT_DRAWN;
    }

    void setPause(final long newPauseNs) {
        pauseNs = newPauseNs;
    }

    long pauseNs() {
        return pauseNs;
    }

    boolean isLongEnoughToPause(final long nowNs) {
        return (nowNs - startNs) / PAUSE_MULTIPLE >= pauseNs;
    }
}
