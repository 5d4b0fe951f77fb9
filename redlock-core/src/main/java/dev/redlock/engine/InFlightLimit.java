package dev.redlock.engine;

/**
 * Counts the acquisitions that talk to the nodes, and keeps those that wait until there is a place for one more: first
 * come, first served. A place that is given back goes to the first that waits, so nobody overtakes it.
 *
 * @threading event-loop-confined
 */
final class InFlightLimit {

    private final int max;
    private int count;
    private PendingAcquire head;
    private PendingAcquire tail;

    InFlightLimit(final int max) {
        this.max = max;
    }

    /** Takes a place, or the one that is kept for this acquisition; false if there is none. */
    boolean tryEnter(final PendingAcquire pending) {
        if (pending.hasSlot) {
            pending.hasSlot = false;
            return true;
        }
        if (count >= max) {
            return false;
        }
        count++;
        return true;
    }

    /**
     * A place is free.
     *
     * @return the acquisition that it is kept for from now on, which does not wait here any more; null if none waits
     */
    PendingAcquire leave() {
        final PendingAcquire next = head;
        if (next == null) {
            count--;
        } else {
            remove(next);
            next.hasSlot = true;
        }
        return next;
    }

    void append(final PendingAcquire pending) {
        pending.previousForSlot = tail;
        pending.nextForSlot = null;
        if (tail == null) {
            head = pending;
        } else {
            tail.nextForSlot = pending;
        }
        tail = pending;
    }

    void remove(final PendingAcquire pending) {
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
