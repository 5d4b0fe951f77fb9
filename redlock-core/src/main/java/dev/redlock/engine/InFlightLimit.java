package dev.redlock.engine;

/**
 * Limits the attempts in flight, and queues the acquisitions that wait for a place. A free place is passed on to
 * the first waiter, so no later acquisition overtakes it.
 *
 * @threading event-loop-confined
 */
final class InFlightLimit {

    final int max;
    /** Places in use, or passed on. */
    int count;
    /** The first waiter; null if none waits. */
    PendingAcquire first;
    private PendingAcquire last;

    InFlightLimit(int max) {
        this.max = max;
    }

    /** Passes the place of an ended attempt on to the first waiter, and returns it. It has left the queue. */
    PendingAcquire passOn() {
        PendingAcquire next = first;
        remove(next);
        next.waiting.hasPlace = true;
        return next;
    }

    void append(PendingAcquire pending) {
        Waiting waiting = pending.waiting();
        waiting.previousForPlace = last;
        if (last == null) {
            first = pending;
        } else {
            last.waiting.nextForPlace = pending;
        }
        last = pending;
    }

    void remove(PendingAcquire pending) {
        Waiting waiting = pending.waiting;
        if (waiting.previousForPlace == null) {
            first = waiting.nextForPlace;
        } else {
            waiting.previousForPlace.waiting.nextForPlace = waiting.nextForPlace;
        }
        if (waiting.nextForPlace == null) {
            last = waiting.previousForPlace;
        } else {
            waiting.nextForPlace.waiting.previousForPlace = waiting.previousForPlace;
        }
        waiting.previousForPlace = null;
        waiting.nextForPlace = null;
    }
}
