package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.fence.FenceOrSearch;
import dev.redlock.engine.key.KeyedMap;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.node.send.CommandDetail;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.FreeList;
import dev.redlock.quorum.Vote;
import java.util.Arrays;
import java.util.BitSet;
import java.util.random.RandomGenerator;

/**
 * Takes permits of semaphores. Each is a plain lock: this class chooses the permit that an attempt asks for, and no
 * vote, lease or release is different from that of a plain lock.
 *
 * <ul>
 * <li>The first attempt asks for a random permit that this client does not use.
 * <li>If another client has it, a search follows: one node looks at all permits, from one on that the token of the
 * search chooses, and names free ones. The next attempts ask for them, also {@link PermitFollowers}.
 * <li>If none is free, the node pushes the next change of each permit. The next attempt asks for the permit of the
 * push.
 * </ul>
 *
 * <p>The coordinator of the semaphore searches, which is that of each permit. In doubt any other node does.
 *
 * @threading event-loop-confined
 */
final class PermitOperation {

    /** Permits that a search has named and another client has taken, before an attempt fails. */
    private static final int SEARCHES_MAX = 8;
    /** An acquisition without a wait budget makes attempts for this many node timeouts. */
    private static final int TRY_TIMEOUTS = 3;
    /** A search takes a node longer than a coordinator's refusal. */
    private static final int GRACES = 4;
    /** The reply of the script has the first free permit below this unit. */
    private static final int FIRST_UNIT = 512;

    private final LoopServices services;
    private final ClaimPool claims;
    private final AcquireScheduler scheduler;
    /** Set once. */
    private PermitFollowers followers;
    private final RandomGenerator random;
    private final KeyedMap<UsedPermits> used = new KeyedMap<>();
    private final FreeList<Search> searches = new FreeList<>(LoopServices.POOLED_MIN);

    /**
     * The permits of the semaphores of one name that attempts and leases of this event loop use.
     *
     * @threading event-loop-confined
     */
    private static final class UsedPermits extends KeyedMap.Keyed {
        private static final int PERMITS_MIN = 8;

        private final BitSet numbers = new BitSet();
        /** By permit. Attempts in doubt ask for a permit that a lease of this client has. */
        private int[] userCounts = new int[PERMITS_MIN];

        void add(int number) {
            if (number >= userCounts.length) {
                userCounts = Arrays.copyOf(userCounts, Math.max(number + 1, 2 * userCounts.length));
            }
            userCounts[number]++;
            numbers.set(number);
        }

        void remove(int number) {
            numbers.set(number, --userCounts[number] > 0);
        }

        /** Counts the used permits below a limit. Those above it are leases from before the limit was lowered. */
        int count(int limit) {
            return numbers.length() <= limit ? numbers.cardinality() : numbers.get(0, limit).cardinality();
        }
    }

    /**
     * A question to one node for free permits.
     *
     * @threading event-loop-confined
     */
    private final class Search implements FenceOrSearch {

        private Claim claim;
        /** Free permits that it wants to know. */
        private int wantedCount;

        @Override
        public void onReply(int nodeIndex, long value) {
            int count = ((PermitKey) claim.pending.lease.key).permitCount();
            int first = (int) (value % FIRST_UNIT) - 1;
            long others = value / FIRST_UNIT;
            if (value <= 0) {
                onNoneFree(claim, nodeIndex, value);
            } else if (first < 0 || first >= count || others >>> Math.min(PermitHints.OTHERS_MAX, count - 1) != 0) {
                PermitOperation.this.onNoReply(claim);
            } else {
                onFound(claim, first, others);
            }
        }

        @Override
        public void onNoReply(int nodeIndex, Vote vote) {
            PermitOperation.this.onNoReply(claim);
        }

        @Override
        public void onTimeout() {
            PermitOperation.this.onNoReply(claim);
        }

        @Override
        public long number() {
            return claim.phase == Claim.Phase.SEARCHING ? wantedCount : 1;
        }

        @Override
        public void onRecycled() {
            claim = null;
            searches.push(this);
        }
    }

    PermitOperation(LoopServices services, ClaimPool claims, AcquireScheduler scheduler, RandomGenerator random) {
        this.services = services;
        this.claims = claims;
        this.scheduler = scheduler;
        this.random = random;
    }

    void connect(PermitFollowers behindTheHead) {
        followers = behindTheHead;
    }

    void trim() {
        searches.trim();
    }

    /** Starts an attempt for a permit, or searches for one first. */
    void start(PendingAcquire pending) {
        PermitQueue queue = PermitQueue.of(pending);
        boolean isFollower = queue != null && queue.head() != pending;
        if (pending.waiting != null && (pending.lease.attemptCount == 0 || isFollower)) {
            pending.waiting.hasSearched = false;
            pending.waiting.searchCount = 0;
        }
        if (isFollower) {
            attempt(pending, pending.waiting().permit);
            return;
        }
        if (pending.lease.waitNs <= 0) {
            long nowNs = services.clock.nanoTime();
            pending.deadlineNs = nowNs + TRY_TIMEOUTS * pending.lease.times.nodeTimeoutNs;
            if (!pending.isStarted()) {
                // A search may precede its attempts, or end it.
                pending.start(nowNs, services.telemetry.onAcquireStarted(nowNs));
            }
        }
        PermitKey.Permit permit = queue == null
                ? unusedPermit((PermitKey) pending.lease.key)
                : permitOfHead(pending, queue);
        if (permit == null) {
            search(pending);
        } else {
            attempt(pending, permit);
        }
        if (queue != null) {
            followers.start(queue);
        }
    }

    /** Chooses the permit that the head of a queue asks for; null if it has to search. */
    private PermitKey.Permit permitOfHead(PendingAcquire head, PermitQueue queue) {
        boolean isUncontended = head.plan() == PendingAcquire.Plan.UNCONTENDED;
        if (queue.hints == null) {
            queue.hints = new PermitHints(!isUncontended);
        }
        PermitKey.Permit permit = queue.hints.permit;
        queue.hints.permit = null;
        if (permit != null && !isUsed(queue.semaphore(), permit.number())) {
            head.waiting().isPermitPushed = queue.hints.isPermitPushed;
            return permit;
        }
        head.waiting().isPermitPushed = false;
        if (isUncontended) {
            return unusedPermit(queue.semaphore());
        }
        return head.plan() == PendingAcquire.Plan.COORDINATOR_FIRST
                ? followers.nextPermit(queue, head)
                : null;
    }

    private void attempt(PendingAcquire pending, PermitKey.Permit permit) {
        PermitKey semaphore = (PermitKey) pending.lease.key;
        UsedPermits permits = used.get(semaphore.resourceKey(0));
        if (permits == null) {
            permits = new UsedPermits();
            permits.key = semaphore.resourceKey(0);
            used.add(permits);
        }
        permits.add(permit.number());
        scheduler.operation.start(pending, permit);
    }

    /** Whether an attempt or a lease of this client uses a permit. */
    boolean isUsed(PermitKey semaphore, int number) {
        UsedPermits permits = used.get(semaphore.resourceKey(0));
        return permits != null && permits.numbers.get(number);
    }

    /** Returns whether no attempt and no lease of this client uses a permit of any semaphore. */
    boolean isIdle() {
        return used.size() == 0;
    }

    /** Counts the permits of a semaphore that attempts and leases of this client use. */
    int usedCount(PermitKey semaphore) {
        UsedPermits permits = used.get(semaphore.resourceKey(0));
        return permits == null ? 0 : permits.count(semaphore.permitCount());
    }

    /** Returns a random permit that this client does not use; null if it uses all. */
    PermitKey.Permit unusedPermit(PermitKey semaphore) {
        int count = semaphore.permitCount();
        int first = random.nextInt(count);
        UsedPermits permits = used.get(semaphore.resourceKey(0));
        if (permits == null) {
            return semaphore.permitKey(first);
        }
        int number = permits.numbers.nextClearBit(first);
        if (number >= count) {
            number = permits.numbers.nextClearBit(0);
        }
        return number >= count ? null : semaphore.permitKey(number);
    }

    /** An attempt or a lease of this client has ended, and does not use its permit any more. */
    void onEnded(LockKey semaphore, LockKey permit) {
        UsedPermits permits = used.get(semaphore.resourceKey(0));
        if (permits != null) {
            permits.remove(((PermitKey.Permit) permit).number());
            if (permits.numbers.isEmpty()) {
                used.remove(permits);
            }
        }
    }

    // ---- search -----------------------------------------------------------------------------------------------------

    /**
     * An attempt has failed. A refusal says nothing about the other permits.
     *
     * @return false if the acquisition has to wait for its next attempt, or to end
     */
    boolean continueAfter(PendingAcquire pending, AcquireOutcome.Kind reason) {
        PermitQueue queue = PermitQueue.of(pending);
        if (queue != null && queue.head() != pending) {
            followers.onFailed(pending, reason);
            return true;
        }
        if (queue != null) {
            queue.hints.isDisputed = true;
        }
        return reason == AcquireOutcome.Kind.CONTENDED && searchAgain(pending);
    }

    /**
     * Searches for a free permit, unless the next attempt is due for another reason or the nodes push changes of all
     * permits.
     */
    private boolean searchAgain(PendingAcquire pending) {
        boolean isNextDue = pending.isNextDue();
        if (!isNextDue && !isOver(pending) && attemptNextHint(pending)) {
            return true;
        }
        // A push ends the registration of its permit, and the refusal of its node starts it again.
        pending.waiting().hasSearched &= isRegistered(pending, services.coordinator.of(pending.lease.key));
        boolean isEachPermitRegistered = pending.waiting().isPermitPushed && pending.waiting().hasSearched;
        if (isNextDue || isEachPermitRegistered || isOver(pending)) {
            return false;
        }
        if (pending.waiting().searchCount >= SEARCHES_MAX) {
            pending.waiting().searchCount = 0;
            if (pending.queue != null) {
                // The attempts have registered for the permits that they asked for alone.
                scheduler.registrations.remove(pending.queue);
            }
            return false;
        }
        onRefused(pending);
        runGuarded(pending, () -> search(pending));
        return true;
    }

    /** Asks for a permit that no waiter behind the head has asked for; false if there is none. */
    private boolean attemptNextHint(PendingAcquire head) {
        PermitKey.Permit permit = head.queue == null ? null : followers.nextPermit(PermitQueue.of(head), head);
        if (permit == null) {
            return false;
        }
        onRefused(head);
        runGuarded(head, () -> attempt(head, permit));
        return true;
    }

    /** An attempt has been refused, and the acquisition continues without a delay. */
    private void onRefused(PendingAcquire pending) {
        services.counters.onAttemptFailed(AcquireOutcome.Kind.CONTENDED);
        pending.lease.lastReason = AcquireOutcome.Kind.CONTENDED;
        pending.continueAttempt();
    }

    private boolean isOver(PendingAcquire pending) {
        return pending.deadlineNs - services.clock.nanoTime() <= 0;
    }

    private static boolean isRegistered(PendingAcquire pending, int nodeIndex) {
        return pending.queue != null && nodeIndex != Coordinator.NONE
                && (pending.queue.registeredMask & 1L << nodeIndex) != 0;
    }

    private void search(PendingAcquire pending) {
        boolean isDoubted = pending.plan() == PendingAcquire.Plan.ALL && pending.waiting().searchCount == 0
                || pending.waiting().searchCount % 2 != 0;
        // The attempt that follows the search has this plan.
        pending.planNext(PendingAcquire.Plan.ALL);
        pending.waiting().searchCount++;
        pending.waiting().hasSearched = false;
        Claim claim = claims.take();
        claim.beginSearch(pending);
        claim.isWakeUpWanted = scheduler.registrations.isPossible(pending);
        claim.fenceOrSearch = takeSearch(claim,
                1 + (pending.queue == null ? 0 : pending.queue.queuedCount(PermitHints.OTHERS_MAX)));
        if (claim.isWakeUpWanted) {
            // Before the search: a release of this client may follow it, and no node pushes that.
            scheduler.queues.resourceQueues.addPermits(PermitQueue.of(pending));
        }
        long nowNs = services.clock.nanoTime();
        services.tokens.next(claim.token, nowNs);
        int nodeIndex = nodeFor(claim, isDoubted);
        if (nodeIndex == Coordinator.NONE) {
            onNoReply(claim);
            return;
        }
        services.timers.start(claim.roundTimer,
                nowNs + Math.min(pending.lease.times.nodeTimeoutNs / 2,
                        GRACES * services.coordinator.graceNs(nodeIndex)));
        claim.addPendingReplies(1);
        services.fanOut.send(claim, CommandKind.REMAINING_TTL, CommandDetail.NONE, 1L << nodeIndex);
    }

    /**
     * Chooses the node that searches: the coordinator, or a random one of those that vote and are asked for permits.
     */
    private int nodeFor(Claim claim, boolean isDoubted) {
        int coordinator = services.coordinator.of(claim.key);
        if (coordinator != Coordinator.NONE && !isDoubted) {
            return coordinator;
        }
        long voting = services.fanOut.votingMask(claim);
        voting &= services.config.attempts().isThrifty() ? services.thriftyQuorum.of(claim.key) : voting;
        for (int skipped = voting == 0 ? 0 : random.nextInt(Long.bitCount(voting)); skipped > 0; skipped--) {
            voting &= voting - 1;
        }
        return voting == 0 ? Coordinator.NONE : Long.numberOfTrailingZeros(voting);
    }

    private Search takeSearch(Claim claim, int wantedCount) {
        Search pooled = searches.poll();
        Search search = pooled == null ? new Search() : pooled;
        search.claim = claim;
        search.wantedCount = wantedCount;
        return search;
    }

    private void onFound(Claim claim, int first, long others) {
        PendingAcquire pending = claim.pending;
        PermitKey semaphore = (PermitKey) pending.lease.key;
        PermitQueue queue = PermitQueue.of(pending);
        int number = first;
        if (queue != null) {
            queue.hints.onFound(first, others, semaphore.permitCount());
        }
        if (queue != null && isUsed(semaphore, first)) {
            int other = followers.takeUnused(semaphore, queue.hints.found);
            number = other < 0 ? first : other;
        }
        scheduler.holderQuery.untrack(claim);
        if (queue != null && followers.isAskedFor(queue, number)) {
            // Other attempts of this client ask for all permits that the node has found.
            scheduler.retries.onAttemptFailed(pending, AcquireOutcome.Kind.CONTENDED);
            return;
        }
        attemptAtAllNodes(pending, semaphore.permitKey(number));
        if (queue != null) {
            followers.start(queue);
        }
    }

    private void onNoneFree(Claim claim, int nodeIndex, long value) {
        claim.contention().recordRefusal(value);
        claim.round.onVote(nodeIndex, Vote.REFUSED);
        if (scheduler.holderQuery.isTypeDue(claim) && !isOver(claim.pending)) {
            scheduler.holderQuery.start(claim, false);
        } else {
            onNoneFree(claim);
        }
    }

    /** No permit is free, as one node says. */
    void onNoneFree(Claim claim) {
        PendingAcquire pending = claim.pending;
        int nodeIndex = Long.numberOfTrailingZeros(claim.round.refused());
        pending.lease.recordVotes(claim);
        if (claim.isWakeUpWanted && services.node(nodeIndex, claim).hasWakeUps()) {
            scheduler.registrations.add(pending.queue, 1L << nodeIndex);
            pending.waiting().hasSearched = true;
        }
        scheduler.holderQuery.untrack(claim);
        pending.waiting().searchCount = 0;
        pending.waiting().isPermitPushed = false;
        if (pending.queue != null) {
            PermitQueue.of(pending).hints.found.clear();
            PermitQueue.of(pending).hints.isDisputed = true;
            if (!PermitQueue.of(pending).hints.pushed.isEmpty()) {
                pending.waiting.onChanged();
            }
        }
        scheduler.retries.onLockTaken(pending, AcquireOutcome.Kind.CONTENDED);
    }

    /** The node has not replied in time, or there is none: asks all nodes for a random permit. */
    private void onNoReply(Claim claim) {
        PendingAcquire pending = claim.pending;
        scheduler.holderQuery.untrack(claim);
        PermitKey semaphore = (PermitKey) pending.lease.key;
        if (pending.lease.attemptCount == 0) {
            pending.lease.lastReason = AcquireOutcome.Kind.NO_QUORUM;
        }
        PermitKey.Permit permit = unusedPermit(semaphore);
        // If this client uses all, the refusal of one says how long at most.
        attemptAtAllNodes(pending,
                permit == null ? semaphore.permitKey(random.nextInt(semaphore.permitCount())) : permit);
    }

    private void attemptAtAllNodes(PendingAcquire pending, PermitKey.Permit permit) {
        if (pending.queue != null && followers.isAskedFor(PermitQueue.of(pending), permit.number())) {
            // Another attempt of this client asks for the permit.
            scheduler.retries.onLockTaken(pending, AcquireOutcome.Kind.CONTENDED);
            return;
        }
        if (isOver(pending)) {
            // No attempt would end in time, so the reason is that of the last one.
            scheduler.retries.onLockTaken(pending, WaitReasons.of(pending.lease));
            return;
        }
        runGuarded(pending, () -> attempt(pending, permit));
    }

    /** The step follows a reply, so no other event would end the acquisition if it throws. */
    private void runGuarded(PendingAcquire pending, Runnable step) {
        LeaseHandle lease = pending.lease;
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            if (lease.pending == pending) {
                scheduler.retries.abortAfterFailure(lease);
            }
            throw e;
        }
    }
}
