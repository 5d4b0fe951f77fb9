package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.Verb;
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

    void start(final Attempt attempt) {
        attempt.phase = Attempt.Phase.RAISING;
        attempt.raiseTo = attempt.fence.highest();
        attempt.raiseRound.reset();
        final long standing = attempt.fence.standingAt(attempt.raiseTo);
        final long lagging = attempt.fence.lagging();
        for (int i = 0; i < conductor.nodeCount(); i++) {
            final long bit = 1L << i;
            if ((lagging & bit) == 0) {
                attempt.raiseRound.onVote(i, (standing & bit) != 0 ? Vote.GRANTED : Vote.FAILED);
            }
        }
        conductor.counters().onRaised();
        conductor.startTimer(attempt.roundTimer, conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(attempt.ttlMs));
        attempt.expect(Long.bitCount(lagging));
        conductor.fanOut().send(attempt, Verb.RAISE, 0, lagging);
    }

    void onReply(final Attempt attempt, final int nodeIndex, final long value) {
        if (value == 1) {
            attempt.fence.onRaised(nodeIndex, attempt.raiseTo);
        }
        vote(attempt, nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
    }

    void onNoReply(final Attempt attempt, final int nodeIndex, final Vote vote) {
        vote(attempt, nodeIndex, vote);
    }

    void onTimeout(final Attempt attempt) {
        attempt.raiseRound.onTimeout();
        decide(attempt);
    }

    private void vote(final Attempt attempt, final int nodeIndex, final Vote vote) {
        if (attempt.phase == Attempt.Phase.RAISING) {
            attempt.raiseRound.onVote(nodeIndex, vote);
            decide(attempt);
        }
    }

    private void decide(final Attempt attempt) {
        final Decision decision = attempt.raiseRound.decision();
        switch (decision) {
            case OPEN -> {
                // wait for more answers or the timeout
            }
            case WON -> conductor.acquiring().succeed(attempt, attempt.fence.agreed());
            case CONTENDED -> conductor.acquiring().fail(attempt, AcquireOutcome.Kind.CONTENDED);
            case NO_QUORUM -> conductor.acquiring().fail(attempt, AcquireOutcome.Kind.NO_QUORUM);
        }
    }
}
