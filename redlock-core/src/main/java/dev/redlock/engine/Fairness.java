package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.VoteFailure;
import java.util.random.RandomGenerator;

/**
 * Leaves a lock to other clients if this client takes it again and again. Its acquire directly follows its release on
 * each connection, so it would always win against the waiters of others, which the release has to wake first.
 *
 * <ol>
 * <li>A lock that nobody else wants has no {@link Competition}. One release in 10 ms of use asks the coordinator
 * whether another client waits.
 * <li>That answer starts a competition. So does a push after another client has changed the lock, a node that refused
 * this client's lease for another client, and an entry of another client in the queue
 * of a plain lock.
 * <li>The next attempt after such an answer gives way. So does the first one after more than
 * {@link ClientConfig.Limits#localHandoffsMax} handoffs in a row and some milliseconds.
 * <li>To give way for a plain lock is an attempt in order, which the coordinator refuses if another client precedes in
 * its queue. For other kinds of lock, and without pushes, it is a pause.
 * <li>A client that gave way, and got the lock, knows no other client any more.
 * </ol>
 *
 * <p>Without pushes, or with a coordinator that refuses entries and marks, nobody knows whether others wait. Then each
 * local queue takes part in a competition, and gives way by a delay of the retry policy.
 *
 * @threading event-loop-confined
 */
final class Fairness {

    private static final int CAPACITY = 256;
    /** The mean time of use between two questions. It varies, because locks may alternate in a fixed order. */
    private static final long QUESTION_INTERVAL_NS = 10_000_000;
    /**
     * A plain lock gives way at this interval. Until then, a caller that returns continues the turn of its client: a
     * handoff to another one takes as long as several short leases.
     */
    private static final long YIELD_INTERVAL_NS = 2_000_000;
    /** How long a client leaves a lock free for waiters that are in no queue. */
    private static final long PAUSE_NS = 2_000_000;
    /** Pauses take at most a tenth of the time. */
    private static final int PAUSE_MULTIPLE = 10;
    /** A caller that comes back later has left the lock free for long enough. */
    private static final long LATE_NS = 2_000_000;
    /** A caller that comes back later has no competition any more. */
    private static final long MEMORY_NS = 10_000_000;
    /** A client gives way only if the wait budget is longer. A short one is for the attempt. */
    private static final long YIELD_BUDGET_NS = 2_000_000;
    private static final long PAUSE_BUDGET_NS = 4 * PAUSE_NS;
    private static final long FORGOTTEN_NS = 1_000_000_000;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final WaitQueues queues;
    private final RetryDelays retryDelays;
    private final RandomGenerator random;
    private final int handoffsMax;
    /** No lease counts for more time than this: even of long ones, not each release asks. */
    private final long usedNsMax;
    /** A bucket for each competition, by the hash of its key. One that another replaces starts anew. */
    private final Competition[] competitions = new Competition[CAPACITY];
    /** While it is 0, no lock has a competition. */
    int size;
    /** The use until the next question. */
    long untilQuestionNs = QUESTION_INTERVAL_NS;

    /**
     * What this client knows about other clients that want one lock, and how much it has had of the lock since.
     *
     * @threading event-loop-confined
     */
    private static final class Competition {

        private static final long LONG_AGO_NS = 1_000_000_000;

        /** The lock; null if this object is free. */
        LockKey key;
        /** A node has pushed a change by another client. */
        boolean isKnown;
        /** A node has reported that another client waits. */
        boolean isReported;
        /** A lease of this client has the lock, as far as is known: a refusal says nothing about others. */
        boolean isHeld;
        /** Leases in a row that this client has ended since it last gave way. */
        int leaseCount;
        /** When the first of them began, monotonic. */
        long sinceNs;
        /** When this was last of use, monotonic. */
        long lastNs;
        /** The pause of a client without pushes: drawn once, or the shortest of many draws would win. 0: not drawn. */
        long pauseNs;

        /** When a lease of this client has last ended, monotonic; long ago before the first end. */
        long releasedNs;
        /** When this client has last paused, monotonic; long ago before the first pause. */
        long pausedNs;

        void start(LockKey newKey, long nowNs) {
            key = newKey;
            isKnown = false;
            isReported = false;
            isHeld = false;
            releasedNs = nowNs - LONG_AGO_NS;
            pausedNs = releasedNs;
            restart(nowNs);
        }

        /** Starts to count again: another client has the lock, or has got a chance. */
        void restart(long nowNs) {
            leaseCount = 0;
            pauseNs = 0;
            sinceNs = nowNs;
            lastNs = nowNs;
        }
    }

    Fairness(LoopServices services, AcquireScheduler scheduler, WaitQueues queues, RetryDelays retryDelays) {
        this.services = services;
        this.scheduler = scheduler;
        this.queues = queues;
        this.retryDelays = retryDelays;
        this.random = retryDelays.random();
        this.handoffsMax = services.config.limits().localHandoffsMax();
        this.usedNsMax = QUESTION_INTERVAL_NS / Math.max(1, handoffsMax);
        for (int bucket = 0; bucket < CAPACITY; bucket++) {
            competitions[bucket] = new Competition();
        }
    }

    // ---- competitions -----------------------------------------------------------------------------------------------

    /** The competition for a lock; null if there is none. */
    private Competition of(LockKey key) {
        Competition found = size == 0 ? null : competitions[KeyedMap.bucketOf(key.hashCode(), CAPACITY)];
        return found != null && key.equals(found.key) ? found : null;
    }

    private Competition ofOrNew(LockKey key, long nowNs) {
        Competition found = competitions[KeyedMap.bucketOf(key.hashCode(), CAPACITY)];
        if (!key.equals(found.key)) {
            size += found.key == null ? 1 : 0;
            found.start(key, nowNs);
        }
        return found;
    }

    private void end(Competition competition) {
        competition.key = null;
        size--;
    }

    /** Forgets locks that this client has not used for some time. */
    void trim() {
        for (int bucket = 0; bucket < CAPACITY && size > 0; bucket++) {
            Competition competition = competitions[bucket];
            if (competition.key != null && services.clock.nanoTime() - competition.lastNs > FORGOTTEN_NS) {
                end(competition);
            }
        }
    }

    /** An attempt of a waiter has failed. */
    void onFailed(PendingAcquire pending) {
        Competition competition = of(pending.lease.key);
        boolean hasYielded = pending.plan() == PendingAcquire.Plan.YIELDING;
        if (competition != null && !competition.isHeld && !hasYielded) {
            competition.restart(services.clock.nanoTime());
        }
    }

    /** The coordinator has granted a lock that others wait for. */
    void onFollowers(LockKey key) {
        ofOrNew(key, services.clock.nanoTime()).isKnown = true;
    }

    /** A node has pushed that another client has changed the lock of a queue. */
    void onPushed(WaitQueue queue) {
        if (!queue.kind().isShared) {
            ofOrNew(queue.key, services.clock.nanoTime()).isKnown = true;
        }
    }

    /**
     * A node has refused an attempt that a quorum has granted: another client had its key there. That client may have
     * won the coordinator, which has ended its entry.
     */
    void onCompetitor(LockKey key) {
        if (!key.kind.isShared) {
            onReported(key);
        }
    }

    /** A node has answered the question for the number of clients in its queue. */
    void onWaiting(LockKey key, long count) {
        WaitQueue queue = queues.get(key);
        int ownCount = queue != null && queue.isEntered() ? 1 : 0;
        if (count > ownCount) {
            onReported(key);
        }
    }

    /**
     * A node has not executed a command that takes a lock, leaves a mark, or asks whether another client waits. If it
     * is the coordinator, other clients may be unable to enter its queue or to leave a mark, too.
     */
    void onNotExecuted(LockKey key, int nodeIndex, VoteFailure failure) {
        WaitQueue queue = queues.get(key);
        boolean isQueueOrMark = queue != null && (key.kind == LockKind.PLAIN || queue.isMarked());
        if (isQueueOrMark && services.coordinator.of(key) == nodeIndex) {
            queue.doubtOrder(isTemporary(failure));
        }
    }

    /** A missing right, an unknown command or a key of another type may concern the queue and the mark alone. */
    private static boolean isTemporary(VoteFailure failure) {
        return switch (failure) {
            case NOPERM, WRONGTYPE, ERROR -> false;
            default -> true;
        };
    }

    /** A lease ends. A coordinator that has set its key takes entries and marks again, after an error that passes. */
    private void endTemporaryDoubt(LockKey key, long holderMask) {
        WaitQueue queue = queues.get(key);
        if (queue != null && !queue.isOrderKnown()) {
            int coordinator = services.coordinator.of(key);
            if (coordinator != Coordinator.NONE && (holderMask & 1L << coordinator) != 0) {
                queue.endTemporaryDoubt();
            }
        }
    }

    /** A node has taken the mark of this client. */
    void onMarked(LockKey key) {
        WaitQueue queue = queues.get(key);
        if (queue != null) {
            queue.setOrderKnown(true);
        }
    }

    /** A node has reported that another client waits. */
    void onReported(LockKey key) {
        ofOrNew(key, services.clock.nanoTime()).isReported = true;
    }

    /** This client has acquired or held a lock for a time. A lock that is held for no time may be taken for ever. */
    void countUse(long ns) {
        untilQuestionNs -= Math.min(ns, usedNsMax);
    }

    /** An acquisition with a wait budget has got the lock. */
    void onAcquired(PendingAcquire pending, long nowNs) {
        Competition competition = of(pending.lease.key);
        if (competition == null) {
            return;
        }
        competition.isHeld = true;
        if (pending.plan() == PendingAcquire.Plan.YIELDING) {
            // It gave way, and nobody came.
            competition.isKnown = pending.queue != null && pending.queue.hasFollowers();
        }
        if (competition.leaseCount == 0) {
            competition.sinceNs = nowNs;
        }
    }

    /**
     * A lease ends, before its release is sent.
     *
     * @param waitNs     the wait budget of its acquisition; without one, it does not ask
     * @param holderMask nodes that have its key; 0 if it is lost
     * @return the node to ask whether another client waits; {@link Coordinator#NONE} for none
     */
    int onEnding(LockKey key, long waitNs, long acquiredNs, long holderMask, long nowNs) {
        if (key.kind == LockKind.READ) {
            return Coordinator.NONE;
        }
        endTemporaryDoubt(key, holderMask);
        Competition competition = of(key);
        if (competition == null && mayCompete(key)) {
            competition = ofOrNew(key, acquiredNs);
        }
        if (competition != null) {
            competition.isKnown |= isPreceded(queues.get(key));
            competition.isHeld = false;
            competition.leaseCount++;
            competition.releasedNs = nowNs;
            competition.lastNs = nowNs;
        }
        if (waitNs <= 0 || handoffsMax == 0 || untilQuestionNs > 0 || competition != null && competition.isKnown) {
            return Coordinator.NONE;
        }
        untilQuestionNs = QUESTION_INTERVAL_NS / 2 + random.nextLong(QUESTION_INTERVAL_NS);
        return services.coordinator.of(key);
    }

    /** Whether a lock may have a competition though no other client is known. */
    private boolean mayCompete(LockKey key) {
        if (key.kind == LockKind.SET) {
            return !queues.resourceQueues.isEmpty();
        }
        WaitQueue queue = queues.get(key);
        return isPreceded(queue) || queue != null && !isOrderKnown(queue);
    }

    /** Whether the coordinator reports that others wait. */
    private boolean isOrderKnown(WaitQueue queue) {
        return queue.isOrderKnown() && services.coordinator.of(queue.key) != Coordinator.NONE;
    }

    // ---- giving way -------------------------------------------------------------------------------------------------

    /**
     * A new acquisition has no local waiter before it. If it follows a lease of this client soon, and another client
     * wants the lock, it may give way. Otherwise it asks the coordinator first, as the others do: the votes of an
     * attempt at all nodes would be split with those of a woken waiter.
     *
     * @return true if it pauses
     */
    boolean pauseIfReturning(PendingAcquire head) {
        Competition competition = head.lease.waitNs <= 0 ? null : of(head.lease.key);
        if (competition == null) {
            return false;
        }
        long nowNs = services.clock.nanoTime();
        long freeNs = nowNs - competition.releasedNs;
        boolean isLate = freeNs > LATE_NS;
        boolean isKnown = competition.isKnown || !isLate && (competition.isReported || head.hasReservedNode());
        if (freeNs > MEMORY_NS || !isKnown
                || services.coordinator.of(competition.key) == Coordinator.NONE) {
            return false;
        }
        WaitQueue queue = head.queue == null ? queues.enqueue(head) : head.queue;
        long leftNs = head.deadlineNs - nowNs;
        boolean isTurnLeft = !isLate && nowNs - competition.sinceNs < YIELD_INTERVAL_NS;
        if (mayYield(queue) && (isTurnLeft || leftNs <= YIELD_BUDGET_NS)) {
            head.planNext(PendingAcquire.Plan.PASSING);
            return false;
        }
        // While a lease of this client has the lock, a late caller has nothing to leave to others.
        boolean isDue = isLate && !competition.isHeld || isDue(queue, competition, nowNs);
        if (isDue && mayYield(queue)) {
            giveWay(competition, head);
        } else if (isDue && !isLate && !mayYield(queue) && leftNs > PAUSE_BUDGET_NS) {
            head.backOff();
            pause(competition, queue, PAUSE_NS);
            return true;
        } else {
            head.planNext(queues.registrations.isAllowed(queue)
                    ? PendingAcquire.Plan.COORDINATOR_FIRST
                    : PendingAcquire.Plan.UNCONTENDED);
        }
        return false;
    }

    /** Starts the attempt of the first local waiter after a lease of this client, or gives way. */
    void handOff(WaitQueue queue) {
        PendingAcquire head = queue.head();
        long generation = head.generation;
        Competition competition = of(queue.key);
        boolean isOrderKnown = competition == null || isOrderKnown(queue);
        long nowNs = services.clock.nanoTime();
        boolean isDue = competition != null
                && (isOrderKnown ? isDue(queue, competition, nowNs) : isDrawnPauseDue(competition, head.lease, nowNs));
        if (head.generation != generation) {
            // The retry policy has re-entered the client and ended this acquisition or started its attempt.
            return;
        }
        boolean isBackingOff = head.state == PendingAcquire.State.BACKING_OFF;
        if (isDue && isBackingOff && isOrderKnown && mayYield(queue)) {
            giveWay(competition, head);
            queue.giveWay(nowNs);
            scheduler.startAttempt(head);
        } else if (isDue && isBackingOff) {
            pause(competition, queue, isOrderKnown ? PAUSE_NS : competition.pauseNs);
        } else if (!isDue && isBackingOff) {
            head.planNext(planOfHandoff(queue, head));
            scheduler.startAttempt(head);
        } else if (!isDue && !queue.isHandedToFollower()) {
            // If it is due, the attempt precedes the release, and the delay after the refusal is the pause.
            head.waiting.retryImmediately = true;
        }
    }

    /** The coordinator must see that a turn is taken, or those behind it would wait for it. */
    private PendingAcquire.Plan planOfHandoff(WaitQueue queue, PendingAcquire next) {
        boolean isTurn = queue.isEntered() && !queue.isPreceded();
        boolean isCoordinatorNeeded = isTurn || next.hasReservedNode();
        return isCoordinatorNeeded && queues.registrations.isAllowed(queue)
                ? PendingAcquire.Plan.COORDINATOR_FIRST
                : PendingAcquire.Plan.UNCONTENDED;
    }

    private boolean isDue(WaitQueue queue, Competition competition, long nowNs) {
        boolean mayYield = mayYield(queue);
        boolean isReported = competition.isReported && !queue.isEntered();
        competition.isReported = false;
        if (isReported && (mayYield || nowNs - competition.pausedNs >= PAUSE_MULTIPLE * PAUSE_NS)) {
            return true;
        }
        long intervalNs = mayYield ? YIELD_INTERVAL_NS : PAUSE_MULTIPLE * PAUSE_NS;
        return isLimitReached(competition) && nowNs - competition.sinceNs >= intervalNs
                && (competition.isKnown || queue.isOverlapping());
    }

    /** Returns whether another client is before this one. An attempt that follows a release at once would pass it. */
    private static boolean isPreceded(WaitQueue queue) {
        return queue != null && queue.isPreceded();
    }

    private boolean isLimitReached(Competition competition) {
        return handoffsMax != 0 && competition.leaseCount > handoffsMax;
    }

    private boolean isDrawnPauseDue(Competition competition, LeaseHandle next, long nowNs) {
        if (!isLimitReached(competition)) {
            return false;
        }
        if (competition.pauseNs == 0) {
            competition.pauseNs = retryDelays.delayNs(next, AcquireOutcome.Kind.CONTENDED, -1);
        }
        return (nowNs - competition.sinceNs) / PAUSE_MULTIPLE >= competition.pauseNs;
    }

    private boolean mayYield(WaitQueue queue) {
        return queue instanceof PlainQueue && queues.registrations.isAllowed(queue);
    }

    /** The next attempt gets the lock only if no other client precedes in the queue. */
    private void giveWay(Competition competition, PendingAcquire head) {
        competition.restart(services.clock.nanoTime());
        head.planNext(PendingAcquire.Plan.YIELDING);
    }

    /** Waits as after a refused attempt, so that an attempt of another client finds the lock free. */
    private void pause(Competition competition, WaitQueue queue, long pauseNs) {
        long nowNs = services.clock.nanoTime();
        competition.restart(nowNs);
        competition.pausedNs = nowNs;
        queues.pause(queue, nowNs + pauseNs);
    }
}
