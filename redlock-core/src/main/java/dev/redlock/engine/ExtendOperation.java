package dev.redlock.engine;

import dev.redlock.ExtendOutcome;
import dev.redlock.LeaseState;
import dev.redlock.NodeState;
import dev.redlock.node.CommandKind;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Quorum;
import dev.redlock.quorum.Vote;

/**
 * The extension round. Only nodes that still held the token count; one that had lost it sets it again, which helps the
 * next round but not this one. One round at a time for a lease; answers to an older one are told apart by their
 * sequence.
 *
 * <p>An answer that the node does not hold the token takes it out of the lease's holders, whichever round it belongs to
 * and whether or not that is decided: what made the node a holder was executed before. Below a quorum of holders the
 * lease is lost at once.
 *
 * @threading event-loop-confined
 */
final class ExtendOperation {

    private static final long HELD_REPLY = 1;
    /** As many bits as come back with each answer; 0 is no extension. */
    private static final int SEQUENCE_MAX = (1 << 24) - 1;

    private final Conductor conductor;

    ExtendOperation(final Conductor conductor) {
        this.conductor = conductor;
    }

    /** Sends an extension of a held lease. */
    void start(final Claim claim, final long ttlMs) {
        final LeaseHandle lease = claim.lease;
        claim.isExtending = true;
        claim.lateExtensions.onSent(ttlMs);
        claim.extendSequence = claim.extendSequence % SEQUENCE_MAX + 1;
        claim.extendRound.reset();
        claim.ttlMs = ttlMs;
        claim.ttlMsMax = Math.max(claim.ttlMsMax, ttlMs);
        final long t1Ns = conductor.nowNs();
        claim.validBeforeExtensionNs = lease.validUntilNs();
        claim.extendedUntilNs = conductor.config().terms().validUntilNs(t1Ns, ttlMs);
        if (claim.extendedUntilNs - lease.validUntilNs() < 0) {
            // The holder asked for less, and a conditional set shortens the key as soon as it arrives.
            lease.setValidUntilNs(claim.extendedUntilNs);
            conductor.startTimer(claim.holdTimer, claim.extendedUntilNs);
        }
        conductor.startTimer(claim.extendTimer, t1Ns + conductor.config().terms().nodeTimeoutNs(ttlMs));
        claim.mayHoldMask = Quorum.allOf(conductor.nodeCount());
        claim.expect(conductor.nodeCount());
        conductor.fanOut().send(claim, CommandKind.EXTEND, claim.extendSequence, Quorum.allOf(conductor.nodeCount()));
    }

    void onReply(final Claim claim, final int nodeIndex, final int sequence, final long value) {
        if (value == HELD_REPLY) {
            vote(claim, nodeIndex, sequence, Vote.GRANTED);
            return;
        }
        // A later extension may have put the key there in the meantime.
        if (value == 0 && sequence == claim.extendSequence) {
            claim.mayHoldMask &= ~(1L << nodeIndex);
        }
        onNotHeld(claim, nodeIndex);
        vote(claim, nodeIndex, sequence, Vote.REFUSED);
    }

    void onNoReply(final Claim claim, final int nodeIndex, final int sequence, final Vote vote,
            final VoteFailure failure) {
        if (failure == VoteFailure.WRONGTYPE) {
            // Somebody has put something else in the place of the key.
            onNotHeld(claim, nodeIndex);
        }
        vote(claim, nodeIndex, sequence, vote);
    }

    /** A node has proved that it does not hold the token. */
    void onNotHeld(final Claim claim, final int nodeIndex) {
        if (claim.phase == Claim.Phase.HELD) {
            conductor.keeper().dropHolder(claim, nodeIndex);
        }
    }

    void onTimeout(final Claim claim) {
        claim.extendRound.onTimeout();
        decide(claim);
    }

    private void vote(final Claim claim, final int nodeIndex, final int sequence, final Vote answer) {
        if (sequence != claim.extendSequence) {
            return;
        }
        final Vote vote = answer == Vote.GRANTED && !isProof(claim, nodeIndex) ? Vote.UNKNOWN : answer;
        if (claim.phase == Claim.Phase.HELD && vote == Vote.GRANTED) {
            // Also before or behind the decision: the validity that the lease has is never longer than this proves.
            claim.holderMask |= 1L << nodeIndex;
        }
        if (claim.isExtending) {
            claim.extendRound.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    /** Whether a renewed key is sure to stand for the ttl. */
    private boolean isProof(final Claim claim, final int nodeIndex) {
        return conductor.node(nodeIndex).state() != NodeState.QUARANTINED
                && !claim.lateExtensions.mayShorten(nodeIndex, claim.ttlMs);
    }

    private void decide(final Claim claim) {
        final Decision decision = claim.extendRound.decision();
        if (decision == Decision.WON) {
            onWon(claim);
        } else if (decision == Decision.NO_QUORUM || claim.extendRound.pending() == 0) {
            end(claim, ExtendOutcome.NOT_EXTENDED);
        }
    }

    private void onWon(final Claim claim) {
        final long nowNs = conductor.nowNs();
        final LeaseHandle lease = claim.lease;
        if (claim.validBeforeExtensionNs - nowNs <= 0 || claim.extendedUntilNs - nowNs <= 0) {
            conductor.keeper().lose(claim, LeaseState.EXPIRED);
            return;
        }
        claim.holderMask = claim.extendRound.granted();
        lease.setValidUntilNs(claim.extendedUntilNs);
        end(claim, ExtendOutcome.EXTENDED);
    }

    private void end(final Claim claim, final ExtendOutcome outcome) {
        stop(claim);
        conductor.keeper().onExtended(claim, outcome);
    }

    /** Ends a round without an outcome, because the lease ends: late answers are not counted any more. */
    void stop(final Claim claim) {
        conductor.stopTimer(claim.extendTimer);
        claim.isExtending = false;
    }
}
