package dev.redlock.engine;

/**
 * Limits the attempts in flight, and queues the acquisitions that wait for a slot. A free slot is reserved for the
 * first waiter, so no later acquisition overtakes it.
 *
 * @threading event-loop-confined
 */
final class InFlightLimit {

    private final int max;
    private int count;
    private PendingAcquire head;
    private PendingAcquire tail;

    InFlightLimit(int max) {
        this.max = max;
    }

    /** Returns how many slots are in use or reserved. */
    int count() {
        return count;
    }

    /** Takes the reserved slot of this acquisition, or a free one; returns false if there is none. */
    boolean tryTakeSlot(PendingAcquire pending) {
        if (pending.hasReservedSlot) {
            pending.hasReservedSlot = false;
            return true;
        }
        if (count >= max) {
            return false;
        }
        count++;
        return true;
    }

    /** Whether an acquisition would get a slot that is not reserved. */
    boolean hasFreeSlot() {
        return count < max;
    }

    /**
     * Frees a slot, or reserves it for the first waiter.
     *
     * @return the waiter, which has left the queue; null if none waits
     */
    PendingAcquire releaseSlot() {
        PendingAcquire next = head;
        if (next == null) {
            count--;
        } else {
            remove(next);
            next.hasReservedSlot = true;
        }
        return next;
    }

    void append(PendingAcquire pending) {
        pending.previousForSlot = tail;
        pending.nextForSlot = null;
        if (tail == null) {
            head = pending;
        } else {
            tail.nextForSlot = pending;
        }
        tail = pending;
    }

    void remove(PendingAcquire pending) {
        if (pending.previousForSlot == null) {
            head = pending.nextForSlot;
        } else {
            pending.previousForSlot.nextForSlot = pending.nextForSlot;
        }
        if (pending.nextForSlot == null) {
            tail = pending.previousForSlot;
        } else {
            pending.nextForSlot.previousForSlot = pending.previousForSlot;
        }
        pending.previousForSlot = null;
        pending.nextForSlot = null;
    }
}
