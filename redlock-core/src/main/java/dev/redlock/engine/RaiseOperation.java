package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.CommandKind;
import dev.redlock.quorum.Decision;
import dev.redlock.quorum.Vote;

/**
 * Runs the raise round of a fenced acquire, if the counters of the granting nodes differ: it raises the lower counters
 * to the highest. That value is the fencing token if a quorum of counters has exactly this value.
 *
 * @threading event-loop-confined
 */
final class RaiseOperation {

    private final Conductor conductor;

    RaiseOperation(Conductor conductor) {
        this.conductor = conductor;
    }

    void start(Claim claim) {
        claim.phase = Claim.Phase.RAISING;
        claim.raiseTarget = claim.fence.highest();
        claim.raiseRound.reset();
        long atTargetMask = claim.fence.nodesAt(claim.raiseTarget);
        long laggingMask = claim.fence.lagging();
        for (int i = 0; i < conductor.nodeCount(); i++) {
            long bit = 1L << i;
            if ((laggingMask & bit) == 0) {
                claim.raiseRound.onVote(i, (atTargetMask & bit) != 0 ? Vote.GRANTED : Vote.FAILED);
            }
        }
        conductor.counters().onRaised();
        conductor.startTimer(claim.roundTimer,
                conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(claim.ttlMs));
        claim.addPendingReplies(Long.bitCount(laggingMask));
        conductor.fanOut().send(claim, CommandKind.RAISE, 0, laggingMask);
    }

    void onReply(Claim claim, int nodeIndex, long value) {
        if (value == 1) {
            claim.fence.onRaised(nodeIndex, claim.raiseTarget);
        }
        vote(claim, nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
    }

    void onNoReply(Claim claim, int nodeIndex, Vote vote) {
        vote(claim, nodeIndex, vote);
    }

    void onTimeout(Claim claim) {
        claim.raiseRound.onTimeout();
        decide(claim);
    }

    private void vote(Claim claim, int nodeIndex, Vote vote) {
        if (claim.phase == Claim.Phase.RAISING) {
            claim.raiseRound.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    private void decide(Claim claim) {
        Decision decision = claim.raiseRound.decision();
        switch (decision) {
            case OPEN -> {
                // Wait for more replies or the timeout.
            }
            case WON -> conductor.acquireOperation().succeed(claim, claim.fence.agreed());
            case CONTENDED -> conductor.acquireOperation().fail(claim, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> conductor.acquireOperation().fail(claim, AcquireOutcome.Kind.NO_QUORUM);
        }
    }
}
