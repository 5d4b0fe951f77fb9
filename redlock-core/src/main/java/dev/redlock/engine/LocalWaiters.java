package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;

/**
 * Acquisitions of this client that meet a lock of its own which it retains, or may retain: they get it, or wait for its
 * local holder.
 *
 * @threading event-loop-confined, except {@link #countGrant}
 */
final class LocalWaiters {

    /**
     * What an acquisition does.
     *
     * @threading immutable
     */
    enum Answer {
        /** It has the lock, waits for its holder, or is refused because of it. */
        DONE,
        /** It continues, behind others of this client. */
        QUEUES,
        /** It continues, and the lock is retained no longer. */
        ENDS
    }

    private final LoopServices services;
    private final AcquireScheduler scheduler;

    LocalWaiters(LoopServices services, AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
    }

    Answer onAcquire(RetainedLease entry, LeaseHandle lease) {
        // A callback may use the lease again, with other options.
        AcquireSpec spec = lease.spec;
        if (entry.grant(lease) || !hasHolder(entry) && entry.grant(lease)) {
            lease.completeGrantOnLoop();
            countGrant(spec);
            return Answer.DONE;
        }
        if (hasHolder(entry) && (lease.waitNs > 0 || entry.state() != RetainedLease.PREPARING)) {
            return waitFor(entry, lease);
        }
        return lease.waitNs > 0 && isAttempted(entry) ? Answer.QUEUES : Answer.ENDS;
    }

    /** An acquisition with these options has got a retained lock. On any thread. */
    void countGrant(AcquireSpec spec) {
        if (spec.group != null) {
            services.telemetry.rare.onLocalGrant(spec.group);
        }
    }

    /** Whether a lease of this client has the lock, whose return goes to the event loop from now on. */
    private static boolean hasHolder(RetainedLease entry) {
        return switch (entry.state()) {
            case RetainedLease.WATCHED -> entry.lease.claim == entry.claim;
            case RetainedLease.PREPARING -> true;
            default -> entry.want();
        };
    }

    /** Whether an attempt for the lock has a queue, in which others of this client follow it. */
    private boolean isAttempted(RetainedLease entry) {
        PendingAcquire attempt = entry.state() == RetainedLease.WATCHED ? entry.claim.pending : null;
        if (attempt == null || attempt.lease.waitNs <= 0) {
            return false;
        }
        if (scheduler.queues.get(entry.key) == null) {
            scheduler.queues.enqueue(attempt);
        }
        return true;
    }

    /** An acquisition meets a local holder. */
    private Answer waitFor(RetainedLease entry, LeaseHandle lease) {
        WaitQueue queue = scheduler.queues.get(lease.key);
        if (lease.waitNs <= 0) {
            services.counters.onAttemptFailed(AcquireOutcome.Kind.CONTENDED);
            WaitReasons.recordCause(lease, WaitCause.HELD_LOCALLY);
            scheduler.reject(lease, AcquireOutcome.Kind.CONTENDED);
            return Answer.DONE;
        }
        if (queue != null) {
            return Answer.QUEUES;
        }
        long nowNs = services.clock.nanoTime();
        PendingAcquire pending = scheduler.take(lease);
        pending.start(nowNs, services.telemetry.onAcquireStarted(nowNs));
        pending.deadlineNs = nowNs + Math.min(lease.waitNs, Retries.WAIT_NS_MAX);
        pending.backOff();
        pending.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
        scheduler.queues.enqueue(pending).setHeldLocally(true);
        services.timers.start(pending.timer, WaitQueues.earlier(entry.lease.validUntilNs, pending.deadlineNs));
        return Answer.DONE;
    }

    /**
     * The holder has returned the lock on the event loop: the first waiter gets it, or it is free.
     *
     * @return false if the first waiter cannot have it
     */
    boolean passOn(RetainedLease entry) {
        WaitQueue queue = scheduler.queues.get(entry.key);
        PendingAcquire head = queue == null ? null : queue.head();
        if (head == null) {
            entry.open();
            return true;
        }
        long nowNs = services.clock.nanoTime();
        if (!isWaitingFor(entry, head) || entry.grantUntilNs - nowNs <= 0
                || entry.validUntilNs - nowNs < head.lease.times.minValidityNs) {
            return false;
        }
        entry.give(head.lease, head.waiting.nextInQueue != null, nowNs);
        scheduler.finish(head, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
        return true;
    }

    /** Whether a set, a reader or a writer waits for the resource. It gets no lock that its own client retains. */
    boolean isAwaitedByOther(LockKey key) {
        ResourceQueues others = scheduler.queues.resourceQueues;
        return !others.isEmpty() && others.of(key) != null;
    }

    static boolean isWaitingFor(RetainedLease entry, PendingAcquire head) {
        return head.state == PendingAcquire.State.BACKING_OFF && entry.isFor(head.lease);
    }
}
