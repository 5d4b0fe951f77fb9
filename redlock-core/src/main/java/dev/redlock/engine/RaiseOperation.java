package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.CommandKind;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;

/**
 * The second trip of a fenced acquire, needed only when the granting nodes' counters have drifted apart: raises the
 * lower ones to the highest. The token is that value if a quorum stands at exactly it.
 *
 * @threading event-loop-confined
 */
final class RaiseOperation {

    private final Conductor conductor;

    RaiseOperation(final Conductor conductor) {
        this.conductor = conductor;
    }

    void start(final Claim claim) {
        claim.phase = Claim.Phase.RAISING;
        claim.raiseTo = claim.fence.highest();
        claim.raiseRound.reset();
        final long standing = claim.fence.nodesAt(claim.raiseTo);
        final long lagging = claim.fence.lagging();
        for (int i = 0; i < conductor.nodeCount(); i++) {
            final long bit = 1L << i;
            if ((lagging & bit) == 0) {
                claim.raiseRound.onVote(i, (standing & bit) != 0 ? Vote.GRANTED : Vote.FAILED);
            }
        }
        conductor.counters().onRaised();
        conductor.startTimer(claim.roundTimer,
                conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(claim.ttlMs));
        claim.expect(Long.bitCount(lagging));
        conductor.fanOut().send(claim, CommandKind.RAISE, 0, lagging);
    }

    void onReply(final Claim claim, final int nodeIndex, final long value) {
        if (value == 1) {
            claim.fence.onRaised(nodeIndex, claim.raiseTo);
        }
        vote(claim, nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
    }

    void onNoReply(final Claim claim, final int nodeIndex, final Vote vote) {
        vote(claim, nodeIndex, vote);
    }

    void onTimeout(final Claim claim) {
        claim.raiseRound.onTimeout();
        decide(claim);
    }

    private void vote(final Claim claim, final int nodeIndex, final Vote vote) {
        if (claim.phase == Claim.Phase.RAISING) {
            claim.raiseRound.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    private void decide(final Claim claim) {
        final Decision decision = claim.raiseRound.decision();
        switch (decision) {
            case OPEN -> {
                // wait for more answers or the timeout
            }
            case WON -> conductor.acquiring().succeed(claim, claim.fence.agreed());
            case CONTENDED -> conductor.acquiring().fail(claim, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> conductor.acquiring().fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }
}
