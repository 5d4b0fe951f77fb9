package dev.redlock.engine;

import dev.redlock.time.DeadlineTimer;

/**
 * One caller's wish for a lock, from the call to its outcome: it waits its turn, makes attempts, waits between them.
 * Pooled by the conductor.
 *
 * @threading event-loop-confined
 */
final class Acquisition {

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
        AWAITING_PLACE,
        /** Between two attempts. */
        BACKING_OFF
    }

    final DeadlineTimer timer;
    State state = State.FREE;
    LeaseSlot lease;
    Attempt attempt;
    /** The line it stands in; null if it does not wait. */
    WaitQueue queue;
    Acquisition previousInQueue;
    Acquisition nextInQueue;
    Acquisition previousForPlace;
    Acquisition nextForPlace;
    Acquisition previousActive;
    Acquisition nextActive;
    long deadlineNs;
    /** The lock was given back while an attempt was under way: try again at once. */
    boolean isHandedOn;
    /** One of the places of {@link InFlightLimit} is kept for its next attempt. */
    boolean hasPlace;
    /** Counts attempts and uses, so that whoever calls out can tell whether it still is what it was. */
    long turn;

    Acquisition(final Conductor conductor) {
        this.timer = new DeadlineTimer(nowNs -> conductor.onAcquisitionTimer(this, nowNs));
    }

    void reset(final LeaseSlot newLease) {
        assert state == State.FREE : "slot is free when it is taken";
        lease = newLease;
        attempt = null;
        queue = null;
        isHandedOn = false;
        hasPlace = false;
        turn++;
    }
}
