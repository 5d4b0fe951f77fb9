package dev.redlock.engine;

/**
 * The acquisitions of this process that wait for one resource, first come first served. Only the head talks to the
 * nodes.
 *
 * @threading event-loop-confined
 */
final class WaitQueue {

    /** The run that its head goes on with if it wins the attempt that it makes or is about to make; else stale. */
    final HandoffStreak streak = new HandoffStreak();
    LockKey key;
    /** The head, whoever it is, waits for the end of the pause behind a run. */
    boolean isPausing;
    long pauseEndNs;
    private PendingAcquire head;
    private PendingAcquire tail;

    PendingAcquire head() {
        return head;
    }

    void append(final PendingAcquire pending) {
        pending.queue = this;
        pending.previousInQueue = tail;
        pending.nextInQueue = null;
        if (tail == null) {
            head = pending;
        } else {
            tail.nextInQueue = pending;
        }
        tail = pending;
    }

    void remove(final PendingAcquire pending) {
        assert pending.queue == this;
        if (pending.previousInQueue == null) {
            head = pending.nextInQueue;
        } else {
            pending.previousInQueue.nextInQueue = pending.nextInQueue;
        }
        if (pending.nextInQueue == null) {
            tail = pending.previousInQueue;
        } else {
            pending.nextInQueue.previousInQueue = pending.previousInQueue;
        }
        pending.queue = null;
        pending.previousInQueue = null;
        pending.nextInQueue = null;
    }
}
