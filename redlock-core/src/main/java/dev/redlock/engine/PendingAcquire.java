package dev.redlock.engine;

import dev.redlock.time.DeadlineTimer;

/**
 * One caller's wish for a lock, from the call to its outcome: it waits its turn, makes attempts, waits between them.
 * Pooled by the conductor.
 *
 * @threading event-loop-confined
 */
final class PendingAcquire {

    /**
     * What it is doing.
     *
     * @threading immutable
     */
    enum State {
        /** In the pool. */
        FREE,
        /** Behind others of this process that want the same resource. */
        QUEUED,
        /** An attempt is under way. */
        ATTEMPTING,
        /** As many attempts as may be are under way: it waits until one ends. */
        AWAITING_SLOT,
        /** Between two attempts. */
        BACKING_OFF
    }

    final DeadlineTimer timer;
    State state = State.FREE;
    LeaseHandle lease;
    Claim claim;
    /** The line it stands in; null if it does not wait. */
    WaitQueue queue;
    PendingAcquire previousInQueue;
    PendingAcquire nextInQueue;
    PendingAcquire previousForSlot;
    PendingAcquire nextForSlot;
    PendingAcquire previousActive;
    PendingAcquire nextActive;
    long deadlineNs;
    /** The lock was given back while an attempt was under way: try again at once. */
    boolean retryImmediately;
    /** One of the places of {@link InFlightLimit} is kept for its next attempt. */
    boolean hasSlot;
    /** Counts attempts and uses, so that whoever calls out can tell whether it still is what it was. */
    long turn;

    PendingAcquire(final AcquireScheduler scheduler) {
        this.timer = new DeadlineTimer(nowNs -> scheduler.onTimer(this, nowNs));
    }

    void reset(final LeaseHandle newLease) {
        assert state == State.FREE : "slot is free when it is taken";
        lease = newLease;
        claim = null;
        queue = null;
        retryImmediately = false;
        hasSlot = false;
        turn++;
    }
}
