package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.node.CommandKind;
import dev.redlock.node.FanOut;
import dev.redlock.node.LockKind;
import dev.redlock.node.LockRequest;
import dev.redlock.node.VoteFailure;
import dev.redlock.node.Voter;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.TokenStream;
import dev.redlock.quorum.Vote;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Runs the acquire round of an attempt. It decides as soon as the votes allow one outcome only, and rolls back an
 * attempt that fails.
 *
 * @threading event-loop-confined
 */
final class AcquireOperation {

    /** The reply of the script for a key without expiry: the largest exact integer of Lua, negated. */
    private static final long NO_EXPIRY_REPLY = -9_007_199_254_740_991L;
    /** The reply to a refused set ends with the number of the resource in use. */
    private static final int SET_NUMBER_BITS = 7;
    /** A key without expiry, in the reply to a refused set. */
    private static final long SET_TTL_MS_MAX = (1L << 53 - SET_NUMBER_BITS) - 1;

    private final LoopServices services;
    private final AcquireScheduler scheduler;
    private final ReleaseOperation releases;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final ClaimPool claims;
    private final FanOut fanOut;
    private final TokenStream tokens;
    private final long all;
    private final Voter[] voters;
    private final CommandMode commandMode;
    private final boolean isThrifty;

    AcquireOperation(LoopServices services, ClaimPool claims, ReleaseOperation releases,
            AcquireScheduler scheduler) {
        this.services = services;
        this.scheduler = scheduler;
        this.releases = releases;
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.counters = services.counters;
        this.claims = claims;
        this.fanOut = services.fanOut;
        this.tokens = services.tokens;
        this.all = services.all;
        this.voters = services.voters;
        this.commandMode = services.config.attempts().commandMode();
        this.isThrifty = services.config.attempts().isThrifty();
    }

    /** Starts the round of a new attempt, with a new token. */
    void start(PendingAcquire pending) {
        LockKey key = pending.lease.key;
        if (key.kind() == LockKind.PERMIT) {
            scheduler.permits.start(pending);
        } else {
            start(pending, key);
        }
    }

    /** Starts the round of a new attempt for a key: that of the lease, or a slot of its semaphore. */
    void start(PendingAcquire pending, LockKey key) {
        LeaseHandle lease = pending.lease;
        Claim claim = claims.take();
        claim.phase = Claim.Phase.ACQUIRING;
        claim.pending = pending;
        claim.key = key;
        claim.ttlMs = lease.ttlMs;
        claim.isWakeUpWanted = pending.plan != PendingAcquire.Plan.UNCONTENDED && isWakeUpPossible(pending);
        claim.isRemainingTtlWanted = claim.isWakeUpWanted || isRemainingTtlWanted(lease);
        claim.ttlMsMax = lease.ttlMs;
        pending.claim = claim;
        if (lease.spec.isFenced) {
            claim.guest = scheduler.fencing.take(claim);
        }
        // t1: read before the first byte goes to a socket.
        long t1Ns = clock.nanoTime();
        tokens.next(claim.token, t1Ns);
        if (key.kind() != LockKind.PLAIN) {
            claim.isRemainingTtlWanted |= isRemainingTtlFree(key);
            claim.isWakeUpWanted |= claim.isRemainingTtlWanted && mayEndRegistrations(key);
            scheduler.intentions.prepare(pending, claim, t1Ns);
        }
        claim.validUntilNs = t1Ns + lease.times.validityNs;
        if (lease.waitNs <= 0) {
            telemetry.onAcquireStarted(pending, t1Ns);
        }
        claim.roundEndNs = t1Ns + lease.times.nodeTimeoutNs;
        askFirst(claim, t1Ns);
    }

    private void askFirst(Claim claim, long t1Ns) {
        long mask = firstMask(claim, t1Ns);
        boolean isPartial = mask != all;
        claim.voterMask = isPartial ? fanOut.votingMask(claim) : all;
        timers.start(claim.roundTimer, isPartial ? hedgeAtNs(claim, mask, t1Ns) : claim.roundEndNs);
        telemetry.onAttempt(claim, t1Ns, mask);
        ask(claim, mask);
    }

    /** The nodes that the plan of an attempt asks first. */
    private long firstMask(Claim claim, long t1Ns) {
        PendingAcquire pending = claim.pending;
        LockKey key = claim.key;
        if (claim.intention != null && scheduler.intentions.isEveryNodeAsked(pending, claim, t1Ns)) {
            return all;
        }
        if (pending.plan == PendingAcquire.Plan.DOORKEEPER_FIRST || pending.plan == PendingAcquire.Plan.YIELDING) {
            int doorkeeper = services.doorkeeper.of(key);
            if (doorkeeper != Doorkeeper.NONE) {
                return 1L << doorkeeper;
            }
        }
        if (!isThrifty || pending.plan == PendingAcquire.Plan.ALL) {
            return all;
        }
        // A search for a permit asks one node, which must have the key of each slot in use.
        boolean isOrderOfResource = claim.guest != null || pending.plan != PendingAcquire.Plan.UNCONTENDED
                || pending.lease.key.kind() == LockKind.PERMIT;
        return isOrderOfResource ? services.firstVoters.of(key) : services.firstVoters.at(t1Ns, key);
    }

    /** When an attempt asks the other nodes too, unless the first ones have replied. */
    private long hedgeAtNs(Claim claim, long mask, long nowNs) {
        long leftNs = Math.max(0, claim.roundEndNs - nowNs);
        return nowNs + (Long.bitCount(mask) == 1
                ? services.doorkeeper.timeoutNs(Long.numberOfTrailingZeros(mask), leftNs)
                : services.firstVoters.delayNs(mask, leftNs));
    }

    /** Sends the acquire to more nodes. */
    private void ask(Claim claim, long mask) {
        claim.askedMask |= mask;
        claim.possibleHolderMask |= mask;
        long newVoters = mask & ~claim.voterMask;
        // Also a cluster that is silent for the key: its silence may end before the send.
        newVoters &= newVoters == 0 ? 0 : services.readyMask(claim);
        claim.addPendingReplies(Long.bitCount(mask & ~newVoters));
        // The decision waits for the last send, so that a rollback has the result of every send.
        claim.isFanOutInProgress = true;
        for (long left = newVoters; left != 0; left &= left - 1) {
            // The first grants of the attempt may be older than the check that has let this node vote.
            int i = Long.numberOfTrailingZeros(left);
            boolean isSilent = voters[i].isSilentFor(claim);
            onNoReply(claim, i, Vote.FAILED, isSilent ? VoteFailure.SLOT_MOVED : VoteFailure.NOT_CONNECTED);
        }
        send(claim, mask & ~newVoters);
        claim.isFanOutInProgress = false;
        decide(claim);
    }

    /** The doorkeeper alone considers the intentions of sets, so it alone gets the name. */
    private void send(Claim claim, long mask) {
        long left = mask;
        if (claim.intention != null && claim.key.kind() == LockKind.SET) {
            int doorkeeper = services.doorkeeper.of(claim.key);
            long named = doorkeeper == Doorkeeper.NONE ? 0 : left & 1L << doorkeeper;
            if (named != 0) {
                if (scheduler.queues.isIntentionDue(claim.pending.queue)) {
                    claim.pending.intendedNode = doorkeeper;
                }
                fanOut.send(claim, kindOf(claim), 0, named);
                left &= ~named;
            }
            if (left == 0) {
                // The name is still needed if the node does not know the script yet.
                return;
            }
            claim.intention = null;
        }
        fanOut.send(claim, kindOf(claim), 0, left);
    }

    /** A client that waits for a plain lock has a ticket of the doorkeeper, or gets one. */
    private static CommandKind kindOf(Claim claim) {
        boolean isForDoorkeeper = claim.isWakeUpWanted && Long.bitCount(claim.askedMask) == 1
                && claim.pending.lease.key.kind() == LockKind.PLAIN;
        if (claim.guest != null) {
            return claim.guest.acquireKind(isForDoorkeeper);
        }
        return isForDoorkeeper ? CommandKind.ACQUIRE_WITH_TICKET : CommandKind.ACQUIRE;
    }

    /** The doorkeeper has granted: asks the other first nodes. */
    private void askFirstVoters(Claim claim) {
        long others = services.firstVoters.of(claim.key) & ~claim.askedMask;
        if (!isThrifty || (others | claim.askedMask) == all) {
            askOthers(claim);
            return;
        }
        timers.start(claim.roundTimer, hedgeAtNs(claim, others, clock.nanoTime()));
        telemetry.onAskedOthers(claim, others);
        ask(claim, others);
    }

    /** The first nodes have not decided the attempt: asks all others. */
    void hedge(Claim claim) {
        counters.add(ConductorCounters.HEDGED, 1);
        askOthers(claim);
    }

    private void askOthers(Claim claim) {
        timers.start(claim.roundTimer, claim.roundEndNs);
        long others = all & ~claim.askedMask;
        telemetry.onAskedOthers(claim, others);
        ask(claim, others);
    }

    private boolean isPartlyAsked(Claim claim) {
        return claim.askedMask != all;
    }

    private boolean isDoorkeeperAskedOnly(Claim claim) {
        return isPartlyAsked(claim) && Long.bitCount(claim.askedMask) == 1;
    }

    /** The nodes that were asked and have not voted, as a mask. */
    static long silentMask(Claim claim) {
        return claim.acquireRound.pending() & claim.askedMask;
    }

    /** Whether any node would push a change. A queue beyond the limit of registered keys polls. */
    boolean isWakeUpPossible(PendingAcquire pending) {
        return pending.queue != null && scheduler.queues.mayRegister(pending.queue)
                && services.wakeUpMask() != 0;
    }

    void onReplyWithTicket(Claim claim, int nodeIndex, long value) {
        if (value > 0) {
            onReply(claim, nodeIndex, value);
            return;
        }
        if (claim.phase == Claim.Phase.ACQUIRING) {
            services.doorkeeper.onRefused(nodeIndex, clock.nanoTime() - startNs(claim, claim.pending.lease));
            WaitQueue queue = claim.pending.queue;
            queue.place = Ticket.placeOf(value);
            // After its turn, the next refusal gives it another ticket: nobody yields to one whose turn is over.
            queue.ticket = queue.place == 0 ? Ticket.NONE : Ticket.numberOf(value);
        }
        long remainingTtlMs = Ticket.remainingTtlMsOf(value);
        onReply(claim, nodeIndex, remainingTtlMs == Long.MAX_VALUE ? NO_EXPIRY_REPLY : -remainingTtlMs);
    }

    /** When the attempt of a claim started: t1. */
    private static long startNs(Claim claim, LeaseHandle lease) {
        return claim.roundEndNs - lease.times.nodeTimeoutNs;
    }

    void onReply(Claim claim, int nodeIndex, long value) {
        noteAnswer(nodeIndex);
        if (claim.guest != null) {
            claim.guest.onAnswer(nodeIndex, value);
        }
        if (value > 0) {
            onGrant(claim, nodeIndex, value);
            return;
        }
        recordNotHeld(claim, nodeIndex);
        if (claim.phase == Claim.Phase.ACQUIRING && claim.isWakeUpWanted && claim.pending.queue != null
                && services.node(nodeIndex, claim).hasWakeUps()) {
            scheduler.queues.onRegistered(claim.pending.queue, 1L << nodeIndex);
        }
        if (claim.key.kind() == LockKind.SET) {
            recordRefusalOfSet(claim, value);
        } else if (value != LockRequest.REFUSED_TTL_UNKNOWN) {
            claim.recordRemainingTtl(value == NO_EXPIRY_REPLY ? Long.MAX_VALUE : -value);
        }
        vote(claim, nodeIndex, Vote.REFUSED, VoteFailure.NONE);
    }

    /** Only a thrifty client waits for some nodes first, so only there a node can be late. */
    private void noteAnswer(int nodeIndex) {
        if (isThrifty) {
            services.firstVoters.onAnswered(nodeIndex);
        }
    }

    /** The reply of the script has a ttl and the number of a resource; {@code MSETEX} refuses by 0. */
    private void recordRefusalOfSet(Claim claim, long value) {
        if (value == 0 || value == LockRequest.REFUSED_TTL_UNKNOWN) {
            return;
        }
        long remainingTtlMs = -value >>> SET_NUMBER_BITS;
        claim.recordRemainingTtl(remainingTtlMs == SET_TTL_MS_MAX ? Long.MAX_VALUE : remainingTtlMs);
        boolean isOfDoorkeeper = claim.phase == Claim.Phase.ACQUIRING && Long.bitCount(claim.askedMask) == 1;
        if (isOfDoorkeeper && claim.pending.queue != null) {
            int number = (int) (-value & (1 << SET_NUMBER_BITS) - 1);
            scheduler.queues.onSetRefused(claim.pending.queue, number);
        }
    }

    /** Readers always run a script, whose refusal has the ttl. */
    private static boolean isRemainingTtlFree(LockKey key) {
        return key.kind() == LockKind.READ;
    }

    /**
     * The script of a refused reader or writer may change the key: it removes expired readers, and leaves the intention
     * of a writer. That ends the registrations of other waiters of the client, unless the attempt registers itself.
     */
    private boolean mayEndRegistrations(LockKey key) {
        return (key.kind() == LockKind.READ || key.kind() == LockKind.WRITE)
                && scheduler.queues.isRegistered(key);
    }

    /** In AUTO mode only retries pay for the script: their refusals give the retry policy the holder's ttl. */
    private boolean isRemainingTtlWanted(LeaseHandle lease) {
        return switch (commandMode) {
            case SCRIPTS -> true;
            case NATIVE -> false;
            case AUTO -> lease.attemptCount() > 0;
        };
    }

    /**
     * A refusal that ends the acquisition reports the holder's ttl, and a refused {@code SET} does not contain it. The
     * advice has the type of a key that no lock can have.
     */
    private boolean isHolderQueryDue(Claim claim) {
        if (claim.phase != Claim.Phase.ACQUIRING || claim.pending.lease.key.kind() == LockKind.PERMIT) {
            return false;
        }
        if (claim.shortestRemainingTtlMs >= 0) {
            return scheduler.holderQuery.isTypeDue(claim) && hasTimeForQuery(claim.pending);
        }
        return commandMode == CommandMode.AUTO && claim.pending.lease.waitNs <= 0
                && claim.guest == null && !claim.isRemainingTtlWanted;
    }

    private boolean hasTimeForQuery(PendingAcquire pending) {
        return pending.lease.waitNs <= 0 || !pending.retryImmediately && !pending.isWoken
                && pending.deadlineNs - clock.nanoTime() > pending.lease.times.nodeTimeoutNs;
    }

    private void onGrant(Claim claim, int nodeIndex, long value) {
        if (claim.phase == Claim.Phase.ACQUIRING && claim.pending.isIntending) {
            scheduler.intentions.onGrant(claim, nodeIndex);
        }
        if (claim.guest == null || claim.guest.onGrant(nodeIndex, value)) {
            vote(claim, nodeIndex, Vote.GRANTED, VoteFailure.NONE);
            return;
        }
        // The node has set the key, so it still gets the release.
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
        }
        vote(claim, nodeIndex, Vote.UNKNOWN, VoteFailure.FENCE_OUT_OF_RANGE);
        claim.guest.onGrantRejected(nodeIndex, value);
    }

    void onNoReply(Claim claim, int nodeIndex, Vote vote, VoteFailure failure) {
        noteAnswer(nodeIndex);
        if (vote == Vote.FAILED) {
            recordNotHeld(claim, nodeIndex);
            if (claim.guest != null) {
                claim.guest.onNotExecuted(nodeIndex);
            }
        }
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, failure);
        }
        vote(claim, nodeIndex, vote, failure);
    }

    /** The acquire did not set the key, but a later extension may have. */
    private static void recordNotHeld(Claim claim, int nodeIndex) {
        if (claim.extendSequence == 0) {
            claim.possibleHolderMask &= ~(1L << nodeIndex);
        }
    }

    void onTimeout(Claim claim) {
        if (isPartlyAsked(claim)) {
            if (!isDoorkeeperAskedOnly(claim)) {
                services.firstVoters.onLate(silentMask(claim));
            }
            hedge(claim);
            return;
        }
        long pendingMask = claim.acquireRound.pending();
        telemetry.onSilent(claim, pendingMask);
        for (; pendingMask != 0; pendingMask &= pendingMask - 1) {
            claim.recordFailure(Long.numberOfTrailingZeros(pendingMask), VoteFailure.SILENT);
        }
        claim.acquireRound.onTimeout();
        decide(claim);
    }

    private void vote(Claim claim, int nodeIndex, Vote answer, VoteFailure answerFailure) {
        Vote vote = answer;
        VoteFailure failure = answerFailure;
        if (answer == Vote.GRANTED && !fanOut.isVoting(nodeIndex) && !voters[nodeIndex].isGrantCounted(claim)) {
            // After a clock jump of the node, the granted key may have expired early.
            vote = Vote.UNKNOWN;
            failure = voters[nodeIndex].isSilentFor(claim)
                    ? VoteFailure.SLOT_MOVED
                    : VoteFailure.CLOCK_JUMPED;
            claim.recordFailure(nodeIndex, failure);
        }
        telemetry.onVote(claim, nodeIndex, vote, failure);
        switch (claim.phase) {
            case ACQUIRING -> {
                claim.acquireRound.onVote(nodeIndex, vote);
                decide(claim);
            }
            case HELD, RAISING -> {
                // A late vote does not change the decision, but a late grant adds a holder.
                claim.acquireRound.onLateVote(nodeIndex, vote);
                if (vote == Vote.GRANTED && !isExtended(claim)) {
                    claim.holderMask |= 1L << nodeIndex;
                }
            }
            default -> {
                // The release follows on the same connection and undoes a late grant.
            }
        }
    }

    /** An extended lease outlives the keys that the acquire has set, so a late grant proves too little. */
    private static boolean isExtended(Claim claim) {
        return claim.phase == Claim.Phase.HELD && claim.lease.validUntilNs() - claim.validUntilNs > 0;
    }

    /** A node may have lost the key: revokes its vote in a round that is not decided. */
    void revoke(Claim claim, int nodeIndex, VoteFailure failure) {
        if (claim.acquireRound.revoke(nodeIndex)) {
            claim.recordFailure(nodeIndex, failure);
        }
    }

    private void decide(Claim claim) {
        if (claim.isFanOutInProgress) {
            return;
        }
        Decision decision = claim.acquireRound.decision();
        switch (decision) {
            case OPEN -> {
                if (isPartlyAsked(claim)) {
                    onFirstVote(claim);
                }
                // Otherwise, wait for more votes or the timeout.
            }
            case WON -> {
                if (claim.guest == null || claim.guest.onQuorum()) {
                    succeed(claim);
                }
            }
            case CONTENDED -> fail(claim, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /**
     * A refusal of the doorkeeper ends the attempt: no other node was asked, and the doorkeeper pushes the next change.
     * Otherwise, a node that did not vote or a last vote that does not decide makes the attempt ask the others.
     */
    private void onFirstVote(Claim claim) {
        boolean isDoorkeeperAskedOnly = isDoorkeeperAskedOnly(claim);
        if (isDoorkeeperAskedOnly && claim.acquireRound.refused() != 0) {
            fail(claim, AcquireOutcome.Kind.CONTENDED);
        } else if (isDoorkeeperAskedOnly && claim.acquireRound.granted() != 0) {
            askFirstVoters(claim);
        } else if ((claim.acquireRound.failed() | claim.acquireRound.unknown()) != 0 || silentMask(claim) == 0) {
            hedge(claim);
        }
    }

    /** A quorum has granted and any guest is ready: succeeds if enough validity is left. */
    void succeed(Claim claim) {
        // t2: read again, so that a pause of this thread after the reply reduces the validity.
        long t2Ns = clock.nanoTime();
        if (claim.validUntilNs - t2Ns < Math.max(1, claim.pending.lease.times.minValidityNs)) {
            fail(claim, AcquireOutcome.Kind.TOO_SLOW);
            return;
        }
        if (claim.acquireRound.decision() != Decision.WON) {
            // A clock jump during the raise has revoked a grant.
            fail(claim, AcquireOutcome.Kind.NO_QUORUM);
            return;
        }
        PendingAcquire pending = claim.pending;
        timers.stop(claim.roundTimer);
        if (isPartlyAsked(claim)) {
            services.firstVoters.onInTime(claim.askedMask);
        }
        claim.pending = null;
        claim.phase = Claim.Phase.HELD;
        claim.holderMask = claim.acquireRound.granted();
        pending.lease.recordVotes(claim);
        if (claim.guest != null) {
            pending.lease.fencingToken = claim.guest.token();
        }
        telemetry.onAcquired(claim, t2Ns);
        scheduler.onAcquired(pending, claim, startNs(claim, pending.lease), t2Ns);
    }

    void fail(Claim claim, AcquireOutcome.Kind reason) {
        telemetry.onAttemptFailing(claim, reason);
        if (reason == AcquireOutcome.Kind.CONTENDED && isHolderQueryDue(claim)) {
            // Before the rollback: a fenced one may leave a grant out.
            claim.pending.lease.recordVotes(claim);
            boolean isRolledBack = claim.shortestRemainingTtlMs < 0 || mayHaveSetKeys(claim);
            if (isRolledBack) {
                counters.add(ConductorCounters.ROLLED_BACK, 1);
            }
            scheduler.holderQuery.start(claim, isRolledBack);
            return;
        }
        PendingAcquire pending = claim.pending;
        pending.lease.recordVotes(claim);
        try {
            rollBack(claim);
        } finally {
            scheduler.retries.onAttemptFailed(pending, reason);
        }
    }

    /** If some nodes were not asked and the others have refused, no node can have the token. */
    private boolean mayHaveSetKeys(Claim claim) {
        return claim.possibleHolderMask != 0 || !isPartlyAsked(claim);
    }

    /** Releases the token on every node that was asked, including those that refused, failed or did not reply. */
    void rollBack(Claim claim) {
        if (claim.phase == Claim.Phase.QUERYING_TTL || claim.phase == Claim.Phase.SEARCHING) {
            // The query has sent the release already; a search takes no lock.
            scheduler.holderQuery.untrack(claim);
            return;
        }
        scheduler.permits.onAttemptEnded(claim);
        timers.stop(claim.roundTimer);
        claim.pending.claim = null;
        claim.pending = null;
        if (!mayHaveSetKeys(claim)) {
            claim.phase = Claim.Phase.ABANDONED;
            claims.recycleIfDone(claim);
            return;
        }
        counters.add(ConductorCounters.ROLLED_BACK, 1);
        releases.abandon(claim);
    }
}
