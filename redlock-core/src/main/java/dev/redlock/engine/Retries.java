package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.send.LockKind;

/**
 * Decides when an acquisition makes its next attempt. A refused one makes it at once, when a node pushes a change, when
 * the ttl of the holder ends, or after a delay of the retry policy. Others wait in their queue or for a place first.
 *
 * @threading event-loop-confined
 */
final class Retries {

    /** Time that no timer reaches. */
    static final long WAIT_NS_MAX = Long.MAX_VALUE / 4;
    /** The longest delay while too few nodes vote because of quarantines, which may end early. */
    private static final long QUARANTINE_RETRY_NS = 1_000_000_000;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final WaitQueues queues;
    private final WaitTimers timers;
    private final RetryDelays retryDelays;
    private final Crowd crowd;
    private final int waitersMax;

    Retries(LoopServices services, AcquireScheduler scheduler, WaitQueues queues, WaitTimers timers, Crowd crowd,
            RetryDelays retryDelays) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
        this.timers = timers;
        this.retryDelays = retryDelays;
        this.crowd = crowd;
        this.waitersMax = services.config.limits().waitersMax();
    }

    // ---- failed attempts --------------------------------------------------------------------------------------------

    /** An attempt has failed: rolls it back, or asks for details of the key that has refused it first. */
    void fail(Claim claim, AcquireOutcome.Kind reason) {
        services.telemetry.rare.onAttemptFailing(claim, reason);
        PendingAcquire pending = claim.pending;
        // Before the rollback: a fenced one may leave a grant out.
        pending.lease.recordVotes(claim);
        boolean isSplit = reason == AcquireOutcome.Kind.CONTENDED && claim.round.granted() != 0;
        if (isSplit && pending.waiting != null) {
            pending.waiting.onSplit(services.clock.nanoTime());
        }
        scheduler.keeper.retention.onFailed(claim, reason);
        if (reason == AcquireOutcome.Kind.CONTENDED && scheduler.holderQuery.startIfDue(claim)) {
            return;
        }
        try {
            rollBack(claim);
        } finally {
            onAttemptFailed(pending, reason);
        }
    }

    /** An attempt has ended without the lock. */
    void onAttemptFailed(PendingAcquire pending, AcquireOutcome.Kind reason) {
        boolean isPermit = pending.kind() == LockKind.PERMIT && !services.loop.isShuttingDown();
        if (!isPermit || !scheduler.permits.continueAfter(pending, reason)) {
            onLockTaken(pending, reason);
        }
    }

    /** If some nodes were not asked and the others have refused, no node can have the token. */
    boolean mayHaveSetKeys(Claim claim) {
        return claim.possibleHolderMask != 0 || !scheduler.operation.isPartlyAsked(claim);
    }

    /** Releases the token on every node that was asked, including those that refused, failed or did not reply. */
    void rollBack(Claim claim) {
        if (claim.phase == Claim.Phase.QUERYING_HOLDER || claim.phase == Claim.Phase.SEARCHING) {
            // The query has sent the release already; a search takes no lock.
            scheduler.holderQuery.untrack(claim);
            return;
        }
        scheduler.keeper.retention.onEnded(claim);
        LockKey key = claim.pending.lease.key;
        if (key.kind == LockKind.PERMIT) {
            scheduler.permits.onEnded(key, claim.key);
        }
        services.timers.stop(claim.roundTimer);
        if (!mayHaveSetKeys(claim)) {
            scheduler.releases.leaveToExpiry(claim);
            return;
        }
        services.counters.add(ConductorCounters.ROLLED_BACK, 1);
        scheduler.releases.abandon(claim);
    }

    /** The attempt of a waiter behind the head has failed: it waits again, at its place in the queue. */
    void queueAgain(PendingAcquire pending, AcquireOutcome.Kind reason) {
        pending.backOff();
        scheduler.releasePlace();
        services.counters.onAttemptFailed(reason);
        pending.lease.lastReason = reason;
        queueBehind(pending, reason);
    }

    private void queueBehind(PendingAcquire pending, AcquireOutcome.Kind reason) {
        if (pending.deadlineNs - services.clock.nanoTime() <= 0) {
            scheduler.finish(pending, AcquireOutcome.Kind.TIMED_OUT, reason);
            return;
        }
        awaitPromotion(pending);
    }

    private void awaitPromotion(PendingAcquire pending) {
        scheduler.waiterCount++;
        pending.queue();
        services.timers.start(pending.timer, pending.deadlineNs);
    }

    /** An attempt has failed; for a semaphore, no permit is free or the attempt has failed otherwise. */
    void onLockTaken(PendingAcquire pending, AcquireOutcome.Kind reason) {
        pending.backOff();
        scheduler.releasePlace();
        services.counters.onAttemptFailed(reason);
        if (services.loop.isShuttingDown()) {
            // The shutdown of the loop has closed the connections.
            scheduler.finish(pending, AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        pending.lease.lastReason = reason;
        if (pending.lease.waitNs <= 0) {
            scheduler.finish(pending, reason, reason);
            return;
        }
        if (pending.queue == null && queues.enqueue(pending).head() != pending) {
            // Another first attempt of this client for the same lock was refused before.
            if (scheduler.waiterCount >= waitersMax) {
                scheduler.finish(pending, AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
            } else {
                queueBehind(pending, reason);
            }
            return;
        }
        LockKey key = pending.lease.key;
        boolean isRefusedAgain = reason == AcquireOutcome.Kind.CONTENDED
                && pending.plan() != PendingAcquire.Plan.UNCONTENDED;
        retry(pending, reason);
        if (isRefusedAgain) {
            queues.onRefusedAgain(key);
        }
    }

    /** A waiter with a queue was refused: starts its next attempt by its timer. */
    private void retry(PendingAcquire pending, AcquireOutcome.Kind reason) {
        if (!pending.waiting.retryImmediately) {
            // Another client holds the lock, or may get it before the next attempt.
            scheduler.fairness.onFailed(pending);
            pending.waiting.lossCount += pending.plan() == PendingAcquire.Plan.UNCONTENDED ? 0 : 1;
        }
        long nowNs = services.clock.nanoTime();
        long leftNs = pending.deadlineNs - nowNs;
        if (leftNs <= 0) {
            scheduler.finish(pending, AcquireOutcome.Kind.TIMED_OUT, reason);
        } else if (pending.waiting.retryImmediately) {
            // The release has followed the refusals.
            scheduler.registrations.remove(pending.queue);
            pending.planNext(pending.hasReservedNode()
                    ? PendingAcquire.Plan.COORDINATOR_FIRST
                    : PendingAcquire.Plan.UNCONTENDED);
            services.timers.start(pending.timer, nowNs);
        } else if (pending.waiting.isWoken()) {
            timers.wake(pending, PendingAcquire.Plan.COORDINATOR_FIRST, nowNs);
        } else if (reason == AcquireOutcome.Kind.CONTENDED && isRegistrationDue(pending)) {
            pending.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
            services.timers.start(pending.timer, nowNs);
        } else {
            awaitChange(pending, reason, nowNs);
        }
    }

    /** Waits for a push of the nodes that have refused, or for a delay of the policy. */
    private void awaitChange(PendingAcquire pending, AcquireOutcome.Kind reason, long nowNs) {
        boolean isContended = reason == AcquireOutcome.Kind.CONTENDED;
        boolean isRefusedAgain = isContended && pending.plan() != PendingAcquire.Plan.UNCONTENDED;
        boolean mayBeUnregistered = isRefusedAgain && pending.queue instanceof PlainQueue;
        Waiting waiting = pending.waiting;
        long generation = pending.generation;
        long delayNs = retryDelays.delayNs(pending.lease, reason, pending.lease.shortestRemainingTtlMs());
        // The policy is code of the user, and a send may end a connection: both may start or wake the waiter.
        if (pending.generation != generation || waiting.timerStep == Waiting.TimerStep.WAKE) {
            return;
        }
        if (isContended && crowd.hasPlace(pending)) {
            crowd.awaitTurn(pending, nowNs);
            return;
        }
        if (mayBeUnregistered) {
            // Before the question, which may throw: a waiter without a timer would wait for ever.
            timers.startTimer(pending, Waiting.TimerStep.ATTEMPT,
                    nowNs + Math.min(pending.deadlineNs - nowNs, delayNs));
            crowd.watchRefusing(pending);
            if (pending.generation != generation || waiting.timerStep == Waiting.TimerStep.WAKE) {
                return;
            }
        }
        pending.planNext(PendingAcquire.Plan.ALL);
        if (isContended && pending.queue.registeredMask != 0) {
            timers.awaitPush(pending, nowNs, delayNs);
        } else {
            long pauseNs = reason == AcquireOutcome.Kind.NO_QUORUM ? quarantinePauseNs(nowNs, delayNs) : delayNs;
            timers.startTimer(pending, Waiting.TimerStep.ATTEMPT,
                    nowNs + Math.min(pending.deadlineNs - nowNs, pauseNs));
        }
        pending.queue.passOn();
    }

    /** While too few nodes vote because of quarantines, no attempt can succeed: at most twice the time that is left. */
    private long quarantinePauseNs(long nowNs, long delayNs) {
        long pauseNs = Math.max(delayNs, 1);
        while (pauseNs < QUARANTINE_RETRY_NS && !services.isQuorumPossibleBy(nowNs + pauseNs)) {
            pauseNs *= 2;
        }
        return Math.max(delayNs, Math.min(pauseNs, QUARANTINE_RETRY_NS));
    }

    /** The first refusal is that of a plain command, which registers for no push: the coordinator is asked at once. */
    private boolean isRegistrationDue(PendingAcquire pending) {
        return pending.plan() == PendingAcquire.Plan.UNCONTENDED && scheduler.registrations.isAllowed(pending.queue)
                && services.coordinator.of(pending.lease.key) != Coordinator.NONE;
    }

    /** Cancels an acquisition, unless the request is one of an earlier use of the handle. */
    void cancel(LeaseHandle lease) {
        if (lease.cancelledUse != lease.useCount()) {
            return;
        }
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.CANCELLED);
        } else if (lease.storedState() == LeaseState.HELD) {
            // Its caller has not used the lock.
            scheduler.keeper.retention.onEnded(lease.claim);
            scheduler.releases.releaseNow(lease);
        } else if (lease.storedState() == LeaseState.ACQUIRING && lease.spec.retainNsMax > 0) {
            // Its caller has not submitted it yet, and may get a retained lock.
            lease.deferToNextTurn(lease.loop(), RequestMailbox.CANCEL);
        }
    }

    /** A request of an acquisition threw: ends the acquisition and rolls back its commands. */
    void abortAfterFailure(LeaseHandle lease) {
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /**
     * An event of an acquisition threw: ends the acquisition, unless a timer of its round or of its wait still will.
     *
     * @param claim that of the event, which may hold the lock already; null for none
     */
    void endIfStuck(PendingAcquire pending, Claim claim) {
        LeaseHandle lease = pending.lease;
        boolean isInRound = pending.claim != null && pending.claim.roundTimer.isStarted();
        if (lease == null || lease.pending != pending || isInRound || pending.timer.isStarted()) {
            return;
        }
        boolean isHeld = claim != null && claim.phase == Claim.Phase.HELD
                && (claim.lease == null || claim.lease == lease);
        if (isHeld) {
            abortHeld(pending, claim);
        } else {
            abort(pending, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /** The lock is granted, but nothing may extend or end the lease. */
    private void abortHeld(PendingAcquire pending, Claim claim) {
        LockKey key = pending.lease.key;
        LockKey lockedKey = claim.key;
        try {
            if (claim.lease != null) {
                scheduler.keeper.untrack(claim.lease);
                // The end of the acquisition counts it down again.
                scheduler.keeper.extendableCount += pending.lease.isExtendable() ? 1 : 0;
            }
            scheduler.keeper.retention.onEnded(claim);
            scheduler.releases.abandon(claim);
        } finally {
            try {
                abort(pending, AcquireOutcome.Kind.NO_QUORUM);
            } finally {
                scheduler.handOff(key, lockedKey);
            }
        }
    }

    void abort(PendingAcquire pending, AcquireOutcome.Kind kind) {
        try {
            Claim claim = pending.claim;
            if (claim != null) {
                try {
                    if (claim.phase != Claim.Phase.QUERYING_HOLDER) {
                        // The votes are those of an attempt that has not failed.
                        pending.lease.lastReason = AcquireOutcome.Kind.CANCELLED;
                        pending.lease.recordVotes(claim);
                    }
                } finally {
                    // The votes are for a message only, and may need memory.
                    rollBack(claim);
                }
            } else {
                WaitReasons.record(pending, causeOfSet(pending));
            }
        } finally {
            Claim left = pending.claim;
            if (left != null) {
                // The rollback threw: its keys expire.
                services.timers.stop(left.roundTimer);
                scheduler.releases.leaveToExpiry(left);
            }
            scheduler.finish(pending, kind, kind);
        }
    }

    // ---- waiting for others of this client --------------------------------------------------------------------------

    /** The wait of an acquisition ends with an attempt. Returns whether it has a place already. */
    boolean endWait(PendingAcquire pending) {
        if (pending.state == PendingAcquire.State.QUEUED) {
            scheduler.waiterCount--;
        }
        services.timers.stop(pending.timer);
        if (pending.queue != null) {
            pending.queue.endPause();
        }
        boolean hasPlace = pending.waiting.hasPlace;
        pending.waiting.hasPlace = false;
        return hasPlace;
    }

    /** An acquisition follows others of this client for the same lock. */
    void append(PendingAcquire pending, WaitQueue queue) {
        queue.append(pending);
        awaitPromotion(pending);
        queue.onAppended();
    }

    /** The acquisition ends, and its place in a queue with it. */
    void dequeue(PendingAcquire pending, LeaseHandle holder) {
        WaitQueue queue = pending.queue;
        boolean wasHead = queue.head() == pending;
        queue.remove(pending);
        if (wasHead) {
            try {
                if (holder == null && queue.head() != null) {
                    WaitReasons.inherit(queue.head(), pending.lease);
                }
            } finally {
                queues.promoteNext(queue, holder);
            }
        } else if (pending.state == PendingAcquire.State.ATTEMPTING) {
            queue.onFollowerLeft();
        }
    }

    /** Other sets of this client, or the end of a lease of this client, wake the set. */
    void awaitOthers(PendingAcquire pending) {
        long nowNs = services.clock.nanoTime();
        long heldUntilNs = queues.setOrder.heldUntilNs((SetQueue) pending.queue);
        pending.backOff();
        pending.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
        pending.waiting.backstopNs = retryDelays.backstopNs();
        pending.waiting.expiryNs = heldUntilNs - nowNs > 0 ? heldUntilNs : nowNs + WAIT_NS_MAX;
        timers.startTimer(pending, Waiting.TimerStep.BACKSTOP, nowNs + pending.waiting.backstopNs);
    }

    /** Why a set need not make an attempt; null for none, or for another kind. */
    WaitCause causeOfSet(PendingAcquire pending) {
        boolean isServed = pending.queue instanceof SetQueue set && queues.setOrder.isServed(set);
        if (!isServed) {
            return null;
        }
        SetQueue queue = (SetQueue) pending.queue;
        boolean isHeld = queues.setOrder.heldUntilNs(queue) - services.clock.nanoTime() > 0;
        return isHeld ? WaitCause.HELD_LOCALLY : WaitCause.OLDER_SET;
    }

    /** Waits for a place until the wait budget ends. A new acquisition also needs room for one more waiter. */
    void awaitPlace(PendingAcquire pending) {
        LeaseHandle lease = pending.lease;
        if (lease.waitNs <= 0 || lease.isStarting && scheduler.waiterCount >= waitersMax) {
            pending.backOff();
            scheduler.finish(pending, AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
            return;
        }
        if (pending.waiting != null) {
            // Its next step is an attempt, also if it was to look.
            pending.waiting.onAttempt();
        }
        scheduler.waiterCount++;
        pending.awaitPlace();
        scheduler.inFlight.append(pending);
        lease.lastReason = AcquireOutcome.Kind.OVERLOADED;
        services.timers.start(pending.timer, pending.deadlineNs);
    }

    /** An acquisition ends between two attempts, or before the first one. */
    void stopWaiting(PendingAcquire pending) {
        switch (pending.state) {
            case QUEUED -> scheduler.waiterCount--;
            case AWAITING_PLACE -> {
                scheduler.waiterCount--;
                scheduler.inFlight.remove(pending);
            }
            default -> returnPlace(pending);
        }
    }

    void returnPlace(PendingAcquire pending) {
        if (pending.hasPlace()) {
            pending.waiting.hasPlace = false;
            scheduler.releasePlace();
        }
    }

    /** Passes the place of an ended attempt to the first waiter. It starts by timer, after the current call. */
    void passOnPlace() {
        PendingAcquire next = scheduler.inFlight.passOn();
        scheduler.waiterCount--;
        next.backOff();
        services.timers.start(next.timer, services.clock.nanoTime());
    }

    /** A waiter has become the head of its queue. */
    void onPromoted(PendingAcquire head) {
        scheduler.waiterCount--;
        head.backOff();
        head.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
    }
}
