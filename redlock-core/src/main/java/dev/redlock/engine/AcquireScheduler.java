package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.LeaseState;
import dev.redlock.node.FreeList;
import io.netty.channel.EventLoop;

/**
 * Pending acquisitions from the call to the outcome: when each of them makes its attempts, retries, and ends. Only the
 * head of a local queue makes attempts, and at most {@link Limits#inFlightMax} do at the same time.
 *
 * @threading event-loop-confined
 */
final class AcquireScheduler {

    private static final long WAIT_NS_MAX = Long.MAX_VALUE / 4;

    private final Conductor conductor;
    private final EventLoop loop;
    private final Limits limits;
    private final RetryDelays retryDelays;
    private final WaitQueues queues;
    private final InFlightLimit inFlight;
    private final FreeList<PendingAcquire> free = new FreeList<>(Conductor.POOLED_MIN);
    private PendingAcquire firstActive;
    private int waiterCount;
    private int autoExtendedCount;

    AcquireScheduler(final Conductor conductor, final EventLoop loop, final RetryDelays retryDelays) {
        this.conductor = conductor;
        this.loop = loop;
        this.limits = conductor.config().limits();
        this.retryDelays = retryDelays;
        this.queues = new WaitQueues(conductor, this, retryDelays);
        this.inFlight = new InFlightLimit(limits.inFlightMax());
    }

    WaitQueues queues() {
        return queues;
    }

    // ---- starting ---------------------------------------------------------------------------------------------------

    void acquire(final LeaseHandle lease) {
        lease.isStarting = true;
        try {
            start(lease);
        } finally {
            lease.isStarting = false;
        }
    }

    private void start(final LeaseHandle lease) {
        if (conductor.shutdown().isClosing()) {
            lease.completeAcquire(AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        final boolean isAutoExtended = lease.extensionCountMax > 0;
        if (isAutoExtended && autoExtendedCount >= limits.autoExtendedLeasesMax()) {
            refuseOverloaded(lease);
            return;
        }
        final WaitQueue queue = lease.waitNs > 0 ? queues.get(lease.key) : null;
        if (queue != null && waiterCount >= limits.waitersMax()) {
            refuseOverloaded(lease);
            return;
        }
        final PendingAcquire pending = take(lease);
        autoExtendedCount += isAutoExtended ? 1 : 0;
        if (lease.waitNs > 0) {
            pending.deadlineNs = conductor.nowNs() + Math.min(lease.waitNs, WAIT_NS_MAX);
            enqueueWaiter(pending, queue);
        }
        if (queue == null) {
            startAttempt(pending);
        }
    }

    private void refuseOverloaded(final LeaseHandle lease) {
        conductor.counters().onOutcome(AcquireOutcome.Kind.OVERLOADED);
        lease.completeAcquire(AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
    }

    private void enqueueWaiter(final PendingAcquire pending, final WaitQueue existing) {
        if (existing == null) {
            queues.open(pending.lease.key).append(pending);
            return;
        }
        waiterCount++;
        pending.state = PendingAcquire.State.QUEUED;
        existing.append(pending);
        conductor.startTimer(pending.timer, pending.deadlineNs);
    }

    // ---- attempts ---------------------------------------------------------------------------------------------------

    void startAttempt(final PendingAcquire pending) {
        if (pending.state == PendingAcquire.State.QUEUED) {
            waiterCount--;
        }
        conductor.stopTimer(pending.timer);
        if (pending.queue != null) {
            pending.queue.isPausing = false;
        }
        if (!inFlight.tryEnter(pending)) {
            awaitInFlightSlot(pending);
            return;
        }
        pending.state = PendingAcquire.State.ATTEMPTING;
        pending.retryImmediately = false;
        pending.turn++;
        conductor.acquiring().start(pending);
    }

    /** One with a wait budget waits until the budget ends; a new one only if one more waiter is allowed. */
    private void awaitInFlightSlot(final PendingAcquire pending) {
        final LeaseHandle lease = pending.lease;
        if (lease.waitNs <= 0 || lease.isStarting && waiterCount >= limits.waitersMax()) {
            pending.state = PendingAcquire.State.BACKING_OFF;
            finish(pending, AcquireOutcome.Kind.OVERLOADED, AcquireOutcome.Kind.OVERLOADED);
            return;
        }
        waiterCount++;
        pending.state = PendingAcquire.State.AWAITING_SLOT;
        inFlight.append(pending);
        lease.recordReason(AcquireOutcome.Kind.OVERLOADED);
        conductor.startTimer(pending.timer, pending.deadlineNs);
    }

    /** An attempt has ended: the first that waits for its slot gets it, in a turn of its own. */
    private void leaveInFlight() {
        final PendingAcquire next = inFlight.leave();
        if (next != null) {
            waiterCount--;
            next.state = PendingAcquire.State.BACKING_OFF;
            conductor.startTimer(next.timer, conductor.nowNs());
        }
    }

    void leaveInFlightUnused(final PendingAcquire pending) {
        if (pending.hasSlot) {
            pending.hasSlot = false;
            leaveInFlight();
        }
    }

    void onAcquired(final PendingAcquire pending, final Claim claim, final long nowNs) {
        pending.claim = null;
        WaitQueues.startOrContinue(claim.streak, pending.queue, nowNs);
        try {
            conductor.keeper().hold(pending.lease, claim, nowNs);
        } finally {
            finish(pending, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
        }
    }

    void onAttemptFailed(final PendingAcquire pending, final AcquireOutcome.Kind reason) {
        pending.state = PendingAcquire.State.BACKING_OFF;
        leaveInFlight();
        conductor.counters().onAttemptFailed(reason);
        if (loop.isShuttingDown()) {
            // That is why the connections are gone.
            finish(pending, AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        pending.lease.recordReason(reason);
        if (pending.lease.waitNs <= 0) {
            finish(pending, reason, reason);
        } else {
            retry(pending, reason);
        }
    }

    private void retry(final PendingAcquire pending, final AcquireOutcome.Kind reason) {
        if (!pending.retryImmediately) {
            // Another client holds the lock, or may get it before the next attempt.
            pending.queue.streak.end();
        }
        final long nowNs = conductor.nowNs();
        final long leftNs = pending.deadlineNs - nowNs;
        if (leftNs <= 0) {
            finish(pending, AcquireOutcome.Kind.TIMED_OUT, reason);
        } else if (pending.retryImmediately) {
            conductor.startTimer(pending.timer, nowNs);
        } else {
            final long turn = pending.turn;
            final long delayNs = retryDelays.delayNs(pending.lease, reason, pending.lease.shortestRemainingTtlMs());
            if (pending.turn == turn) {
                conductor.startTimer(pending.timer, nowNs + Math.min(leftNs, delayNs));
            }
        }
    }

    void onTimer(final PendingAcquire pending, final long nowNs) {
        final LeaseHandle lease = pending.lease;
        if (pending.deadlineNs - nowNs <= 0) {
            finish(pending, AcquireOutcome.Kind.TIMED_OUT, lease.lastReason());
        } else if (pending.state == PendingAcquire.State.BACKING_OFF) {
            final long turn = pending.turn;
            try {
                startAttempt(pending);
            } catch (final RuntimeException | Error e) {
                // Its timer has fired: nothing else would ever end it.
                final boolean isSame = pending.turn - turn <= 1 && lease.pending == pending;
                if (isSame) {
                    giveUp(lease);
                }
                throw e;
            }
        }
    }

    // ---- ending -----------------------------------------------------------------------------------------------------

    /** Ends an acquisition, promotes the next waiter, then notifies the caller, even if something throws. */
    private void finish(final PendingAcquire pending, final AcquireOutcome.Kind kind,
            final AcquireOutcome.Kind reason) {
        final LeaseHandle lease = pending.lease;
        if (kind != AcquireOutcome.Kind.ACQUIRED && lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
        try {
            leaveQueues(pending, kind == AcquireOutcome.Kind.ACQUIRED ? lease : null);
        } finally {
            recycle(pending);
            conductor.counters().onOutcome(kind);
            lease.completeAcquire(kind, reason);
        }
    }

    private void leaveQueues(final PendingAcquire pending, final LeaseHandle holder) {
        conductor.stopTimer(pending.timer);
        stopWaiting(pending);
        final WaitQueue queue = pending.queue;
        if (queue != null) {
            final boolean wasHead = queue.head() == pending;
            queue.remove(pending);
            if (wasHead) {
                queues.promoteNext(queue, holder);
            }
        }
    }

    /** Gives up the slot that an acquisition has or waits for. */
    private void stopWaiting(final PendingAcquire pending) {
        switch (pending.state) {
            case ATTEMPTING -> leaveInFlight();
            case QUEUED -> waiterCount--;
            case AWAITING_SLOT -> {
                waiterCount--;
                inFlight.remove(pending);
            }
            default -> leaveInFlightUnused(pending);
        }
    }

    /** A waiter has become the head of its queue. */
    void onPromoted(final PendingAcquire head) {
        waiterCount--;
        head.state = PendingAcquire.State.BACKING_OFF;
        head.lease.recordReason(AcquireOutcome.Kind.CONTENDED);
    }

    /** A held lease has ended. */
    void onUntracked(final LeaseHandle lease) {
        if (lease.extensionCountMax > 0) {
            autoExtendedCount--;
        }
    }

    void cancel(final LeaseHandle lease) {
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.CANCELLED);
        } else if (lease.state() == LeaseState.HELD) {
            conductor.releasing().release(lease);
        }
    }

    /** A request of an acquisition threw: the acquisition ends, and its commands are rolled back. */
    void giveUp(final LeaseHandle lease) {
        if (lease.pending != null) {
            abort(lease.pending, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    boolean hasPending() {
        return firstActive != null;
    }

    void abortFirst(final AcquireOutcome.Kind kind) {
        abort(firstActive, kind);
    }

    private void abort(final PendingAcquire pending, final AcquireOutcome.Kind kind) {
        try {
            if (pending.claim != null) {
                pending.lease.recordVotes(pending.claim);
                conductor.acquiring().rollBack(pending.claim);
            }
        } finally {
            pending.claim = null;
            finish(pending, kind, kind);
        }
    }

    /** A node's clock has jumped: its votes in rounds that are not decided are revoked. */
    void revoke(final int nodeIndex) {
        for (PendingAcquire pending = firstActive; pending != null; pending = pending.nextActive) {
            if (pending.claim != null) {
                conductor.acquiring().revoke(pending.claim, nodeIndex);
            }
        }
    }

    // ---- pool -------------------------------------------------------------------------------------------------------

    private PendingAcquire take(final LeaseHandle lease) {
        final PendingAcquire pooled = free.poll();
        final PendingAcquire pending = pooled == null ? new PendingAcquire(this) : pooled;
        pending.reset(lease);
        lease.pending = pending;
        pending.previousActive = null;
        pending.nextActive = firstActive;
        if (firstActive != null) {
            firstActive.previousActive = pending;
        }
        firstActive = pending;
        return pending;
    }

    private void recycle(final PendingAcquire pending) {
        if (pending.previousActive == null) {
            firstActive = pending.nextActive;
        } else {
            pending.previousActive.nextActive = pending.nextActive;
        }
        if (pending.nextActive != null) {
            pending.nextActive.previousActive = pending.previousActive;
        }
        pending.previousActive = null;
        pending.nextActive = null;
        pending.lease = null;
        pending.turn++;
        pending.state = PendingAcquire.State.FREE;
        free.push(pending);
    }

    void trim() {
        free.trim();
        queues.trim();
    }
}
