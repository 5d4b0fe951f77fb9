package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.crowd.Place;
import dev.redlock.engine.key.LockKey;

/**
 * Decides when an acquisition that waits for its next attempt acts. A push wakes it when the lock is released. The
 * timer covers the rest: the end of the holder's ttl, which servers notice late; a coordinator that stops; and lost
 * pushes. What the timer does is its {@link Waiting.TimerStep step}.
 *
 * <p>Some steps ask for the key instead of making an attempt. A waiter has one such question at a time ({@link
 * Waiting#ask}), and an answer counts as long as nothing has started or planned its next attempt since.
 *
 * @threading event-loop-confined
 */
final class WaitTimers {

    private static final int LOSSES_MAX = 64;
    /** A longer ttl in nanoseconds could exceed the range. */
    private static final long TTL_MS_MAX = Retries.WAIT_NS_MAX / NS_PER_MS - 1;
    /** Between two attempts of a backstop, one node is asked for the key as often: at least 4 s. */
    private static final int CHECKS_MAX = 15;
    /** Checks of one time share their writes and reads. */
    private static final long CHECK_GROUP_NS = 1 << 24;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final WaitQueues queues;
    private final Crowd crowd;
    private final KeyQuestions questions;
    private final RetryDelays retryDelays;

    WaitTimers(LoopServices services, AcquireScheduler scheduler, WaitQueues queues, Crowd crowd,
            KeyQuestions questions, RetryDelays retryDelays) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
        this.crowd = crowd;
        this.questions = questions;
        this.retryDelays = retryDelays;
    }

    /** A push is to wake the acquisition when the lock is released. */
    void awaitPush(PendingAcquire pending, long nowNs, long delayNs) {
        long remainingTtlMs = pending.lease.shortestRemainingTtlMs();
        long expiryNs = expiryNs(pending, nowNs, remainingTtlMs);
        // The other permits of a semaphore expire as the last search has said.
        boolean isOneOfPermits = pending.queue instanceof PermitQueue && pending.waiting.isPermitPushed;
        pending.waiting.expiryNs = isOneOfPermits ? WaitQueues.earlier(pending.waiting.expiryNs, expiryNs) : expiryNs;
        long drawnNs = retryDelays.backstopNs();
        pending.waiting.backstopNs = Math.max(delayNs, drawnNs);
        // Nodes that have refused the last attempt, and push the change without which no attempt can succeed.
        long pushingMask = pending.queue.registeredMask & pending.lease.refusedMask;
        boolean isCheckEnough = pending.queue instanceof PlainQueue
                && (pending.queue.isEntered() || services.majority.isPreventedBy(pushingMask));
        pending.waiting.checksLeft = isCheckEnough ? CHECKS_MAX : 0;
        if (Long.bitCount(pending.queue.registeredMask) == 1 && services.voters.length > 1) {
            startTimer(pending, Waiting.TimerStep.WATCH, nowNs + Math.min(delayNs, drawnNs));
        } else {
            startBackstop(pending, nowNs);
        }
    }

    /** Returns when the key of the holder expires, and the turn of this client comes. */
    private long expiryNs(PendingAcquire pending, long nowNs, long remainingTtlMs) {
        // One millisecond more than the node said, because it rounds down.
        long expiryNs = nowNs
                + (remainingTtlMs < 0 || remainingTtlMs > TTL_MS_MAX
                        ? Retries.WAIT_NS_MAX
                        : (remainingTtlMs + 1) * NS_PER_MS);
        return expiryNs + positionDelayNs(pending, expiryNs);
    }

    /** A waiter may be registered nowhere: asks all nodes soon. */
    private void attemptSoon(PendingAcquire pending, long nowNs) {
        startTimer(pending, Waiting.TimerStep.ATTEMPT, nowNs + retryDelays.unregisteredNs());
    }

    /** The key of the holder has this ttl, as the node that was asked knows. */
    void onTtlKnown(PendingAcquire pending, long nowNs, long remainingTtlMs) {
        pending.lease.shortestRemainingTtlMs = remainingTtlMs < 0 ? Long.MAX_VALUE : remainingTtlMs;
        pending.waiting.expiryNs = expiryNs(pending, nowNs, remainingTtlMs);
    }

    /** Another client may have the lock since. */
    void onTtlUnknown(PendingAcquire pending) {
        pending.lease.shortestRemainingTtlMs = -1;
    }

    /** One of the nodes that have refused the last attempt has reported its ttl. The shortest one counts. */
    private void onTtlOfOneKnown(PendingAcquire pending, long nowNs, long remainingTtlMs) {
        LeaseHandle lease = pending.lease;
        Waiting waiting = pending.waiting;
        long ttlMs = remainingTtlMs < 0 ? Long.MAX_VALUE : remainingTtlMs;
        boolean isShortest = lease.shortestRemainingTtlMs < 0 || ttlMs < lease.shortestRemainingTtlMs;
        if (!isShortest) {
            return;
        }
        lease.shortestRemainingTtlMs = ttlMs;
        if (ttlMs > services.config.terms().maxTtlMs()) {
            // Probably no lock: the next attempt asks for its type.
            waiting.checksLeft = 0;
        }
        waiting.expiryNs = expiryNs(pending, nowNs, remainingTtlMs);
        long dueNs = pending.timer.deadlineNs();
        startTimer(pending, waiting.timerStep,
                waiting.timerStep.isForPush ? dueNs : WaitQueues.earlier(dueNs, waiting.expiryNs));
    }

    private void startBackstop(PendingAcquire pending, long nowNs) {
        long atNs = nowNs + pending.waiting.backstopNs;
        boolean isCheck = pending.waiting.checksLeft > 0;
        startTimer(pending, Waiting.TimerStep.BACKSTOP, isCheck ? atNs - (atNs & CHECK_GROUP_NS - 1) : atNs);
    }

    /** The acquisition waits longer than most: the pushes of all nodes wake it from now on. */
    private void watch(PendingAcquire pending, long nowNs) {
        startTimer(pending, Waiting.TimerStep.BACKSTOP, nowNs + pending.waiting.backstopNs);
        if (pending.queue.isEntered()) {
            questions.watchOthers(pending);
        } else {
            questions.watch(pending.queue);
        }
    }

    /**
     * Plans the next attempt. A coordinator that refuses again and again is asked together with the others from time to
     * time: it may be wrong.
     */
    void plan(PendingAcquire head, PendingAcquire.Plan plan) {
        boolean isCoordinatorDoubted = head.waiting.lossCount % LOSSES_MAX == LOSSES_MAX - 1;
        head.planNext(isCoordinatorDoubted ? PendingAcquire.Plan.ALL : plan);
    }

    /** A push has reported a change of the key: starts the next attempt at a time. */
    void wake(PendingAcquire head, PendingAcquire.Plan plan, long atNs) {
        plan(head, plan);
        long startNs = atNs + positionDelayNs(head, atNs);
        // A later push does not postpone the attempt: other waiters of the client may register for the key all the
        // time.
        boolean isStartKnown = head.waiting.timerStep == Waiting.TimerStep.WAKE;
        startTimer(head, Waiting.TimerStep.WAKE,
                isStartKnown ? WaitQueues.earlier(startNs, head.timer.deadlineNs()) : startNs);
    }

    /** At most half of the time that is left, so that a short budget is not spent behind others. */
    private long positionDelayNs(PendingAcquire head, long atNs) {
        long delayNs = Math.max(head.waiting.splitPauseLeftNs(atNs),
                services.coordinator.positionDelayNs(head.queue.key, head.queue.position()));
        return Math.max(0, Math.min(delayNs, (head.deadlineNs - atNs) / 2));
    }

    /** The timer of an acquisition that waits has fired. */
    void onTimer(PendingAcquire pending, long nowNs) {
        try {
            step(pending, nowNs);
        } catch (Throwable e) {
            scheduler.retries.endIfStuck(pending, null);
            throw e;
        }
    }

    private void step(PendingAcquire pending, long nowNs) {
        LeaseHandle lease = pending.lease;
        if (pending.deadlineNs - nowNs <= 0) {
            WaitReasons.record(pending, scheduler.retries.causeOfSet(pending));
            scheduler.finish(pending, AcquireOutcome.Kind.TIMED_OUT, WaitReasons.of(lease));
        } else if (pending.state == PendingAcquire.State.BACKING_OFF) {
            Waiting.TimerStep step = pending.waiting.timerStep;
            pending.waiting.timerStep = Waiting.TimerStep.ATTEMPT;
            if (step == Waiting.TimerStep.WATCH) {
                watch(pending, nowNs);
                return;
            }
            if (step == Waiting.TimerStep.BACKSTOP && pending.queue instanceof SetQueue set
                    && queues.setOrder.isServed(set)) {
                scheduler.retries.awaitOthers(pending);
                return;
            }
            if (step == Waiting.TimerStep.BACKSTOP && crowd.isEnterDue(pending, nowNs)) {
                pending.planNext(PendingAcquire.Plan.COORDINATOR_FIRST);
            } else if (step == Waiting.TimerStep.BACKSTOP && check(pending, nowNs)
                    || step == Waiting.TimerStep.LOOK && crowd.onLookDue(pending, nowNs)) {
                return;
            }
            if (step == Waiting.TimerStep.BACKSTOP || step == Waiting.TimerStep.CHECK) {
                services.telemetry.rare.onBackstop(lease.key);
            }
            scheduler.startAttempt(pending);
        }
    }

    /**
     * No push came from the nodes that have refused the last attempt, without which none can succeed. So the lock is in
     * use, unless a push is lost: asks one of them for the key, which costs much less than an attempt.
     *
     * @return false if no attempt may be left out
     */
    private boolean check(PendingAcquire pending, long nowNs) {
        if (pending.waiting.checksLeft <= 0 || pending.waiting.isAsking()) {
            return false;
        }
        long pushingMask = pending.queue.registeredMask & usingMask(pending);
        if (!services.majority.isPreventedBy(pushingMask)) {
            return false;
        }
        pending.waiting.checksLeft--;
        LockKey key = pending.queue.key;
        int node = services.coordinator.firstOf(key, pushingMask);
        long timeoutNs = services.coordinator.timeoutNs(node, pending.lease.times.nodeTimeoutNs);
        // Before the question, which may fail at once.
        startTimer(pending, Waiting.TimerStep.CHECK, nowNs + timeoutNs);
        questions.check(pending, node);
        return true;
    }

    /** Starts the timer, which the end of the holder's ttl and the end of the wait budget precede. */
    void startTimer(PendingAcquire pending, Waiting.TimerStep step, long atNs) {
        pending.waiting.timerStep = step;
        long dueNs = WaitQueues.earlier(atNs, pending.deadlineNs);
        if (step.isForPush && pending.waiting.expiryNs - dueNs < 0) {
            pending.waiting.timerStep = Waiting.TimerStep.ATTEMPT;
            plan(pending, PendingAcquire.Plan.COORDINATOR_FIRST);
            dueNs = pending.waiting.expiryNs;
        }
        if (scheduler.reservations.isRenewedBefore(pending, dueNs)) {
            pending.waiting.timerStep = Waiting.TimerStep.ATTEMPT;
            dueNs = scheduler.reservations.renewalNs(pending);
        }
        services.timers.start(pending.timer, dueNs);
    }

    /** Returns how soon a waiter acts that may be registered nowhere. */
    long unregisteredNs() {
        return retryDelays.unregisteredNs();
    }

    // ---- answers ----------------------------------------------------------------------------------------------------

    /** A node has answered a question for the key. */
    void onChecked(Claim claim, int nodeIndex, long remainingTtlMs) {
        PendingAcquire head = waiterOf(claim);
        if (head == null) {
            return;
        }
        if (!services.node(nodeIndex, claim).hasWakeUps()) {
            // The node has answered, and refused to register.
            onUnregistered(head, nodeIndex);
        }
        long nowNs = services.clock.nanoTime();
        if (remainingTtlMs == HolderQuery.KEY_MISSING) {
            onMissing(head, nodeIndex, nowNs);
        } else {
            onUsed(head, nodeIndex, nowNs, remainingTtlMs);
        }
    }

    private void onMissing(PendingAcquire head, int nodeIndex, long nowNs) {
        Place place = PlainQueue.placeOf(head);
        if (place.isEntered() && !place.isAt(nodeIndex)) {
            place.onMissing(nodeIndex);
            wakeIfFree(head, nowNs);
            return;
        }
        if (head.waiting.timerStep == Waiting.TimerStep.CHECK) {
            services.telemetry.rare.onBackstop(head.queue.key);
        }
        wake(head, place.isEntered()
                ? PendingAcquire.Plan.COORDINATOR_FIRST
                : PendingAcquire.Plan.ALL, nowNs);
    }

    private void onUsed(PendingAcquire head, int nodeIndex, long nowNs, long remainingTtlMs) {
        Waiting.TimerStep step = head.waiting.timerStep;
        PlainQueue.placeOf(head).onUsed(nodeIndex);
        if (step == Waiting.TimerStep.LOOK) {
            crowd.onLooked(head, nowNs, remainingTtlMs);
        } else if (step == Waiting.TimerStep.CHECK) {
            onTtlKnown(head, nowNs, remainingTtlMs);
            startBackstop(head, nowNs);
        } else {
            onTtlOfOneKnown(head, nowNs, remainingTtlMs);
            wakeIfFree(head, nowNs);
        }
    }

    /**
     * The other nodes have answered the head. If enough of them lack the key, the coordinator may be wrong, or a push
     * is lost: all nodes are asked.
     */
    private void wakeIfFree(PendingAcquire head, long nowNs) {
        boolean isAnswered = !head.waiting.isAsking();
        if (isAnswered && PlainQueue.placeOf(head).isMissing() && !services.majority.isPreventedBy(usingMask(head))) {
            if (head.waiting.timerStep == Waiting.TimerStep.BACKSTOP) {
                services.telemetry.rare.onBackstop(head.queue.key);
            }
            wake(head, PendingAcquire.Plan.ALL, nowNs);
        }
    }

    private static long usingMask(PendingAcquire head) {
        return PlainQueue.placeOf(head).usedMask(head.lease.refusedMask);
    }

    /** A node has not answered a question for the key, so it may not push either. The timer of a check stays. */
    void onNotChecked(Claim claim, int nodeIndex) {
        PendingAcquire head = waiterOf(claim);
        Waiting waiting = head == null ? null : head.waiting;
        boolean hasOwnTimer = waiting != null
                && (waiting.timerStep == Waiting.TimerStep.CHECK || waiting.timerStep == Waiting.TimerStep.LOOK);
        if (waiting != null && claim.isWakeUpWanted) {
            queues.registrations.remove(head.queue, nodeIndex);
        }
        if (waiting == null || hasOwnTimer) {
            return;
        }
        onUnregistered(head, nodeIndex);
    }

    private void onUnregistered(PendingAcquire head, int nodeIndex) {
        head.waiting.checksLeft = 0;
        queues.registrations.remove(head.queue, nodeIndex);
        if (head.queue.registeredMask == 0 && head.waiting.timerStep.isForPush) {
            attemptSoon(head, services.clock.nanoTime());
        }
    }

    /**
     * The waiter whose question this is, if nothing has started or planned its next attempt since; otherwise null. The
     * question ends with the answer of the last node.
     */
    PendingAcquire waiterOf(Claim claim) {
        WaitQueue queue = queues.get(claim.key);
        PendingAcquire head = queue == null ? null : queue.head();
        Waiting waiting = head == null ? null : head.waiting;
        if (waiting == null || !waiting.isAsking(claim)) {
            return null;
        }
        if (claim.pendingReplyCount == 1) {
            waiting.endQuestion();
        }
        boolean isPlanned = waiting.timerStep == Waiting.TimerStep.WAKE || queue.isPausing() || queue.isHeldLocally();
        return isPlanned || head.state != PendingAcquire.State.BACKING_OFF ? null : head;
    }
}
