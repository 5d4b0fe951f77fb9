package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.callback.UserCallbacks;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import java.util.ArrayDeque;
import java.util.BitSet;

/**
 * Starts attempts of the waiters behind the head of a semaphore's queue, so that several free permits are taken at the
 * same time. Such a follower makes one attempt for one permit, and then waits again, at its place in the queue: the
 * head alone searches, backs off and awaits pushes.
 *
 * <ul>
 * <li>A follower starts while the head has an attempt or a search in progress, and after the waiters before it.
 * <li>It asks for a permit that a search has found free, that a node has pushed, or that this client has released.
 * Until a first refusal, it may also ask for a random one that this client does not use.
 * <li>Two attempts of the client do not ask for one permit at the same time.
 * </ul>
 *
 * @threading event-loop-confined
 */
final class PermitFollowers implements PermitQueue.Followers {

    /** Followers that ask for random permits at the same time, unless the client has more permits than this. */
    private static final int GUESSES_MIN = 7;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final PermitOperation permits;
    /** Queues whose followers start when the event is over: a push to several queues, or the end of an acquisition. */
    private final ArrayDeque<PermitQueue> due = new ArrayDeque<>();
    private boolean isStarting;

    PermitFollowers(LoopServices services, AcquireScheduler scheduler, PermitOperation permits) {
        this.services = services;
        this.scheduler = scheduler;
        this.permits = permits;
    }

    @Override
    public void startDue() {
        if (isStarting) {
            // An attempt has ended at once. The call that has started it goes on.
            return;
        }
        isStarting = true;
        try {
            for (PermitQueue queue = due.poll(); queue != null; queue = due.poll()) {
                start(queue);
            }
        } finally {
            isStarting = false;
        }
    }

    @Override
    public void start(PermitQueue queue) {
        LockKey key = queue.key;
        // An attempt may end at once, and its callback may empty the queue.
        while (key != null && queue.key == key && mayStart(queue)) {
            PendingAcquire next = queue.firstQueued();
            PermitKey.Permit permit = next == null ? null : nextPermit(queue, next);
            if (permit == null) {
                return;
            }
            start(next, permit);
        }
    }

    private boolean mayStart(PermitQueue queue) {
        return queue.hints != null && queue.head().state == PendingAcquire.State.ATTEMPTING
                && scheduler.inFlight.count < scheduler.inFlight.max && !services.isClosing;
    }

    private void start(PendingAcquire next, PermitKey.Permit permit) {
        next.waiting().permit = permit;
        PermitQueue.of(next).hints.followerCount++;
        try {
            scheduler.startAttempt(next);
        } catch (RuntimeException | Error e) {
            // The scheduler has ended the acquisition. The head must not fail with it.
            UserCallbacks.logRequestThrown(e);
        }
    }

    /** Takes the best hint, and sets the plan for it; null, and no change, if an attempt would probably be refused. */
    PermitKey.Permit nextPermit(PermitQueue queue, PendingAcquire pending) {
        PermitHints hints = queue.hints;
        int number = takeUnused(queue.semaphore(), hints.pushed);
        if (number >= 0) {
            return chosen(pending, queue.semaphore().permitKey(number), PendingAcquire.Plan.COORDINATOR_FIRST);
        }
        number = takeUnused(queue.semaphore(), hints.found);
        if (number >= 0) {
            return chosen(pending, queue.semaphore().permitKey(number), PendingAcquire.Plan.ALL);
        }
        PermitKey.Permit guessed = mayGuess(queue) ? permits.unusedPermit(queue.semaphore()) : null;
        return guessed == null ? null : chosen(pending, guessed, PendingAcquire.Plan.UNCONTENDED);
    }

    private static PermitKey.Permit chosen(PendingAcquire pending, PermitKey.Permit permit, PendingAcquire.Plan plan) {
        pending.waiting().isPermitPushed = plan == PendingAcquire.Plan.COORDINATOR_FIRST;
        pending.planNext(plan);
        return permit;
    }

    /** While nobody competes, each round of attempts may be as large as all earlier ones together. */
    private boolean mayGuess(PermitQueue queue) {
        PermitHints hints = queue.hints;
        return !hints.isDisputed && hints.followerCount < Math.max(GUESSES_MIN,
                permits.usedCount(queue.semaphore()) - hints.followerCount);
    }

    /** Removes numbers from a set until the permit is not used by this client; returns its number, or -1. */
    int takeUnused(PermitKey semaphore, BitSet numbers) {
        for (int number = numbers.nextSetBit(0); number >= 0; number = numbers.nextSetBit(number)) {
            numbers.clear(number);
            if (!permits.isUsed(semaphore, number)) {
                return number;
            }
        }
        return -1;
    }

    /** Whether a follower can ask for a permit, now or when the head starts its attempt. */
    private boolean isOneFor(PermitQueue queue, int number) {
        return !queue.isPausing() && !permits.isUsed(queue.semaphore(), number) && queue.firstQueued() != null
                && scheduler.inFlight.count < scheduler.inFlight.max;
    }

    @Override
    public boolean isEachUsed(PermitKey semaphore) {
        return permits.usedCount(semaphore) >= semaphore.permitCount();
    }

    /** Whether the attempt of a follower asks for a permit. */
    boolean isAskedFor(PermitQueue queue, int number) {
        int left = queue.hints.followerCount;
        for (PendingAcquire next = queue.head().waiting.nextInQueue; left > 0
                && next != null; next = next.waiting.nextInQueue) {
            if (next.state == PendingAcquire.State.ATTEMPTING) {
                left--;
                if (next.waiting().permit.number() == number) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * This client has released the next permit of the head, which is busy: starts a follower for it, unless an attempt
     * asks for it already.
     */
    @Override
    public boolean handOff(PermitQueue queue) {
        PermitKey.Permit permit = queue.hints.permit;
        boolean isFree = permit != null && !permits.isUsed(queue.semaphore(), permit.number());
        PendingAcquire next = isFree && mayStart(queue) ? queue.firstQueued() : null;
        if (next == null) {
            return false;
        }
        queue.hints.permit = null;
        next.planNext(PendingAcquire.Plan.UNCONTENDED);
        next.waiting().isPermitPushed = false;
        start(next, permit);
        return true;
    }

    /**
     * A permit of a semaphore has changed: the next attempt asks for it, or the next waiter does if the head is busy
     * with another permit. The node does not push the next change of this permit, but still those of the other ones. So
     * if a second one has changed and there is only one waiter, the client searches again.
     */
    @Override
    public boolean onPushed(PermitQueue queue, int nodeIndex, int number) {
        PendingAcquire head = queue.head();
        PermitHints hints = queue.hints;
        boolean isAttempting = head.claim != null && head.claim.phase == Claim.Phase.ACQUIRING;
        boolean isSearching = head.claim != null && head.claim.phase == Claim.Phase.SEARCHING;
        boolean isWoken = isAttempting ? head.waiting.isWoken() : head.waiting.timerStep == Waiting.TimerStep.WAKE;
        boolean isOtherPermit = hints.permit != null && hints.permit.number() != number;
        if ((isAttempting || isOtherPermit) && isOneFor(queue, number)) {
            hints.pushed.set(number);
            scheduler.registrations.remove(queue, nodeIndex);
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            due.add(queue);
            return true;
        }
        if (isOtherPermit) {
            hints.permit = null;
            // Also after an attempt for a permit that a waiter behind the head was to ask for.
            head.waiting().hasSearched = false;
        } else if (!isWoken && !isSearching && !queue.isPausing()) {
            hints.permit = queue.semaphore().permitKey(number);
            hints.isPermitPushed = true;
        }
        if (isAttempting) {
            scheduler.registrations.remove(queue, nodeIndex);
            services.telemetry.rare.onWoken(queue.key, nodeIndex);
            head.waiting.onChanged();
        }
        return isAttempting;
    }

    /** The attempt of a follower has failed. */
    void onFailed(PendingAcquire pending, AcquireOutcome.Kind reason) {
        PermitQueue queue = PermitQueue.of(pending);
        queue.hints.followerCount--;
        queue.hints.isDisputed = true;
        if (reason != AcquireOutcome.Kind.CONTENDED) {
            queue.hints.forget();
        }
        // Nodes that refuse push the next change, or the permit was guessed. Other nodes may have used up their push.
        LeaseHandle votes = pending.lease;
        if (votes.grantedCount() + votes.failedCount() + votes.unknownCount() > 0) {
            queue.head().waiting().hasSearched = false;
            if (reason == AcquireOutcome.Kind.CONTENDED || !willSearch(queue.head())) {
                scheduler.queues.wakeLocally(queue);
            }
        }
        scheduler.retries.queueAgain(pending, reason);
        start(queue);
    }

    /**
     * Whether the head searches after its attempt or its retry delay anyway. If the nodes answer with errors, it must
     * not skip that delay for each failure behind it.
     */
    private static boolean willSearch(PendingAcquire head) {
        return head.state == PendingAcquire.State.ATTEMPTING
                ? head.claim != null && head.claim.phase == Claim.Phase.ACQUIRING
                : WaitReasons.of(head.lease) != AcquireOutcome.Kind.CONTENDED;
    }

    /**
     * A follower is none any more: it has a permit, its caller has cancelled, or it has become the head during its
     * attempt. A rollback wakes the head.
     */
    @Override
    public void onLeft(PermitQueue queue) {
        queue.hints.followerCount--;
        due.add(queue);
    }
}
