package dev.redlock.engine;

import dev.redlock.engine.crowd.QueueReply;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.List;

/**
 * Queues the acquisitions of one event loop that wait for one resource, in order of arrival. Only the head makes
 * attempts, except for permits of a semaphore ({@link PermitFollowers}).
 *
 * <p>What differs by the kind of lock is a method that a subclass overrides; readers and writers need none of them.
 *
 * @threading event-loop-confined
 */
public class WaitQueue extends KeyedMap.Keyed {

    private static final long SERVED_LONG_AGO_NS = 1_000_000_000;

    /** The head waits for the end of a pause of {@link Fairness}. */
    private boolean isPausing;
    private long pauseEndNs;
    /** When a lease of this client with this lock has last ended; long ago before the first. */
    private long servedNs;
    /** Nodes on which a refused attempt has registered for a push that has not come yet. */
    long registeredMask;
    /** A lease of this client holds the lock: its end starts the next attempt, and pushes do not. */
    private boolean isHeldLocally;
    /** The coordinator keeps the order of the clients, or a mark of each that waits, as far as is known. */
    private boolean isOrderKnown;
    /** If the order is unknown: a write that the coordinator executes shows that it keeps the order again. */
    private boolean isDoubtTemporary;
    /** The pushes of the permits of its semaphore reach it. */
    boolean hasPermitEntries;
    /** The resources of the lock, in its order; empty for one that is a single key. */
    final List<ResourceQueues.Entry> resources = new ArrayList<>(0);
    /** The place among the queues of its resources. */
    private long arrival;
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

    // ---- state ------------------------------------------------------------------------------------------------------

    /** The first waiter comes. */
    void begin(LockKey newKey, long nowNs) {
        key = newKey;
        servedNs = nowNs - SERVED_LONG_AGO_NS;
        isHeldLocally = false;
        isPausing = false;
        isOrderKnown = true;
        onCreated();
    }

    /** A lease of this client has the lock, or none has. */
    void setHeldLocally(boolean isHeld) {
        isHeldLocally = isHeld;
    }

    /**
     * It is the youngest queue of its resources now.
     *
     * @param number greater than that of each other one
     */
    void arrive(long number) {
        arrival = number;
    }

    boolean isOlderThan(WaitQueue other) {
        return arrival < other.arrival;
    }

    /** The coordinator keeps what shows that a client waits, or it refuses that: then it seems that nobody waits. */
    void setOrderKnown(boolean isKnown) {
        isOrderKnown = isKnown;
        isDoubtTemporary = false;
    }

    /** The coordinator has not executed a command. A lasting doubt does not become a temporary one. */
    void doubtOrder(boolean isTemporary) {
        isDoubtTemporary = isTemporary && (isOrderKnown || isDoubtTemporary);
        isOrderKnown = false;
    }

    /** The coordinator has executed a write for this lock. */
    void endTemporaryDoubt() {
        isOrderKnown |= isDoubtTemporary;
    }

    boolean isOrderKnown() {
        return isOrderKnown;
    }

    boolean isHeldLocally() {
        return isHeldLocally;
    }

    /** A lease of this client with the lock has ended. */
    void onLeaseEnded(long nowNs) {
        isHeldLocally = false;
        servedNs = nowNs;
    }

    long servedNs() {
        return servedNs;
    }

    /** The head makes no attempt until a time. */
    void pause(long untilNs) {
        isPausing = true;
        pauseEndNs = untilNs;
        forgetHints();
    }

    void endPause() {
        isPausing = false;
    }

    boolean isPausing() {
        return isPausing;
    }

    long pauseEndNs() {
        return pauseEndNs;
    }

    /** Whether the head waits for its next attempt. */
    boolean isHeadBackingOff() {
        return head.state == PendingAcquire.State.BACKING_OFF;
    }

    /** Whether a change of the key may start the head: it waits for that, and not for a lease or a pause. */
    boolean isHeadWakeable() {
        return isHeadBackingOff() && !isHeldLocally && !isPausing;
    }

    boolean isRegisteredAt(int nodeIndex) {
        return (registeredMask & 1L << nodeIndex) != 0;
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

    // ---- by kind ----------------------------------------------------------------------------------------------------

    /** The first waiter comes. The object may have served another key before. */
    void onCreated() {
    }

    /** The last waiter has gone; the key is still known. */
    void onEmptied() {
    }

    /** The head has got the lock. */
    void onServed() {
    }

    /** Whether a refused waiter leaves a mark, because its coordinator has neither a queue nor a reservation. */
    boolean isMarked() {
        return key.kind.hasReaders;
    }

    // ---- by kind: permits -------------------------------------------------------------------------------------------

    /** A waiter has come behind others. */
    void onAppended() {
    }

    /** A lease of this client with the lock has ended, on nodes under another key if it is a permit. */
    void onReleased(LockKey lockedKey) {
    }

    /** Starts an attempt for a released lock while the head is busy; returns false if there is none. */
    boolean isHandedToFollower() {
        return false;
    }

    /** A waiter behind the head, with an attempt in progress, has left or has become the head. Starts nothing yet. */
    void onFollowerLeft() {
    }

    /** Starts attempts of waiters behind heads, for which an event has made room. Their callbacks may change queues. */
    void startDueFollowers() {
    }

    /** A release of this client has changed a key for which the queue is registered, so no push comes. */
    void onOwnRelease() {
    }

    /** Whatever is known about free keys may be wrong. */
    void forgetHints() {
    }

    // ---- by kind: sets ----------------------------------------------------------------------------------------------

    /** The head makes no attempt for now: others of this client may. */
    void passOn() {
    }

    /** What the last refusal has said about the key in use may be wrong. */
    void forgetRefusal() {
    }

    /** A grant has used what the last refusal has said about the order of clients. */
    void onTicketUsed() {
    }

    /** The position among the clients at the last refusal, from 1. */
    int position() {
        return Ticket.FIRST_POSITION;
    }

    /** Whether another lock that this client waits for has one of the resources. */
    boolean isOverlapping() {
        return false;
    }

    /** Whether a resource in use has refused the head, which the next push of the resource wakes. */
    boolean awaits(ResourceQueues.Entry entry) {
        return false;
    }

    /** Whether another resource in use has refused the head: a change of this one would not help. */
    boolean awaitsOther(ResourceQueues.Entry entry) {
        return false;
    }

    // ---- by kind: plain locks, in the queue of all clients ----------------------------------------------------------

    /** Whether the coordinator has an entry of this client in the queue of all clients. */
    boolean isEntered() {
        return false;
    }

    /** Ends that entry: another client is woken. */
    void leave() {
    }

    /** Whether a node has that entry. */
    boolean isEnteredAt(int nodeIndex) {
        return false;
    }

    /** A node may have lost the entry of this client. Returns whether it had one. */
    boolean onEntryLost(int nodeIndex) {
        return false;
    }

    /** Whether another client precedes in the queue of all clients. */
    boolean isPreceded() {
        return false;
    }

    /** Whether other clients were waiting at the last grant. */
    boolean hasFollowers() {
        return false;
    }

    /** A registered key has changed. Returns whether the head leaves the lock to another client at first. */
    boolean isPushLeftToOthers(long nowNs) {
        return false;
    }

    /** This client has had its turn. */
    void giveWay(long nowNs) {
    }

    /** The time from which the wait of the head counts. */
    long waitsSinceNs(long startNs) {
        return startNs;
    }

    /** The word for the next attempt in order. */
    byte mode() {
        return QueueReply.FIRST;
    }
}
