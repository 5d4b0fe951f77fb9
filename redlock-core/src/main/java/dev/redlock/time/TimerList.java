package dev.redlock.time;

/**
 * One spoke of the wheel: a doubly linked list whose links are the timers.
 *
 * @threading event-loop-confined
 */
final class TimerList {

    private final long[] used;
    private final int spoke;
    private DeadlineTimer head;
    private DeadlineTimer tail;

    /** A list that keeps bit {@code spoke} of {@code used} set while it is not empty. */
    TimerList(long[] used, int spoke) {
        this.used = used;
        this.spoke = spoke;
    }

    boolean isEmpty() {
        return head == null;
    }

    DeadlineTimer head() {
        return head;
    }

    void append(DeadlineTimer timer) {
        assert timer.list == null : "a timer is in one list at a time";
        timer.list = this;
        timer.previous = tail;
        timer.next = null;
        if (tail == null) {
            head = timer;
            used[spoke >> 6] |= 1L << spoke;
        } else {
            tail.next = timer;
        }
        tail = timer;
    }

    void remove(DeadlineTimer timer) {
        assert timer.list == this;
        if (timer.previous == null) {
            head = timer.next;
        } else {
            timer.previous.next = timer.next;
        }
        if (timer.next == null) {
            tail = timer.previous;
        } else {
            timer.next.previous = timer.previous;
        }
        timer.previous = null;
        timer.next = null;
        timer.list = null;
        if (head == null) {
            used[spoke >> 6] &= ~(1L << spoke);
        }
    }

    /** Moves all timers to another, empty list. */
    void drainTo(TimerList other) {
        for (DeadlineTimer timer = head; timer != null; timer = head) {
            remove(timer);
            other.append(timer);
        }
    }
}
