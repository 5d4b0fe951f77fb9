package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.node.NodeView;
import dev.redlock.node.send.FreeList;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.VoteFailure;
import java.util.random.RandomGenerator;

/**
 * Schedules the attempts of pending acquisitions, from the call to the outcome. Only the head of a local queue makes
 * attempts, except for permits, and at most {@link ClientConfig.Limits#inFlightMax} attempts are in flight at once.
 *
 * @threading event-loop-confined
 */
final class AcquireScheduler implements Waiters {

    // Its parts, which call each other in circles: set once, before the first acquisition.
    WaitQueues queues;
    Registrations registrations;
    Fairness fairness;
    AcquireOperation operation;
    PermitOperation permits;
    Reservations reservations;
    HolderQuery holderQuery;
    FencedClaims fencing;
    Retries retries;
    WaitTimers waitTimers;
    Crowd crowd;
    private final LoopServices services;
    final LeaseKeeper keeper;
    final ReleaseOperation releases;
    private final ClientConfig.Limits limits;
    final InFlightLimit inFlight;
    private final FreeList<PendingAcquire> free = new FreeList<>(LoopServices.POOLED_MIN);
    PendingAcquire firstActive;
    /** Acquisitions that wait for another one of this client. */
    int waiterCount;

    private AcquireScheduler(LoopServices services, LeaseKeeper keeper, ReleaseOperation releases) {
        this.services = services;
        this.keeper = keeper;
        this.releases = releases;
        this.limits = services.config.limits();
        this.inFlight = new InFlightLimit(limits.inFlightMax());
    }

    /** Wires the scheduler to its parts. */
    static AcquireScheduler create(LoopServices services, ClaimPool claims, LeaseKeeper keeper,
            RandomGenerator random) {
        AcquireScheduler created = new AcquireScheduler(services, keeper, keeper.releases);
        created.connect(claims, random);
        return created;
    }

    /** Each part gets what it needs. None uses the scheduler in its constructor. */
    private void connect(ClaimPool claims, RandomGenerator random) {
        RetryDelays retryDelays = new RetryDelays(random, services.config.attempts().retryPolicy());
        operation = new AcquireOperation(services, claims, this);
        operation.connect(new PartialRound(services, this, operation));
        permits = new PermitOperation(services, claims, this, random);
        PermitFollowers followers = new PermitFollowers(services, this, permits);
        permits.connect(followers);
        reservations = new Reservations(services, claims, releases);
        holderQuery = new HolderQuery(services, claims, releases, this);
        fencing = new FencedClaims(services, operation);
        UnownedCommands commands = new UnownedCommands(services, claims);
        queues = new WaitQueues(services, commands, this);
        registrations = queues.registrations;
        fairness = new Fairness(services, this, queues, retryDelays);
        KeyQuestions questions = new KeyQuestions(services, commands, registrations);
        crowd = new Crowd(services, this, queues, questions, commands, retryDelays);
        queues.connect(fairness, crowd, followers);
        waitTimers = new WaitTimers(services, this, queues, crowd, questions, retryDelays);
        retries = new Retries(services, this, queues, waitTimers, crowd, retryDelays);
    }

    // ---- starting ---------------------------------------------------------------------------------------------------

    void acquire(LeaseHandle lease) {
        lease.isStarting = true;
        try {
            start(lease);
        } finally {
            lease.isStarting = false;
        }
    }

    private void start(LeaseHandle lease) {
        if (services.isClosing) {
            lease.completeAcquire(AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED);
            return;
        }
        if (keeper.retention.count != 0 && keeper.retention.onAcquire(lease)) {
            return;
        }
        boolean isExtendable = lease.isExtendable();
        WaitQueue queue = lease.waitNs > 0 && queues.count != 0 ? queues.get(lease.key) : null;
        if (isExtendable && keeper.extendableCount >= limits.autoExtendedLeasesMax()
                || queue != null && waiterCount >= limits.waitersMax()) {
            reject(lease, AcquireOutcome.Kind.OVERLOADED);
            return;
        }
        PendingAcquire pending = take(lease);
        keeper.extendableCount += isExtendable ? 1 : 0;
        if (lease.waitNs > 0) {
            startWithBudget(pending, queue);
        } else {
            startAttempt(pending);
        }
    }

    /** Ends an acquisition that starts no attempt. */
    void reject(LeaseHandle lease, AcquireOutcome.Kind kind) {
        AcquireSpec spec = lease.spec;
        services.telemetry.rare.onAcquireRejected(lease.key, lease, spec.isFenced, spec.group, kind);
        lease.completeAcquire(kind, kind);
    }

    /** Starts an acquisition that may wait; it follows the others in the queue of its lock, if there is one. */
    private void startWithBudget(PendingAcquire pending, WaitQueue queue) {
        LeaseHandle lease = pending.lease;
        long nowNs = services.clock.nanoTime();
        pending.start(nowNs, services.telemetry.onAcquireStarted(nowNs));
        pending.deadlineNs = nowNs + Math.min(lease.waitNs, Retries.WAIT_NS_MAX);
        if (queue != null) {
            retries.append(pending, queue);
            return;
        }
        // Most first attempts for plain locks succeed, so they have no queue. Thrifty ones ask different nodes: a later
        // one that is refused first would precede the others.
        if (lease.key.kind != LockKind.PLAIN || services.config.attempts().isThrifty()) {
            queues.enqueue(pending);
        }
        if (pending.queue instanceof SetQueue set && !queues.setOrder.onArrived(set)) {
            retries.awaitOthers(pending);
        } else if (fairness.size == 0 || !fairness.pauseIfReturning(pending)) {
            startAttempt(pending);
        }
    }

    // ---- attempts ---------------------------------------------------------------------------------------------------

    void startAttempt(PendingAcquire pending) {
        boolean hasPlace = pending.waiting != null && retries.endWait(pending);
        if (!hasPlace && inFlight.count >= inFlight.max) {
            retries.awaitPlace(pending);
            return;
        }
        inFlight.count += hasPlace ? 0 : 1;
        pending.attempt();
        if (pending.waiting != null) {
            pending.waiting.onAttempt();
            pending.lease.waitCause = null;
        }
        LeaseHandle lease = pending.lease;
        long generation = pending.generation;
        try {
            if (lease.key.kind == LockKind.PERMIT) {
                permits.start(pending);
            } else {
                operation.start(pending, lease.key);
            }
        } catch (RuntimeException | Error e) {
            // Its timer has fired or is stopped, so no other event would end it.
            if (pending.generation == generation && lease.pending == pending) {
                retries.abortAfterFailure(lease);
            }
            throw e;
        }
    }

    /** An attempt has ended. */
    void releasePlace() {
        if (inFlight.first == null) {
            inFlight.count--;
        } else {
            retries.passOnPlace();
        }
    }

    void onAcquired(PendingAcquire pending, Claim claim, long startNs, long nowNs) {
        if (pending.lease.waitNs > 0) {
            onWaitEnded(pending, nowNs - startNs, nowNs);
        }
        if (queues.count != 0) {
            queues.onHeld(pending.lease.key, pending.queue, claim.validUntilNs);
        }
        // If it throws, nothing would extend or end the lease: the acquisition ends without it.
        keeper.hold(pending.lease, claim, nowNs);
        finish(pending, AcquireOutcome.Kind.ACQUIRED, AcquireOutcome.Kind.ACQUIRED);
    }

    /** An acquisition that could wait has succeeded. */
    private void onWaitEnded(PendingAcquire pending, long attemptNs, long nowNs) {
        if (pending.queue != null) {
            pending.queue.onTicketUsed();
        }
        fairness.countUse(attemptNs);
        if (fairness.size != 0) {
            fairness.onAcquired(pending, nowNs);
        }
    }

    // ---- ending -----------------------------------------------------------------------------------------------------

    /** Ends an acquisition, promotes the next waiter, then notifies the caller, even if the promotion throws. */
    void finish(PendingAcquire pending, AcquireOutcome.Kind kind,
            AcquireOutcome.Kind reason) {
        LeaseHandle lease = pending.lease;
        WaitQueue queue = pending.queue;
        if (kind != AcquireOutcome.Kind.ACQUIRED && lease.isExtendable()) {
            keeper.extendableCount--;
        }
        try {
            freePlaces(pending, kind == AcquireOutcome.Kind.ACQUIRED ? lease : null);
        } finally {
            try {
                services.telemetry.onAcquireEnded(pending, kind, reason);
                if (pending.isReserving()) {
                    reservations.withdraw(pending);
                }
            } finally {
                recycle(pending);
                lease.completeAcquire(kind, reason);
            }
        }
        if (queue != null) {
            // An attempt may end at once, and its callback may cancel any other acquisition, but no more this one.
            queue.startDueFollowers();
        }
    }

    /** Frees the place of an attempt, or that of a waiter, and the one in a queue. */
    private void freePlaces(PendingAcquire pending, LeaseHandle holder) {
        services.timers.stop(pending.timer);
        if (pending.state == PendingAcquire.State.ATTEMPTING) {
            releasePlace();
        } else {
            retries.stopWaiting(pending);
        }
        if (pending.queue != null) {
            retries.dequeue(pending, holder);
        }
    }

    @Override
    public void onLost(LockKey key, long waitNs, long acquiredNs, long nowNs) {
        countLease(key, waitNs, nowNs - acquiredNs);
        fairness.onEnding(key, 0, acquiredNs, 0, nowNs);
    }

    @Override
    public int onEnding(LockKey key, LeaseHandle lease, long refusedMask, long nowNs) {
        countLease(key, lease.waitNs, nowNs - lease.acquiredNs);
        if (refusedMask != 0 && lease.waitNs > 0) {
            fairness.onCompetitor(key);
        }
        boolean isAnyLockContended = queues.count != 0 || fairness.size != 0;
        if (isAnyLockContended) {
            services.fanOut.sendLastTo(services.coordinator.of(key));
        }
        return isAnyLockContended || fairness.untilQuestionNs <= 0
                ? fairness.onEnding(key, lease.waitNs, lease.acquiredNs, lease.claim.holderMask, nowNs)
                : Coordinator.NONE;
    }

    private void countLease(LockKey key, long waitNs, long heldNs) {
        if (waitNs > 0 && key.kind != LockKind.READ) {
            fairness.countUse(heldNs);
        }
    }

    @Override
    public void askForMark(LockKey key, int node) {
        queues.marks.ask(key, node);
    }

    @Override
    public void handOff(LockKey key, LockKey lockedKey) {
        if (key.kind == LockKind.PERMIT) {
            permits.onEnded(key, lockedKey);
        }
        if (queues.count != 0) {
            queues.handOff(key, lockedKey);
        }
    }

    /** A node may have lost keys: revokes its votes in rounds that are not decided. */
    void revoke(NodeView node, VoteFailure failure) {
        for (PendingAcquire pending = firstActive; pending != null; pending = pending.nextActive) {
            if (pending.claim != null && services.isNodeOf(pending.claim, node)) {
                operation.revoke(pending.claim, node.index(), failure);
            }
        }
    }

    // ---- pool -------------------------------------------------------------------------------------------------------

    PendingAcquire take(LeaseHandle lease) {
        PendingAcquire pooled = free.poll();
        PendingAcquire pending = pooled == null ? new PendingAcquire(waitTimers::onTimer) : pooled;
        pending.reset(lease);
        lease.pending = pending;
        pending.previousActive = null;
        pending.nextActive = firstActive;
        if (firstActive != null) {
            firstActive.previousActive = pending;
        }
        firstActive = pending;
        services.counters.add(ConductorCounters.WAITING, 1);
        return pending;
    }

    private void recycle(PendingAcquire pending) {
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
        services.counters.add(ConductorCounters.WAITING, -1);
        pending.free();
        free.push(pending);
    }

    /** Acquisitions in the pool. */
    int pooledCount() {
        return free.length();
    }

    void trim() {
        free.trim();
        queues.trim();
        fencing.trim();
        permits.trim();
    }
}
