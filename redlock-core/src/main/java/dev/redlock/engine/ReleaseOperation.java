package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.ReleaseOutcome;
import dev.redlock.node.Verb;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;

/**
 * The release round: goes to all nodes, whatever they answered to the acquire. On each connection it stands behind the
 * acquire that it undoes, so an acquire that is still on its way is undone too; a node that cannot be sent to is owed
 * it.
 *
 * @threading event-loop-confined
 */
final class ReleaseOperation {

    /** The sequence of a release that is sent for its counter's sake: its answer is no vote. */
    private static final int FOR_COUNTER = 1;

    private final Conductor conductor;

    ReleaseOperation(final Conductor conductor) {
        this.conductor = conductor;
    }

    /** Gives back what a lease holds; the lease gets the outcome. */
    void start(final Attempt attempt) {
        attempt.phase = Attempt.Phase.RELEASING;
        attempt.releaseRound.reset();
        try {
            final long nowNs = conductor.nowNs();
            conductor.startTimer(attempt.roundTimer, nowNs + conductor.config().terms().nodeTimeoutNs(attempt.ttlMs));
            send(attempt);
        } catch (final RuntimeException | Error e) {
            giveUp(attempt);
            throw e;
        }
    }

    /** Which nodes were sent it is not known, so all are owed it; a second release of a token does nothing. */
    private void giveUp(final Attempt attempt) {
        if (attempt.phase != Attempt.Phase.RELEASING) {
            return;
        }
        try {
            final long untilNs = conductor.nowNs() + attempt.ttlMsMax * NS_PER_MS;
            for (int i = 0; i < conductor.nodeCount(); i++) {
                conductor.owe(attempt, i, untilNs);
            }
        } finally {
            end(attempt, ReleaseOutcome.UNKNOWN);
        }
    }

    /** Gives back a token that nobody waits for. */
    void abandon(final Attempt attempt) {
        attempt.phase = Attempt.Phase.ABANDONED;
        attempt.lease = null;
        send(attempt);
    }

    /** Sends it to all nodes; whether somebody waits for its answers is the phase's to say. */
    void send(final Attempt attempt) {
        final int nodeCount = conductor.nodeCount();
        // One more than the answers to come, so that it is not recycled while it is being sent.
        attempt.expect(nodeCount + 1);
        conductor.fanOut().release(attempt, verbFor(attempt));
        attempt.expect(-1);
        conductor.recycleIfDone(attempt);
    }

    /**
     * A fenced release brings up the counters that are behind. Where all answers so far are grants at one number there
     * is none to bring up, and the plain release, which costs the nodes less, does; who has not answered is presumed to
     * stand there too, and {@link #onCounterBehind} mends it if not.
     */
    private Verb verbFor(final Attempt attempt) {
        if (attempt.fence.highest() == 0) {
            return Verb.RELEASE;
        }
        boolean isApart = isApart(attempt);
        if (isApart || attempt.phase != Attempt.Phase.RELEASING) {
            // No quorum has agreed on the highest value: it may be out of range.
            conductor.fenceGuard().dropOutOfRange(attempt);
            isApart = isApart(attempt);
        }
        if (isApart) {
            return attempt.fence.highest() == 0 ? Verb.RELEASE : Verb.RELEASE_FENCED;
        }
        attempt.presumedFence = attempt.fence.highest();
        return Verb.RELEASE;
    }

    private static boolean isApart(final Attempt attempt) {
        final Round round = attempt.acquireRound;
        return attempt.isCounterApart || attempt.fence.lagging() != 0
                || (round.refused() | round.failed() | round.unknown()) != 0;
    }

    /**
     * A node that was presumed to stand where the others do answers its acquire otherwise: its counter is brought up
     * behind the release.
     */
    void onCounterBehind(final Attempt attempt, final int nodeIndex) {
        attempt.expect(1);
        conductor.fanOut().send(attempt, Verb.RELEASE_FENCED, FOR_COUNTER, 1L << nodeIndex);
    }

    void onReply(final Attempt attempt, final int nodeIndex, final int sequence, final long value) {
        if (sequence != FOR_COUNTER) {
            vote(attempt, nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
        }
    }

    void onNoReply(final Attempt attempt, final int nodeIndex, final int sequence, final Vote vote) {
        if (sequence == FOR_COUNTER) {
            return;
        }
        if ((attempt.mayHold & 1L << nodeIndex) != 0) {
            conductor.owe(attempt, nodeIndex, conductor.nowNs() + attempt.ttlMsMax * NS_PER_MS);
        }
        vote(attempt, nodeIndex, vote);
    }

    void onTimeout(final Attempt attempt) {
        attempt.releaseRound.onTimeout();
        decide(attempt);
    }

    private void vote(final Attempt attempt, final int nodeIndex, final Vote vote) {
        if (attempt.phase == Attempt.Phase.RELEASING) {
            attempt.releaseRound.onVote(nodeIndex, vote);
            decide(attempt);
        }
    }

    private void decide(final Attempt attempt) {
        final Decision decision = attempt.releaseRound.decision();
        if (decision == Decision.OPEN) {
            return;
        }
        if (decision == Decision.WON) {
            end(attempt, ReleaseOutcome.RELEASED);
        } else if (attempt.releaseRound.isRefusedForCertain()) {
            end(attempt, ReleaseOutcome.EXPIRED);
        } else if (decision == Decision.NO_QUORUM || attempt.releaseRound.pending() == 0) {
            end(attempt, ReleaseOutcome.UNKNOWN);
        }
    }

    private void end(final Attempt attempt, final ReleaseOutcome outcome) {
        final LeaseSlot lease = attempt.lease;
        conductor.stopTimer(attempt.roundTimer);
        attempt.phase = Attempt.Phase.ABANDONED;
        attempt.lease = null;
        lease.attempt = null;
        conductor.onReleased(lease, outcome);
    }
}
