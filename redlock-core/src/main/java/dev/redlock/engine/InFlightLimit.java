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
    private Acquisition head;
    private Acquisition tail;

    InFlightLimit(final int max) {
        this.max = max;
    }

    /** Takes a place, or the one that is kept for this acquisition; false if there is none. */
    boolean tryEnter(final Acquisition acquisition) {
        if (acquisition.hasPlace) {
            acquisition.hasPlace = false;
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
    Acquisition leave() {
        final Acquisition next = head;
        if (next == null) {
            count--;
        } else {
            remove(next);
            next.hasPlace = true;
        }
        return next;
    }

    void append(final Acquisition acquisition) {
        acquisition.previousForPlace = tail;
        acquisition.nextForPlace = null;
        if (tail == null) {
            head = acquisition;
        } else {
            tail.nextForPlace = acquisition;
        }
        tail = acquisition;
    }

    void remove(final Acquisition acquisition) {
        if (acquisition.previousForPlace == null) {
            head = acquisition.nextForPlace;
        } else {
            acquisition.previousForPlace.nextForPlace = acquisition.nextForPlace;
        }
        if (acquisition.nextForPlace == null) {
            tail = acquisition.previousForPlace;
        } else {
            acquisition.nextForPlace.previousForPlace = acquisition.previousForPlace;
        }
        acquisition.previousForPlace = null;
        acquisition.nextForPlace = null;
    }
}
