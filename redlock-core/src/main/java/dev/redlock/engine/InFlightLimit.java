package dev.redlock.engine;

/**
 * Limits the attempts in flight, and queues the acquisitions that wait for a slot. A free slot is reserved for the
 * first waiter, so no later acquisition overtakes it.
 *
 * @threading event-loop-confined
 */
final class InFlightLimit {

    final int max;
    /** Slots in use or reserved. */
    int count;
    /** The first waiter; null if none waits. */
    PendingAcquire first;
    private PendingAcquire last;

    InFlightLimit(int max) {
        this.max = max;
    }

    /** Reserves the slot of an ended attempt for the first waiter, and returns it. It has left the queue. */
    PendingAcquire reserve() {
        PendingAcquire next = first;
        remove(next);
        next.hasReservedSlot = true;
        return next;
    }

    void append(PendingAcquire pending) {
        pending.previousForSlot = last;
        pending.nextForSlot = null;
        if (last == null) {
            first = pending;
        } else {
            last.nextForSlot = pending;
        }
        last = pending;
    }

    void remove(PendingAcquire pending) {
        if (pending.previousForSlot == null) {
            first = pending.nextForSlot;
        } else {
            pending.previousForSlot.nextForSlot = pending.nextForSlot;
        }
        if (pending.nextForSlot == null) {
            last = pending.previousForSlot;
        } else {
            pending.nextForSlot.previousForSlot = pending.previousForSlot;
        }
        pending.previousForSlot = null;
        pending.nextForSlot = null;
    }
}
