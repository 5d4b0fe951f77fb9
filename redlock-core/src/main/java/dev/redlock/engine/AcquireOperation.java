package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.CommandMode;
import dev.redlock.node.LockRequest;
import dev.redlock.node.Verb;
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
    void start(final Acquisition acquisition) {
        final LeaseSlot lease = acquisition.lease;
        final Attempt attempt = conductor.takeAttempt();
        attempt.phase = Attempt.Phase.ACQUIRING;
        attempt.acquisition = acquisition;
        attempt.key = lease.key;
        attempt.ttlMs = lease.ttlMs;
        attempt.isFenced = lease.isFenced;
        attempt.isRemainingTtlWanted = isRemainingTtlWanted(lease);
        attempt.ttlMsMax = lease.ttlMs;
        acquisition.attempt = attempt;
        // t1: sampled before the first byte is handed to any socket.
        final long t1Ns = conductor.nowNs();
        conductor.tokens().next(attempt.token, t1Ns);
        attempt.validUntilNs = conductor.config().terms().validUntilNs(t1Ns, lease.ttlMs);
        conductor.startTimer(attempt.roundTimer, t1Ns + conductor.config().terms().nodeTimeoutNs(lease.ttlMs));
        final int nodeCount = conductor.nodeCount();
        attempt.expect(nodeCount);
        attempt.mayHold = Quorum.allOf(nodeCount);
        final Verb verb = lease.isFenced ? Verb.ACQUIRE_FENCED : Verb.ACQUIRE;
        // Decided after all nodes have been asked, so that a roll-back knows which ones were never sent anything.
        attempt.isSending = true;
        conductor.fanOut().send(attempt, verb, 0, Quorum.allOf(nodeCount));
        attempt.isSending = false;
        decide(attempt);
    }

    void onReply(final Attempt attempt, final int nodeIndex, final long value) {
        if (attempt.presumedFence != 0 && value < attempt.presumedFence) {
            conductor.releasing().onCounterBehind(attempt, nodeIndex);
        }
        if (value > 0) {
            onGrant(attempt, nodeIndex, value);
            return;
        }
        noteNotHeld(attempt, nodeIndex);
        if (value != LockRequest.REFUSED_UNTOLD) {
            attempt.noteRemainingTtl(value == NO_EXPIRY ? Long.MAX_VALUE : -value);
        }
        vote(attempt, nodeIndex, Vote.REFUSED);
    }

    /**
     * Whether the script is worth its cost to the nodes: every refusal after the first shall say for how long, for the
     * retry policy's sake.
     */
    private boolean isRemainingTtlWanted(final LeaseSlot lease) {
        return switch (conductor.config().commandMode()) {
            case SCRIPTS -> true;
            case NATIVE -> false;
            case AUTO -> lease.attemptCount() > 0;
        };
    }

    /** Whether this refusal ends an acquisition that shall tell for how long, and has not been told so itself. */
    private boolean isInquiryDue(final Attempt attempt) {
        return conductor.config().commandMode() == CommandMode.AUTO && attempt.acquisition.lease.waitNs <= 0
                && !attempt.isFenced && !attempt.isRemainingTtlWanted;
    }

    private void onGrant(final Attempt attempt, final int nodeIndex, final long value) {
        if (!attempt.isFenced || noteFence(attempt, nodeIndex, value)) {
            vote(attempt, nodeIndex, Vote.GRANTED);
            return;
        }
        // The lock stands there all the same, so the release goes there too.
        if (attempt.phase == Attempt.Phase.ACQUIRING) {
            attempt.noteFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
        }
        vote(attempt, nodeIndex, Vote.UNKNOWN);
        conductor.fenceGuard().log(nodeIndex, value);
    }

    /** False if the value is known to be out of range. Before the round is decided nothing is known but the end. */
    private boolean noteFence(final Attempt attempt, final int nodeIndex, final long value) {
        if (value > FenceRule.VALUE_MAX) {
            // No script of ours answers that.
            return false;
        }
        if (attempt.phase == Attempt.Phase.ACQUIRING) {
            attempt.fence.onGrant(nodeIndex, value);
            return true;
        }
        return value == attempt.fence.highest() || noteLate(attempt, value);
    }

    /** The release brings counters up to a value that came late, if it can come from a clock. */
    private boolean noteLate(final Attempt attempt, final long value) {
        attempt.isCounterApart = true;
        final long clockLimit = conductor.fenceGuard().clockLimit();
        if (value > clockLimit) {
            return value <= attempt.fence.limit(clockLimit);
        }
        attempt.fence.noteSeen(value);
        return true;
    }

    void onNoReply(final Attempt attempt, final int nodeIndex, final Vote vote, final VoteFailure failure) {
        if (vote == Vote.FAILED) {
            noteNotHeld(attempt, nodeIndex);
            if (attempt.presumedFence != 0) {
                conductor.releasing().onCounterBehind(attempt, nodeIndex);
            }
        }
        if (attempt.phase == Attempt.Phase.ACQUIRING) {
            attempt.noteFailure(nodeIndex, failure);
        }
        vote(attempt, nodeIndex, vote);
    }

    /** The acquire did not set the key; an extension behind it may have put it there all the same. */
    private static void noteNotHeld(final Attempt attempt, final int nodeIndex) {
        if (attempt.extendSequence == 0) {
            attempt.mayHold &= ~(1L << nodeIndex);
        }
    }

    void onTimeout(final Attempt attempt) {
        long silent = attempt.acquireRound.pending();
        for (; silent != 0; silent &= silent - 1) {
            attempt.noteFailure(Long.numberOfTrailingZeros(silent), VoteFailure.SILENT);
        }
        attempt.acquireRound.onTimeout();
        decide(attempt);
    }

    private void vote(final Attempt attempt, final int nodeIndex, final Vote answer) {
        Vote vote = answer;
        if (answer == Vote.GRANTED && conductor.isInQuarantine(nodeIndex)) {
            // A grant that arrives after the node's clock was seen to jump may stand on a key that expired early.
            vote = Vote.UNKNOWN;
            attempt.noteFailure(nodeIndex, VoteFailure.CLOCK_JUMPED);
        }
        switch (attempt.phase) {
            case ACQUIRING -> {
                attempt.acquireRound.onVote(nodeIndex, vote);
                decide(attempt);
            }
            case HELD, RAISING -> {
                // A straggler: it changes nothing that was decided, but one more node is known to hold the token.
                attempt.acquireRound.onLateVote(nodeIndex, vote);
                if (vote == Vote.GRANTED && !isExtended(attempt)) {
                    attempt.holders |= 1L << nodeIndex;
                }
            }
            default -> {
                // The release that follows on the same connection undoes whatever the straggler did.
            }
        }
    }

    /** Whether the lease is valid for longer than a grant of the acquire can prove. */
    private static boolean isExtended(final Attempt attempt) {
        return attempt.phase == Attempt.Phase.HELD && attempt.lease.validUntilNs() - attempt.validUntilNs > 0;
    }

    /** A node's clock has jumped: what it granted in a round that is not over is worth nothing any more. */
    void distrust(final Attempt attempt, final int nodeIndex) {
        if (attempt.acquireRound.distrust(nodeIndex)) {
            attempt.noteFailure(nodeIndex, VoteFailure.CLOCK_JUMPED);
        }
    }

    private void decide(final Attempt attempt) {
        if (attempt.isSending) {
            return;
        }
        final Decision decision = attempt.acquireRound.decision();
        switch (decision) {
            case OPEN -> {
                // wait for more votes or the timeout
            }
            case WON -> onWon(attempt);
            case CONTENDED -> fail(attempt, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> fail(attempt, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    private void onWon(final Attempt attempt) {
        if (!attempt.isFenced) {
            succeed(attempt, FenceRule.NONE);
            return;
        }
        final long fencingToken = attempt.fence.agreed();
        if (fencingToken != FenceRule.NONE) {
            if (attempt.fence.highest() != fencingToken) {
                conductor.fenceGuard().dropOutOfRange(attempt);
            }
            succeed(attempt, fencingToken);
        } else if (attempt.acquireRound.pending() == 0) {
            conductor.fenceGuard().dropOutOfRange(attempt);
            raiseOrFail(attempt);
        }
    }

    private void raiseOrFail(final Attempt attempt) {
        switch (attempt.acquireRound.decision()) {
            case WON -> conductor.raising().start(attempt);
            case CONTENDED -> fail(attempt, AcquireOutcome.Kind.CONTENDED);
            case OPEN, NO_QUORUM -> fail(attempt, AcquireOutcome.Kind.NO_QUORUM);
        }
    }

    /** A quorum granted, and for a fenced lock it has a fencing token: the lock is held, if enough validity is left. */
    void succeed(final Attempt attempt, final long fencingToken) {
        // t2: read anew, so that a pause of this thread since the answer arrived counts against the validity.
        final long t2Ns = conductor.nowNs();
        if (attempt.validUntilNs - t2Ns < Math.max(1, attempt.acquisition.lease.minValidityNs)) {
            fail(attempt, AcquireOutcome.Kind.TOO_SLOW);
            return;
        }
        if (attempt.acquireRound.decision() != Decision.WON) {
            // While counters were raised, a clock jumped and took its node's grant with it.
            fail(attempt, AcquireOutcome.Kind.NO_QUORUM);
            return;
        }
        final Acquisition acquisition = attempt.acquisition;
        conductor.stopTimer(attempt.roundTimer);
        attempt.acquisition = null;
        attempt.phase = Attempt.Phase.HELD;
        attempt.holders = attempt.acquireRound.granted();
        acquisition.lease.noteVotes(attempt);
        acquisition.lease.setFencingToken(fencingToken);
        conductor.onAcquired(acquisition, attempt, t2Ns);
    }

    void fail(final Attempt attempt, final AcquireOutcome.Kind reason) {
        if (reason == AcquireOutcome.Kind.CONTENDED && isInquiryDue(attempt)) {
            conductor.counters().onRolledBack();
            conductor.inquiring().start(attempt);
            return;
        }
        final Acquisition acquisition = attempt.acquisition;
        acquisition.lease.noteVotes(attempt);
        try {
            rollBack(attempt);
        } finally {
            conductor.onAttemptFailed(acquisition, reason);
        }
    }

    /** Undoes an attempt on every node, also on those that refused, failed or did not answer. */
    void rollBack(final Attempt attempt) {
        if (attempt.phase == Attempt.Phase.INQUIRING) {
            // That has been done.
            conductor.inquiring().letGo(attempt);
            return;
        }
        conductor.stopTimer(attempt.roundTimer);
        attempt.acquisition.attempt = null;
        attempt.acquisition = null;
        conductor.counters().onRolledBack();
        conductor.releasing().abandon(attempt);
    }
}
