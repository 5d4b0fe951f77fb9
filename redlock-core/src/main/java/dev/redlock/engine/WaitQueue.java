package dev.redlock.engine;

/**
 * The acquisitions of this process that wait for one resource, first come first served. Only the head talks to the
 * nodes.
 *
 * @threading event-loop-confined
 */
final class WaitQueue {

    /** The run that its head goes on with if it wins the attempt that it makes or is about to make; else stale. */
    final HandOverRun run = new HandOverRun();
    LockKey key;
    /** The head, whoever it is, waits for the end of the pause behind a run. */
    boolean isPausing;
    long pauseEndNs;
    private Acquisition head;
    private Acquisition tail;

    Acquisition head() {
        return head;
    }

    void append(final Acquisition acquisition) {
        acquisition.queue = this;
        acquisition.previousInQueue = tail;
        acquisition.nextInQueue = null;
        if (tail == null) {
            head = acquisition;
        } else {
            tail.nextInQueue = acquisition;
        }
        tail = acquisition;
    }

    void remove(final Acquisition acquisition) {
        assert acquisition.queue == this;
        if (acquisition.previousInQueue == null) {
            head = acquisition.nextInQueue;
        } else {
            acquisition.previousInQueue.nextInQueue = acquisition.nextInQueue;
        }
        if (acquisition.nextInQueue == null) {
            tail = acquisition.previousInQueue;
        } else {
            acquisition.nextInQueue.previousInQueue = acquisition.previousInQueue;
        }
        acquisition.queue = null;
        acquisition.previousInQueue = null;
        acquisition.nextInQueue = null;
    }
}
