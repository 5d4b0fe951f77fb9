package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.engine.key.RecentValues;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;

/**
 * Shows a client that has a lock many times in a row whether another one waits, for the kinds of lock without tickets.
 *
 * <ol>
 * <li>A refused waiter leaves a mark at the coordinator: a key that expires after half a second. A set needs none,
 * because it leaves its reservation there.
 * <li>A release that asks reads how long the mark still exists.
 * <li>If there is one, the client leaves the lock free for a moment ({@link Fairness}).
 * </ol>
 *
 * <p>A queue that was served a moment ago leaves no mark, nor does one for a permit if this client has them all.
 *
 * @threading event-loop-confined
 */
final class WaitMarks {

    /** A waiter is refused again as often, by its backstop. A reservation is shorter. */
    private static final long MARK_MS = 500;
    /** Between the attempts of a queue to leave a mark: each of its refusals is one if it is rare. */
    private static final long TRY_INTERVAL_NS = 100_000_000;
    /** A queue that has waited for less is no reason to leave a lock free: the time of two handoffs and a pause. */
    private static final long SERVED_NS = 10_000_000;
    private static final long NEVER = Long.MIN_VALUE;

    private final LoopServices services;
    private final ClaimPool claims;
    private final AcquireScheduler scheduler;
    /** When this client has last tried to leave a mark for a lock. */
    private final RecentValues triedNs = new RecentValues();

    WaitMarks(LoopServices services, ClaimPool claims, AcquireScheduler scheduler) {
        this.services = services;
        this.claims = claims;
        this.scheduler = scheduler;
    }

    /** A waiter of a queue was refused: sets a mark. */
    void set(WaitQueue queue) {
        LockKey key = queue.key;
        if (SetOrder.isOfSet(queue)) {
            return;
        }
        long nowNs = services.clock.nanoTime();
        boolean isDue = !isWithin(triedNs.get(key, NEVER), nowNs, TRY_INTERVAL_NS)
                && !isWithin(queue.servedNs, nowNs, SERVED_NS) && !isRefusedByOwnLeases(key);
        int coordinator = isDue ? services.coordinator.of(key) : Coordinator.NONE;
        if (coordinator == Coordinator.NONE) {
            return;
        }
        triedNs.put(key, nowNs);
        Claim claim = take(key.markKey());
        services.tokens.next(claim.token, nowNs);
        send(claim, CommandKind.ACQUIRE, 1L << coordinator);
    }

    private boolean isRefusedByOwnLeases(LockKey key) {
        return key instanceof PermitKey semaphore && scheduler.permits.usedCount(semaphore) >= semaphore.permitCount();
    }

    /** Asks a node for the mark; {@link #onAnswer} gets the answer. */
    void ask(LockKey key, int node) {
        send(take(key.markKey()), CommandKind.REMAINING_TTL, 1L << node);
    }

    /**
     * Registers a queue for the pushes of all nodes: the coordinator, which has refused an attempt, may stop. The
     * command reads the key of the lock and changes nothing, so nothing has to be rolled back.
     */
    void watch(WaitQueue queue) {
        long mask = services.all & ~queue.registeredMask & services.wakeUpMask();
        if (mask != 0) {
            Claim claim = take(queue.key.searchKey());
            claim.isWakeUpWanted = true;
            scheduler.registrations.add(queue, send(claim, CommandKind.REMAINING_TTL, mask));
        }
    }

    /**
     * Nodes have refused an attempt for a plain lock that the coordinator had granted, by a command that neither
     * registers nor reports the ttl. Registers there; the reply has the ttl, or shows that the key has gone since.
     */
    void watchRefusing(PendingAcquire pending) {
        WaitQueue queue = pending.queue;
        LeaseHandle lease = pending.lease;
        Registrations registrations = scheduler.registrations;
        boolean isDue = lease.shortestRemainingTtlMs() < 0 && registrations.isAllowed(queue);
        long mask = isDue ? services.pushingMask(lease.key, lease.refusedMask) : 0;
        if (mask == 0) {
            return;
        }
        Claim claim = take(queue.key);
        claim.isWakeUpWanted = true;
        Waiting waiting = pending.waiting;
        waiting.check = claim;
        long generation = pending.generation;
        long sent = send(claim, CommandKind.REMAINING_TTL, mask);
        if (pending.generation == generation) {
            registrations.add(queue, sent);
            waiting.check = sent == 0 ? null : claim;
        }
    }

    /**
     * No push came from the nodes that have refused the last attempt, without which none can succeed. So the lock is in
     * use, unless a push is lost: asks one of them for the key, which costs much less than an attempt.
     *
     * @return false if no attempt may be left out
     */
    boolean check(PendingAcquire pending, long nowNs) {
        long pushingMask = pending.queue.registeredMask & pending.lease.refusedMask;
        boolean isUnanswered = pending.waiting.check != null;
        if (isUnanswered || pending.waiting.checksLeft <= 0 || pushingMask == 0) {
            return false;
        }
        pending.waiting.checksLeft--;
        LockKey key = pending.queue.key;
        int node = services.coordinator.firstOf(key, pushingMask);
        long timeoutNs = services.coordinator.timeoutNs(node, pending.lease.times.nodeTimeoutNs);
        // Before the question, which may fail at once.
        scheduler.retries.startTimer(pending, Waiting.TimerStep.CHECK, nowNs + timeoutNs);
        Claim claim = take(key);
        pending.waiting.check = claim;
        send(claim, CommandKind.REMAINING_TTL, 1L << node);
        return true;
    }

    /** A node has answered a question for the key. */
    void onChecked(Claim claim, long remainingTtlMs) {
        PendingAcquire head = waiterOf(claim);
        if (head == null) {
            return;
        }
        Retries retries = scheduler.retries;
        Waiting waiting = head.waiting;
        boolean isCheck = waiting.timerStep == Waiting.TimerStep.CHECK;
        long nowNs = services.clock.nanoTime();
        if (remainingTtlMs == HolderQuery.KEY_MISSING) {
            if (isCheck) {
                services.telemetry.rare.onBackstop(claim.key);
            }
            retries.wake(head, PendingAcquire.Plan.ALL, nowNs);
        } else if (isCheck) {
            retries.onTtlKnown(head, nowNs, remainingTtlMs);
            retries.startBackstop(head, nowNs);
        } else {
            retries.onTtlOfOneKnown(head, nowNs, remainingTtlMs);
        }
    }

    /** A node has not answered a question for the key, so it may not push either. The timer of a check stays. */
    void onNotChecked(Claim claim, int nodeIndex) {
        PendingAcquire head = waiterOf(claim);
        Waiting waiting = head == null ? null : head.waiting;
        if (waiting == null || waiting.timerStep == Waiting.TimerStep.CHECK) {
            return;
        }
        waiting.checksLeft = 0;
        WaitQueue queue = head.queue;
        scheduler.registrations.remove(queue, nodeIndex);
        if (queue.registeredMask == 0 && waiting.timerStep.isForPush) {
            scheduler.retries.attemptSoon(head, services.clock.nanoTime());
        }
    }

    /**
     * The waiter whose question this is, if nothing has started or planned its next attempt since; otherwise null. The
     * question ends with the answer of the last node.
     */
    private PendingAcquire waiterOf(Claim claim) {
        WaitQueue queue = scheduler.queues.get(claim.key);
        PendingAcquire head = queue == null ? null : queue.head();
        Waiting waiting = head == null ? null : head.waiting;
        if (waiting == null || waiting.check != claim) {
            return null;
        }
        if (claim.pendingReplyCount == 1) {
            waiting.check = null;
        }
        boolean isPlanned = waiting.timerStep == Waiting.TimerStep.WAKE || queue.isPausing || queue.isHeldLocally;
        return isPlanned || head.state != PendingAcquire.State.BACKING_OFF ? null : head;
    }

    /** Nobody owns the claim or waits for its reply, and it needs no release: a mark expires. */
    private Claim take(LockKey key) {
        Claim claim = claims.take();
        claim.beginAbandoned(key, MARK_MS);
        return claim;
    }

    private long send(Claim claim, CommandKind kind, long mask) {
        claim.addPendingReply();
        claim.addPendingReplies(Long.bitCount(mask));
        long sent = services.fanOut.send(claim, kind, CommandDetail.NONE, mask);
        claim.removePendingReply();
        return sent;
    }

    /** A node has reported how long the mark of a lock still exists; a longer time is not that of a mark. */
    void onAnswer(LockKey key, long remainingTtlMs) {
        if (remainingTtlMs > 0 && remainingTtlMs <= MARK_MS) {
            scheduler.fairness.onReported(key);
        }
    }

    private static boolean isWithin(long ns, long nowNs, long limitNs) {
        return ns != NEVER && nowNs - ns < limitNs;
    }
}
