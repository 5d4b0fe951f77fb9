package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.CommandMode;
import dev.redlock.NodeState;
import dev.redlock.node.CommandKind;
import dev.redlock.node.LockRequest;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.Vote;

/**
 * The acquire round: sends, counts, decides as early as the answer is certain, and rolls back whatever did not succeed.
 *
 * @threading event-loop-confined
 */
final class AcquireOperation {

    /** What the script answers for a key without expiry: the largest integer that Lua can count to, negated. */
    private static final long NO_EXPIRY = -9_007_199_254_740_991L;

    private final Conductor conductor;

    AcquireOperation(final Conductor conductor) {
        this.conductor = conductor;
    }

    /** Sends the round of a new attempt, under a token of its own. */
    void start(final PendingAcquire pending) {
        final LeaseHandle lease = pending.lease;
        final Claim claim = conductor.claims().take();
        claim.phase = Claim.Phase.ACQUIRING;
        claim.pending = pending;
        claim.key = lease.key;
        claim.ttlMs = lease.ttlMs;
        claim.isFenced = lease.isFenced;
        claim.isRemainingTtlWanted = isRemainingTtlWanted(lease);
        claim.ttlMsMax = lease.ttlMs;
        pending.claim = claim;
        // t1: sampled before the first byte is handed to any socket.
        final long t1Ns = conductor.nowNs();
        conductor.tokens().next(claim.token, t1Ns);
        claim.validUntilNs = conductor.config().terms().validUntilNs(t1Ns, lease.ttlMs);
        conductor.startTimer(claim.roundTimer, t1Ns + conductor.config().terms().nodeTimeoutNs(lease.ttlMs));
        final int nodeCount = conductor.nodeCount();
        claim.expect(nodeCount);
        claim.mayHoldMask = Quorum.allOf(nodeCount);
        final CommandKind kind = lease.isFenced ? CommandKind.ACQUIRE_FENCED : CommandKind.ACQUIRE;
        // Decided after all nodes have been asked, so that a roll-back knows which ones were never sent anything.
        claim.isSending = true;
        conductor.fanOut().send(claim, kind, 0, Quorum.allOf(nodeCount));
        claim.isSending = false;
        decide(claim);
    }

    void onReply(final Claim claim, final int nodeIndex, final long value) {
        if (claim.assumedFenceToken != 0 && value < claim.assumedFenceToken) {
            conductor.releasing().onCounterLagging(claim, nodeIndex);
        }
        if (value > 0) {
            onGrant(claim, nodeIndex, value);
            return;
        }
        recordNotHeld(claim, nodeIndex);
        if (value != LockRequest.REFUSED_TTL_UNKNOWN) {
            claim.recordRemainingTtl(value == NO_EXPIRY ? Long.MAX_VALUE : -value);
        }
        vote(claim, nodeIndex, Vote.REFUSED);
    }

    /**
     * Whether the script is worth its cost to the nodes: every refusal after the first shall say for how long, for the
     * retry policy's sake.
     */
    private boolean isRemainingTtlWanted(final LeaseHandle lease) {
        return switch (conductor.config().commandMode()) {
            case SCRIPTS -> true;
            case NATIVE -> false;
            case AUTO -> lease.attemptCount() > 0;
        };
    }

    /** Whether this refusal ends an acquisition that shall tell for how long, and has not been told so itself. */
    private boolean isHolderTtlQueryDue(final Claim claim) {
        return conductor.config().commandMode() == CommandMode.AUTO && claim.pending.lease.waitNs <= 0
                && !claim.isFenced && !claim.isRemainingTtlWanted;
    }

    private void onGrant(final Claim claim, final int nodeIndex, final long value) {
        if (!claim.isFenced || recordFence(claim, nodeIndex, value)) {
            vote(claim, nodeIndex, Vote.GRANTED);
            return;
        }
        // The lock stands there all the same, so the release goes there too.
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
        }
        vote(claim, nodeIndex, Vote.UNKNOWN);
        conductor.fenceGuard().log(nodeIndex, value);
    }

    /** False if the value is known to be out of range. Before the round is decided nothing is known but the end. */
    private boolean recordFence(final Claim claim, final int nodeIndex, final long value) {
        if (value > FenceRule.VALUE_MAX) {
            // No script of ours answers that.
            return false;
        }
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.fence.onGrant(nodeIndex, value);
            return true;
        }
        return value == claim.fence.highest() || recordLateFence(claim, value);
    }

    /** The release brings counters up to a value that came late, if it can come from a clock. */
    private boolean recordLateFence(final Claim claim, final long value) {
        claim.isCounterLagging = true;
        final long clockLimit = conductor.fenceGuard().clockLimit();
        if (value > clockLimit) {
            return value <= claim.fence.limit(clockLimit);
        }
        claim.fence.recordSeen(value);
        return true;
    }

    void onNoReply(final Claim claim, final int nodeIndex, final Vote vote, final VoteFailure failure) {
        if (vote == Vote.FAILED) {
            recordNotHeld(claim, nodeIndex);
            if (claim.assumedFenceToken != 0) {
                conductor.releasing().onCounterLagging(claim, nodeIndex);
            }
        }
        if (claim.phase == Claim.Phase.ACQUIRING) {
            claim.recordFailure(nodeIndex, failure);
        }
        vote(claim, nodeIndex, vote);
    }

    /** The acquire did not set the key; an extension behind it may have put it there all the same. */
    private static void recordNotHeld(final Claim claim, final int nodeIndex) {
        if (claim.extendSequence == 0) {
            claim.mayHoldMask &= ~(1L << nodeIndex);
        }
    }

    void onTimeout(final Claim claim) {
        long silent = claim.acquireRound.pending();
        for (; silent != 0; silent &= silent - 1) {
            claim.recordFailure(Long.numberOfTrailingZeros(silent), VoteFailure.SILENT);
        }
        claim.acquireRound.onTimeout();
        decide(claim);
    }

    private void vote(final Claim claim, final int nodeIndex, final Vote answer) {
        Vote vote = answer;
        if (answer == Vote.GRANTED && conductor.node(nodeIndex).state() == NodeState.QUARANTINED) {
            // A grant that arrives after the node's clock was seen to jump may stand on a key that expired early.
            vote = Vote.UNKNOWN;
            claim.recordFailure(nodeIndex, VoteFailure.CLOCK_JUMPED);
        }
        switch (claim.phase) {
            case ACQUIRING -> {
                claim.acquireRound.onVote(nodeIndex, vote);
                decide(claim);
            }
            case HELD, RAISING -> {
                // A straggler: it changes nothing that was decided, but one more node is known to hold the token.
                claim.acquireRound.onLateVote(nodeIndex, vote);
                if (vote == Vote.GRANTED && !isExtended(claim)) {
                    claim.holderMask |= 1L << nodeIndex;
                }
            }
            default -> {
                // The release that follows on the same connection undoes whatever the straggler did.
            }
        }
    }

    /** Whether the lease is valid for longer than a grant of the acquire can prove. */
    private static boolean isExtended(final Claim claim) {
        return claim.phase == Claim.Phase.HELD && claim.lease.validUntilNs() - claim.validUntilNs > 0;
    }

    /** A node's clock has jumped: what it granted in a round that is not over is worth nothing any more. */
    void revoke(final Claim claim, final int nodeIndex) {
        if (claim.acquireRound.revoke(nodeIndex)) {
            claim.recordFailure(nodeIndex, VoteFailure.CLOCK_JUMPED);
        }
    }

    private void decide(final Claim claim) {
        if (claim.isSending) {
            return;
        }
        final Decision decision = claim.acquireRound.decision();
        switch (decision) {
            case OPEN -> {
                // wait for more votes or the timeout
            }
            case WON -> onWon(claim);
            case CONTENDED -> fail(claim, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    private void onWon(final Claim claim) {
        if (!claim.isFenced) {
            succeed(claim, FenceRule.NONE);
            return;
        }
        final long fencingToken = claim.fence.agreed();
        if (fencingToken != FenceRule.NONE) {
            if (claim.fence.highest() != fencingToken) {
                conductor.fenceGuard().dropOutOfRange(claim);
            }
            succeed(claim, fencingToken);
        } else if (claim.acquireRound.pending() == 0) {
            conductor.fenceGuard().dropOutOfRange(claim);
            raiseOrFail(claim);
        }
    }

    private void raiseOrFail(final Claim claim) {
        switch (claim.acquireRound.decision()) {
            case WON -> conductor.raising().start(claim);
            case CONTENDED -> fail(claim, AcquireOutcome.Kind.CONTENDED);
            case OPEN, NO_QUORUM -> fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /** A quorum granted, and for a fenced lock it has a fencing token: the lock is held, if enough validity is left. */
    void succeed(final Claim claim, final long fencingToken) {
        // t2: read anew, so that a pause of this thread since the answer arrived counts against the validity.
        final long t2Ns = conductor.nowNs();
        if (claim.validUntilNs - t2Ns < Math.max(1, claim.pending.lease.minValidityNs)) {
            fail(claim, AcquireOutcome.Kind.TOO_SLOW);
            return;
        }
        if (claim.acquireRound.decision() != Decision.WON) {
            // While counters were raised, a clock jumped and took its node's grant with it.
            fail(claim, AcquireOutcome.Kind.NO_QUORUM);
            return;
        }
        final PendingAcquire pending = claim.pending;
        conductor.stopTimer(claim.roundTimer);
        claim.pending = null;
        claim.phase = Claim.Phase.HELD;
        claim.holderMask = claim.acquireRound.granted();
        pending.lease.recordVotes(claim);
        pending.lease.setFencingToken(fencingToken);
        conductor.acquires().onAcquired(pending, claim, t2Ns);
    }

    void fail(final Claim claim, final AcquireOutcome.Kind reason) {
        if (reason == AcquireOutcome.Kind.CONTENDED && isHolderTtlQueryDue(claim)) {
            conductor.counters().onRolledBack();
            conductor.holderTtlQuery().start(claim);
            return;
        }
        final PendingAcquire pending = claim.pending;
        pending.lease.recordVotes(claim);
        try {
            rollBack(claim);
        } finally {
            conductor.acquires().onAttemptFailed(pending, reason);
        }
    }

    /** Undoes an attempt on every node, also on those that refused, failed or did not answer. */
    void rollBack(final Claim claim) {
        if (claim.phase == Claim.Phase.QUERYING_TTL) {
            // That has been done.
            conductor.holderTtlQuery().untrack(claim);
            return;
        }
        conductor.stopTimer(claim.roundTimer);
        claim.pending.claim = null;
        claim.pending = null;
        conductor.counters().onRolledBack();
        conductor.releasing().abandon(claim);
    }
}
