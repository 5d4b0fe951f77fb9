package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.FreeList;

/**
 * Owns the local queues, one for each resource with a waiting acquisition, and runs the handoffs. After this client
 * releases a lock, the next local waiter starts its attempt immediately. After some handoffs the queue pauses for one
 * retry delay, during which other clients find the lock free.
 *
 * @threading event-loop-confined
 */
final class WaitQueues {

    private static final int TRIM_CAPACITY_MIN = 4 * Conductor.POOLED_MIN;

    private final Conductor conductor;
    private final AcquireScheduler scheduler;
    private final RetryDelays retryDelays;
    private final WaitQueueMap queues = new WaitQueueMap();
    private final FreeList<WaitQueue> free = new FreeList<>(Conductor.POOLED_MIN);
    private final int handoffsMax;

    WaitQueues(Conductor conductor, AcquireScheduler scheduler, RetryDelays retryDelays) {
        this.conductor = conductor;
        this.scheduler = scheduler;
        this.retryDelays = retryDelays;
        this.handoffsMax = conductor.config().limits().localHandoffsMax();
    }

    /** Returns the queue of a resource; null if no acquisition waits for it. */
    WaitQueue get(LockKey key) {
        return queues.get(key);
    }

    /** Creates the queue of a resource. */
    WaitQueue create(LockKey key) {
        WaitQueue pooled = free.poll();
        WaitQueue queue = pooled == null ? new WaitQueue() : pooled;
        queue.key = key;
        queue.streak.end();
        queues.add(queue);
        return queue;
    }

    /**
     * Promotes the next waiter after a queue has lost its head. It starts its attempt immediately or, if this client
     * has just acquired the lock, at the end of that lease.
     */
    void promoteNext(WaitQueue queue, LeaseHandle holder) {
        PendingAcquire head = queue.head();
        if (head == null) {
            queues.remove(queue);
            queue.key = null;
            free.push(queue);
            return;
        }
        scheduler.onPromoted(head);
        if (holder != null) {
            conductor.startTimer(head.timer, earlier(holder.validUntilNs(), head.deadlineNs));
        } else if (queue.isPausing) {
            conductor.startTimer(head.timer, earlier(queue.pauseEndNs, head.deadlineNs));
        } else {
            conductor.startTimer(head.timer, conductor.nowNs());
        }
    }

    private static long earlier(long oneNs, long otherNs) {
        return oneNs - otherNs < 0 ? oneNs : otherNs;
    }

    // ---- handoffs ---------------------------------------------------------------------------------------------------

    /** A lease is acquired: continues the streak of its queue, or starts one. */
    static void startOrContinue(HandoffStreak streak, WaitQueue queue, long nowNs) {
        if (queue != null && queue.streak.handoffCount() > 0) {
            streak.continueFrom(queue.streak);
        } else {
            streak.start(nowNs);
        }
    }

    /** Passes the streak of a lease to its queue, before the release. */
    void passStreak(Claim claim) {
        WaitQueue queue = get(claim.key);
        if (queue != null) {
            queue.streak.continueFrom(claim.streak);
        }
    }

    /** A lease of this client has ended: starts the attempt of the first local waiter, or the pause if it is due. */
    void handOff(LockKey key) {
        WaitQueue queue = get(key);
        if (queue == null || queue.isPausing) {
            return;
        }
        PendingAcquire head = queue.head();
        long generation = head.generation;
        boolean isPauseDue = isPauseDue(queue.streak, head.lease);
        if (head.generation != generation) {
            // The retry policy has re-entered the client and ended this acquisition or started its attempt.
            return;
        }
        boolean isBackingOff = head.state == PendingAcquire.State.BACKING_OFF;
        if (isPauseDue) {
            if (isBackingOff) {
                pause(queue, head);
            }
            // Otherwise its attempt precedes the release: the delay after the refusal is the pause.
        } else {
            queue.streak.onHandoff();
            if (isBackingOff) {
                scheduler.startAttempt(head);
            } else {
                head.retryImmediately = true;
            }
        }
    }

    private boolean isPauseDue(HandoffStreak streak, LeaseHandle next) {
        if (handoffsMax == 0 || streak.handoffCount() < handoffsMax) {
            return false;
        }
        if (!streak.hasPause()) {
            streak.setPause(retryDelays.delayNs(next, AcquireOutcome.Kind.CONTENDED, -1));
        }
        return streak.isLongEnoughToPause(conductor.nowNs());
    }

    /** Waits as after a refused attempt, so that an attempt of another client finds the lock free. */
    private void pause(WaitQueue queue, PendingAcquire head) {
        queue.isPausing = true;
        queue.pauseEndNs = conductor.nowNs() + queue.streak.pauseNs();
        queue.streak.end();
        scheduler.releaseReservedSlot(head);
        conductor.startTimer(head.timer, earlier(queue.pauseEndNs, head.deadlineNs));
    }

    void trim() {
        free.trim();
        queues.trim(TRIM_CAPACITY_MIN);
    }
}
