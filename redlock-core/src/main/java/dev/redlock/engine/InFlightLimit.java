package dev.redlock.engine;

/**
 * Limits the attempts in flight, and queues the acquisitions that wait for a place. A free place is reserved for the
 * first waiter, so no later acquisition overtakes it.
 *
 * @threading event-loop-confined
 */
final class InFlightLimit {

    final int max;
    /** Places in use or reserved. */
    int count;
    /** The first waiter; null if none waits. */
    PendingAcquire first;
    private PendingAcquire last;

    InFlightLimit(int max) {
        this.max = max;
    }

    /** Reserves the place of an ended attempt for the first waiter, and returns it. It has left the queue. */
    PendingAcquire reserve() {
        PendingAcquire next = first;
        remove(next);
        next.hasReservedPlace = true;
        return next;
    }

    void append(PendingAcquire pending) {
        pending.previousForPlace = last;
        pending.nextForPlace = null;
        if (last == null) {
            first = pending;
        } else {
            last.nextForPlace = pending;
        }
        last = pending;
    }

    void remove(PendingAcquire pending) {
        if (pending.previousForPlace == null) {
            first = pending.nextForPlace;
        } else {
            pending.previousForPlace.nextForPlace = pending.nextForPlace;
        }
        if (pending.nextForPlace == null) {
            last = pending.previousForPlace;
        } else {
            pending.nextForPlace.previousForPlace = pending.previousForPlace;
        }
        pending.previousForPlace = null;
        pending.nextForPlace = null;
    }
}
