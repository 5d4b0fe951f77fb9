package dev.redlock.engine;

import dev.redlock.engine.crowd.Place;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.engine.key.RecentValues;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;

/**
 * Shows a client that has a lock many times in a row whether another one waits, for the kinds of lock without a
 * queue at their coordinator.
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
        if (mask != 0) {
            watchAt(pending, mask);
        }
    }

    /** Registers at nodes for the push of the release. The reply has the ttl, or shows that the key has gone since. */
    void watchAt(PendingAcquire pending, long mask) {
        Claim claim = take(pending.queue.key);
        claim.isWakeUpWanted = true;
        ask(pending, claim, mask);
    }

    /** The nodes that have not refused it push too, and say whether they have the key. */
    void watchOthers(PendingAcquire pending) {
        long mask = services.all & ~pending.queue.registeredMask & services.wakeUpMask();
        if (mask != 0) {
            watchAt(pending, mask);
        }
    }

    private void ask(PendingAcquire pending, Claim claim, long mask) {
        WaitQueue queue = pending.queue;
        Waiting waiting = pending.waiting;
        waiting.check = claim;
        long generation = pending.generation;
        boolean isRegistering = claim.isWakeUpWanted;
        long sent = send(claim, CommandKind.REMAINING_TTL, mask);
        if (pending.generation != generation) {
            return;
        }
        if (isRegistering) {
            scheduler.registrations.add(queue, sent);
        }
        if (sent == 0) {
            waiting.check = null;
        }
    }

    /** Reads the place of a waiter. */
    void askPlace(PendingAcquire pending, int node) {
        Claim claim = take(pending.queue.key);
        claim.nameWaiter(services.waiterBulk(node));
        pending.waiting.check = claim;
        long generation = pending.generation;
        long sent = send(claim, CommandKind.PLACE, 1L << node);
        if (sent == 0 && pending.generation == generation) {
            pending.waiting.check = null;
        }
    }

    /** Reads the lock of a waiter at a node, which does not register it. */
    void readLock(PendingAcquire pending, int node) {
        ask(pending, take(pending.queue.key), 1L << node);
    }

    /** Reads the place of a deputy, then the lock, which registers the deputy. */
    void look(PendingAcquire pending, int node) {
        Claim claim = take(pending.queue.key);
        claim.nameWaiter(services.waiterBulk(node));
        boolean isRegistered = (pending.queue.registeredMask & 1L << node) != 0;
        claim.isWakeUpWanted = !isRegistered && scheduler.registrations.isAllowed(pending.queue);
        pending.waiting.check = claim;
        long generation = pending.generation;
        claim.addPendingReply();
        try {
            send(claim, CommandKind.PLACE, 1L << node);
            if (pending.generation == generation) {
                ask(pending, claim, 1L << node);
            }
        } finally {
            claim.removePendingReply();
        }
    }

    /** Removes the entry of this client from the queue of a lock; the next one is woken. */
    void leaveQueue(LockKey key, int node) {
        Claim claim = take(key);
        claim.nameWaiter(services.waiterBulk(node));
        send(claim, CommandKind.LEAVE_QUEUE, 1L << node);
    }

    /**
     * No push came from the nodes that have refused the last attempt, without which none can succeed. So the lock is in
     * use, unless a push is lost: asks one of them for the key, which costs much less than an attempt.
     *
     * @return false if no attempt may be left out
     */
    boolean check(PendingAcquire pending, long nowNs) {
        long pushingMask = pending.queue.registeredMask & usingMask(pending);
        boolean isUnanswered = pending.waiting.check != null;
        if (isUnanswered || pending.waiting.checksLeft <= 0 || !services.majority.isPreventedBy(pushingMask)) {
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
        Place place = head.queue.place;
        if (place.isEntered() && !place.isAt(nodeIndex)) {
            place.onMissing();
            wakeIfFree(head, nowNs);
            return;
        }
        if (head.waiting.timerStep == Waiting.TimerStep.CHECK) {
            services.telemetry.rare.onBackstop(head.queue.key);
        }
        scheduler.retries.wake(head, place.isEntered()
                ? PendingAcquire.Plan.COORDINATOR_FIRST
                : PendingAcquire.Plan.ALL, nowNs);
    }

    private void onUsed(PendingAcquire head, int nodeIndex, long nowNs, long remainingTtlMs) {
        Retries retries = scheduler.retries;
        Waiting.TimerStep step = head.waiting.timerStep;
        head.queue.place.onUsed(nodeIndex);
        if (step == Waiting.TimerStep.LOOK) {
            scheduler.crowd.onLooked(head, nowNs, remainingTtlMs);
        } else if (step == Waiting.TimerStep.CHECK) {
            retries.onTtlKnown(head, nowNs, remainingTtlMs);
            retries.startBackstop(head, nowNs);
        } else {
            retries.onTtlOfOneKnown(head, nowNs, remainingTtlMs);
            wakeIfFree(head, nowNs);
        }
    }

    /**
     * The other nodes have answered the head. If enough of them lack the key, the coordinator may be wrong, or a push
     * is lost: all nodes are asked.
     */
    private void wakeIfFree(PendingAcquire head, long nowNs) {
        boolean isAnswered = head.waiting.check == null;
        if (isAnswered && head.queue.place.isMissing() && !services.majority.isPreventedBy(usingMask(head))) {
            if (head.waiting.timerStep == Waiting.TimerStep.BACKSTOP) {
                services.telemetry.rare.onBackstop(head.queue.key);
            }
            scheduler.retries.wake(head, PendingAcquire.Plan.ALL, nowNs);
        }
    }

    private static long usingMask(PendingAcquire head) {
        return head.lease.refusedMask | head.queue.place.usedMask();
    }

    /** A node has not answered a question for the key, so it may not push either. The timer of a check stays. */
    void onNotChecked(Claim claim, int nodeIndex) {
        PendingAcquire head = waiterOf(claim);
        Waiting waiting = head == null ? null : head.waiting;
        boolean hasOwnTimer = waiting != null
                && (waiting.timerStep == Waiting.TimerStep.CHECK || waiting.timerStep == Waiting.TimerStep.LOOK);
        if (waiting != null && claim.isWakeUpWanted) {
            scheduler.registrations.remove(head.queue, nodeIndex);
        }
        if (waiting == null || hasOwnTimer) {
            return;
        }
        onUnregistered(head, nodeIndex);
    }

    private void onUnregistered(PendingAcquire head, int nodeIndex) {
        head.waiting.checksLeft = 0;
        scheduler.registrations.remove(head.queue, nodeIndex);
        if (head.queue.registeredMask == 0 && head.waiting.timerStep.isForPush) {
            scheduler.retries.attemptSoon(head, services.clock.nanoTime());
        }
    }

    /**
     * The waiter whose question this is, if nothing has started or planned its next attempt since; otherwise null. The
     * question ends with the answer of the last node.
     */
    PendingAcquire waiterOf(Claim claim) {
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
