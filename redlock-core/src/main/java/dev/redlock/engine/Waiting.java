package dev.redlock.engine;

import dev.redlock.engine.key.PermitKey;

/**
 * What an acquisition needs as soon as it waits: in a queue, for a place, or for its next attempt. And what one of a
 * permit needs to choose the permit.
 *
 * @threading event-loop-confined
 */
final class Waiting {

    /**
     * The purpose of the timer between two attempts.
     *
     * @threading immutable
     */
    enum TimerStep {
        /** Starts the next attempt after a delay. */
        ATTEMPT(false),
        /** Starts the next attempt for a push. */
        WAKE(false),
        /** Registers for the pushes of all nodes. */
        WATCH(true),
        /** Starts the next attempt because no push came, or a check. */
        BACKSTOP(true),
        /** Starts the next attempt because a check has no answer. */
        CHECK(true),
        /** Reads the place in the queue and the lock. */
        LOOK(false);

        /** A push is expected, which comes before the timer. */
        final boolean isForPush;

        TimerStep(boolean isForPush) {
            this.isForPush = isForPush;
        }
    }

    private static final long SPLIT_PAUSE_NS_MIN = 250_000;
    private static final long SPLIT_PAUSE_NS_MAX = 32_000_000;
    private static final long SPLIT_FORGOTTEN_NS = 4_000_000;

    PendingAcquire previousInQueue;
    PendingAcquire nextInQueue;
    /** The acquisitions ahead in the queue when this one joined it. */
    int aheadCount;
    PendingAcquire previousForPlace;
    PendingAcquire nextForPlace;
    /** A place of {@link InFlightLimit} is passed on to its next attempt. */
    boolean hasPlace;
    /** A lease of this client was released during the attempt: a failed attempt retries without a delay. */
    boolean retryImmediately;
    /** A node that refused the current attempt has pushed a change since: a failed attempt retries without a delay. */
    private boolean isWoken;
    /** Contended attempts of this acquisition that were refused. */
    int lossCount;
    /** When the last attempt ended that some nodes granted and others refused, monotonic, and the pause after it. */
    private long splitNs;
    private long splitPauseNs;
    /** What the timer does in state {@link PendingAcquire.State#BACKING_OFF}. */
    TimerStep timerStep = TimerStep.ATTEMPT;
    /** The longest time without a push, nanoseconds. */
    long backstopNs;
    /** Times at which the backstop may ask one node for the key, and make no attempt. */
    int checksLeft;
    /** The question for the key, or for the place, that nodes have not all answered; null if there is none. */
    private Claim question;
    /** When the key of the holder expires, unless it is renewed, monotonic; far away if unknown. */
    long expiryNs;

    // A semaphore alone uses these; they are stale for another kind.
    /** The permit that an attempt behind the head of the queue asks for. */
    PermitKey.Permit permit;
    /** The permit of the current attempt comes from a push. */
    boolean isPermitPushed;
    /** The last search has found no free permit, so the node pushes the next change of each permit. */
    boolean hasSearched;
    /** Searches for a free permit since the last one that found none. */
    int searchCount;

    void reset() {
        onAttempt();
        aheadCount = 0;
        lossCount = 0;
        splitPauseNs = 0;
        checksLeft = 0;
        expiryNs = 0;
        hasPlace = false;
    }

    /** An attempt starts. */
    void onAttempt() {
        retryImmediately = false;
        isWoken = false;
        timerStep = TimerStep.ATTEMPT;
        question = null;
    }

    /** The key in use has changed: the current attempt may be older. */
    void onChanged() {
        isWoken = true;
    }

    boolean isWoken() {
        return isWoken;
    }

    /** Nodes are asked for the key. */
    void ask(Claim asked) {
        question = asked;
    }

    /** All answers are there, or do not count. */
    void endQuestion() {
        question = null;
    }

    boolean isAsking() {
        return question != null;
    }

    boolean isAsking(Claim asked) {
        return question == asked;
    }

    /**
     * An attempt was granted by some nodes and refused by others. Waiters with different coordinators refuse and wake
     * each other in this way for as long as a holder has a bare majority. So each split that follows soon doubles the
     * pause.
     */
    void onSplit(long nowNs) {
        boolean isSoon = splitPauseNs != 0 && nowNs - splitNs < SPLIT_FORGOTTEN_NS + 8 * splitPauseNs;
        splitPauseNs = isSoon ? Math.min(SPLIT_PAUSE_NS_MAX, 2 * splitPauseNs) : SPLIT_PAUSE_NS_MIN;
        splitNs = nowNs;
    }

    /** Returns how long after a time the pause ends; negative after it. */
    long splitPauseLeftNs(long atNs) {
        return splitPauseNs == 0 ? 0 : splitNs + splitPauseNs - atNs;
    }
}
