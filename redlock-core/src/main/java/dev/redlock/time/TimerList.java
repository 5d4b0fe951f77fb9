package dev.redlock.time;

/**
 * One spoke of the wheel: its timers in the order in which they came, with gaps where some were removed. Each of its
 * blocks has a timer.
 *
 * @threading event-loop-confined
 */
final class TimerList {

    private final TimerPlaces places;
    private final long[] used;
    private final int spoke;
    private final int number;
    private int first = TimerPlaces.NONE;
    private int last = TimerPlaces.NONE;
    /** The next place of the first block. */
    private int index;

    /**
     * An empty list.
     *
     * @param places the places of all lists of the wheel
     * @param used   the list keeps bit {@code spoke} of it set while it has blocks
     */
    TimerList(TimerPlaces places, int number, long[] used, int spoke) {
        this.places = places;
        this.number = number;
        this.used = used;
        this.spoke = spoke;
    }

    boolean isEmpty() {
        return first == TimerPlaces.NONE;
    }

    /** Adds a timer at the end. A block must be reserved. */
    void append(DeadlineTimer timer) {
        assert timer.place == TimerPlaces.NONE : "a timer is in one list at a time";
        if (last == TimerPlaces.NONE || places.isFull(last)) {
            int block = places.takeBlock(number, last);
            if (last == TimerPlaces.NONE) {
                first = block;
                used[spoke >> 6] |= 1L << spoke;
            }
            last = block;
        }
        places.add(last, timer);
    }

    void remove(DeadlineTimer timer) {
        int block = TimerPlaces.blockOf(timer);
        places.remove(timer);
        if (places.hasTimers(block)) {
            return;
        }
        if (block == first) {
            first = places.next(block);
            index = 0;
        }
        if (block == last) {
            last = places.previous(block);
        }
        places.unlinkBlock(block);
        if (first == TimerPlaces.NONE) {
            clear();
        }
    }

    /** Removes and returns the first timer, or null if there is none. */
    DeadlineTimer poll() {
        if (isEmpty()) {
            return null;
        }
        DeadlineTimer timer = places.get(first, index++);
        while (timer == null) {
            timer = places.get(first, index++);
        }
        remove(timer);
        return timer;
    }

    private void clear() {
        first = TimerPlaces.NONE;
        last = TimerPlaces.NONE;
        index = 0;
        used[spoke >> 6] &= ~(1L << spoke);
    }

    /** Moves all timers to the end of another list. */
    void drainTo(TimerList other) {
        if (isEmpty()) {
            return;
        }
        assert index == 0 : "only the list of due timers is polled";
        places.move(first, other.last, other.number);
        if (other.isEmpty()) {
            other.first = first;
            other.used[other.spoke >> 6] |= 1L << other.spoke;
        }
        other.last = last;
        clear();
    }

    /** The earliest time for which a timer has its place. The list must not be empty. */
    long earliestNs() {
        long bestNs = 0;
        boolean isFound = false;
        int from = index;
        for (int block = first; block != TimerPlaces.NONE; block = places.next(block)) {
            for (int i = from; i < places.used(block); i++) {
                DeadlineTimer timer = places.get(block, i);
                if (timer != null && (!isFound || timer.placedNs - bestNs < 0)) {
                    isFound = true;
                    bestNs = timer.placedNs;
                }
            }
            from = 0;
        }
        return bestNs;
    }
}
