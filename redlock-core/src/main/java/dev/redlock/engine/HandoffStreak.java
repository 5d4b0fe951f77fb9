package dev.redlock.engine;

/**
 * Counts the leases on one resource that this client has one after another: local handoffs, and callers that come back
 * at once. During a streak, other clients rarely get the lock, because an acquire follows each release immediately.
 *
 * <p>So a long streak ends. Without a known competitor it ends with a question: has another client a ticket? With one,
 * it ends with an attempt that yields to those that have a ticket. If nobody had, the competitor may be one that takes
 * no ticket, and the next streak ends with a pause. The streak belongs to the lease while it is held, then to the queue
 * until the attempt of the next waiter has ended.
 *
 * @threading event-loop-confined
 */
final class HandoffStreak {

    /** After this many streaks that have ended and nobody came, the client expects no competitor any more. */
    private static final int IDLE_MAX = 32;
    private static final long NOT_DRAWN = 0;

    private boolean isOfWaiter;
    private int handoffCount;
    private long startNs;
    /** How many streaks will still end for a competitor that was seen; 0 for none. */
    private int expectedCount;
    /** The pause at the end, if it is random: drawn once, because the shortest of many draws would win. */
    private long pauseNs;

    /** The lease of a caller that does not wait has no streak. */
    void reset(long nowNs) {
        start(nowNs);
        expectedCount = 0;
        isOfWaiter = false;
    }

    /** Starts with the first lease of a streak. */
    void start(long nowNs) {
        isOfWaiter = true;
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        startNs = nowNs;
    }

    /** Takes over the state of another streak. */
    void continueFrom(HandoffStreak streak) {
        isOfWaiter = true;
        handoffCount = streak.handoffCount;
        startNs = streak.startNs;
        expectedCount = streak.expectedCount;
        pauseNs = streak.pauseNs;
    }

    /** Ends the streak: the next lease starts a new one. */
    void end() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        expectedCount = 0;
    }

    /** Another client holds the lock. */
    void onRefused() {
        end();
        expectedCount = IDLE_MAX;
    }

    /** The lock is free, and the next attempt waits for those that have a ticket. */
    void onYielded() {
        expectedCount = isContended() ? IDLE_MAX : 0;
    }

    /** The streak ends with a pause, or with an attempt that yields. */
    void onGivenWay() {
        handoffCount = 0;
        pauseNs = NOT_DRAWN;
        expectedCount = Math.max(0, expectedCount - 1);
    }

    void onHandoff() {
        handoffCount++;
    }

    boolean isOfWaiter() {
        return isOfWaiter;
    }

    /** Whether this client expects a competitor. */
    boolean isContended() {
        return expectedCount != 0;
    }

    /** Whether the competitor may have a ticket: no streak has ended since it was seen. */
    boolean isTicketExpected() {
        return expectedCount == IDLE_MAX;
    }

    int handoffCount() {
        return handoffCount;
    }

    boolean hasPause() {
        return pauseNs != NOT_DRAWN;
    }

    void setPause(long newPauseNs) {
        pauseNs = newPauseNs;
    }

    long pauseNs() {
        return pauseNs;
    }

    /** The time since the start; negative before it. */
    long ageNs(long nowNs) {
        return nowNs - startNs;
    }
}
