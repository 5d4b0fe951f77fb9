package dev.redlock.engine;

import dev.redlock.ExtendOutcome;
import dev.redlock.LeaseState;
import dev.redlock.node.Verb;
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
    void start(final Attempt attempt, final long ttlMs) {
        final LeaseSlot lease = attempt.lease;
        attempt.isExtending = true;
        attempt.lateExtensions.onSent(ttlMs);
        attempt.extendSequence = attempt.extendSequence % SEQUENCE_MAX + 1;
        attempt.extendRound.reset();
        attempt.ttlMs = ttlMs;
        attempt.ttlMsMax = Math.max(attempt.ttlMsMax, ttlMs);
        final long t1Ns = conductor.nowNs();
        attempt.validBeforeExtensionNs = lease.validUntilNs();
        attempt.extendedUntilNs = conductor.config().terms().validUntilNs(t1Ns, ttlMs);
        if (attempt.extendedUntilNs - lease.validUntilNs() < 0) {
            // The holder asked for less, and a conditional set shortens the key as soon as it arrives.
            lease.setValidUntilNs(attempt.extendedUntilNs);
            conductor.startTimer(attempt.holdTimer, attempt.extendedUntilNs);
        }
        conductor.startTimer(attempt.extendTimer, t1Ns + conductor.config().terms().nodeTimeoutNs(ttlMs));
        attempt.mayHold = Quorum.allOf(conductor.nodeCount());
        attempt.expect(conductor.nodeCount());
        conductor.fanOut().send(attempt, Verb.EXTEND, attempt.extendSequence, Quorum.allOf(conductor.nodeCount()));
    }

    void onReply(final Attempt attempt, final int nodeIndex, final int sequence, final long value) {
        if (value == HELD_REPLY) {
            vote(attempt, nodeIndex, sequence, Vote.GRANTED);
            return;
        }
        // A later extension may have put the key there in the meantime.
        if (value == 0 && sequence == attempt.extendSequence) {
            attempt.mayHold &= ~(1L << nodeIndex);
        }
        onNotHeld(attempt, nodeIndex);
        vote(attempt, nodeIndex, sequence, Vote.REFUSED);
    }

    void onNoReply(final Attempt attempt, final int nodeIndex, final int sequence, final Vote vote,
            final VoteFailure failure) {
        if (failure == VoteFailure.WRONGTYPE) {
            // Somebody has put something else in the place of the key.
            onNotHeld(attempt, nodeIndex);
        }
        vote(attempt, nodeIndex, sequence, vote);
    }

    /** A node has proved that it does not hold the token. */
    void onNotHeld(final Attempt attempt, final int nodeIndex) {
        if (attempt.phase == Attempt.Phase.HELD) {
            conductor.keeper().dropHolder(attempt, nodeIndex);
        }
    }

    void onTimeout(final Attempt attempt) {
        attempt.extendRound.onTimeout();
        decide(attempt);
    }

    private void vote(final Attempt attempt, final int nodeIndex, final int sequence, final Vote answer) {
        if (sequence != attempt.extendSequence) {
            return;
        }
        final Vote vote = answer == Vote.GRANTED && !isProof(attempt, nodeIndex) ? Vote.UNKNOWN : answer;
        if (attempt.phase == Attempt.Phase.HELD && vote == Vote.GRANTED) {
            // Also before or behind the decision: the validity that the lease has is never longer than this proves.
            attempt.holders |= 1L << nodeIndex;
        }
        if (attempt.isExtending) {
            attempt.extendRound.onVote(nodeIndex, vote);
            decide(attempt);
        }
    }

    /** Whether a renewed key is sure to stand for the ttl. */
    private boolean isProof(final Attempt attempt, final int nodeIndex) {
        return !conductor.isInQuarantine(nodeIndex) && !attempt.lateExtensions.mayShorten(nodeIndex, attempt.ttlMs);
    }

    private void decide(final Attempt attempt) {
        final Decision decision = attempt.extendRound.decision();
        if (decision == Decision.WON) {
            onWon(attempt);
        } else if (decision == Decision.NO_QUORUM || attempt.extendRound.pending() == 0) {
            end(attempt, ExtendOutcome.NOT_EXTENDED);
        }
    }

    private void onWon(final Attempt attempt) {
        final long nowNs = conductor.nowNs();
        final LeaseSlot lease = attempt.lease;
        if (attempt.validBeforeExtensionNs - nowNs <= 0 || attempt.extendedUntilNs - nowNs <= 0) {
            conductor.keeper().lose(attempt, LeaseState.EXPIRED);
            return;
        }
        attempt.holders = attempt.extendRound.granted();
        lease.setValidUntilNs(attempt.extendedUntilNs);
        end(attempt, ExtendOutcome.EXTENDED);
    }

    private void end(final Attempt attempt, final ExtendOutcome outcome) {
        stop(attempt);
        conductor.keeper().onExtended(attempt, outcome);
    }

    /** Ends a round without an outcome, because the lease ends: late answers are not counted any more. */
    void stop(final Attempt attempt) {
        conductor.stopTimer(attempt.extendTimer);
        attempt.isExtending = false;
    }
}
