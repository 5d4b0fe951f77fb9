package dev.redlock.engine;

import dev.redlock.engine.crowd.Place;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.List;

/**
 * Queues the acquisitions of one event loop that wait for one resource, in order of arrival. Only the head makes
 * attempts, except for permits of a semaphore ({@link PermitFollowers}).
 *
 * @threading event-loop-confined
 */
public final class WaitQueue extends KeyedMap.Keyed {

    /** The head waits for the end of a pause of {@link Fairness}. */
    boolean isPausing;
    long pauseEndNs;
    /** When a lease of this client with this lock has last ended; long ago before the first. */
    long servedNs;
    /** Nodes on which a refused attempt has registered for a push that has not come yet. */
    long registeredMask;
    /** The place of this client among those that wait for a plain lock. */
    final Place place = new Place();
    /** The position of a set at its last refusal. */
    int position;
    /** A lease of this client holds the lock: its end starts the next attempt, and pushes do not. */
    boolean isHeldLocally;
    /** The resources of a set, in its order; empty for another kind. */
    final List<ResourceQueues.Entry> resources = new ArrayList<>(0);
    /** The resource in use that has refused the head, which is a set: its pushes alone wake it. Null if unknown. */
    ResourceQueues.Entry awaited;
    /** The pushes of the permits of its semaphore reach it. */
    boolean hasPermitEntries;
    /** Facts about the permits of its semaphore; null for another kind, and before the first attempt. */
    PermitHints hints;
    private PendingAcquire head;
    private PendingAcquire tail;
    private int size;

    LockKind kind() {
        return key.kind;
    }

    PendingAcquire head() {
        return head;
    }

    int size() {
        return size;
    }

    /** Returns the first waiter that has no attempt in progress; null if there is none. */
    PendingAcquire firstQueued() {
        PendingAcquire pending = head;
        while (pending != null && pending.state != PendingAcquire.State.QUEUED) {
            pending = pending.waiting.nextInQueue;
        }
        return pending;
    }

    /** Counts the waiters that have no attempt in progress, up to a limit. */
    int queuedCount(int limit) {
        int count = 0;
        for (PendingAcquire pending = head; pending != null && count < limit; pending = pending.waiting.nextInQueue) {
            count += pending.state == PendingAcquire.State.QUEUED ? 1 : 0;
        }
        return count;
    }

    /** Adds a waiter behind the head and all that came before it: its first attempt had no queue. */
    void append(PendingAcquire pending) {
        Waiting waiting = pending.waiting();
        PendingAcquire previous = tail;
        waiting.aheadCount = size++;
        while (previous != head && previous.startNs - pending.startNs > 0) {
            previous = previous.waiting.previousInQueue;
            waiting.aheadCount--;
        }
        pending.queue = this;
        waiting.previousInQueue = previous;
        waiting.nextInQueue = previous == null ? null : previous.waiting.nextInQueue;
        if (previous == null) {
            head = pending;
        } else {
            previous.waiting.nextInQueue = pending;
        }
        if (waiting.nextInQueue == null) {
            tail = pending;
        } else {
            waiting.nextInQueue.waiting.previousInQueue = pending;
        }
    }

    void remove(PendingAcquire pending) {
        assert pending.queue == this;
        Waiting waiting = pending.waiting;
        if (waiting.previousInQueue == null) {
            head = waiting.nextInQueue;
        } else {
            waiting.previousInQueue.waiting.nextInQueue = waiting.nextInQueue;
        }
        if (waiting.nextInQueue == null) {
            tail = waiting.previousInQueue;
        } else {
            waiting.nextInQueue.waiting.previousInQueue = waiting.previousInQueue;
        }
        pending.queue = null;
        size--;
        waiting.previousInQueue = null;
        waiting.nextInQueue = null;
    }
}
