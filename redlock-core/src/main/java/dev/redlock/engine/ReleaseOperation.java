package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.ExtendOutcome;
import dev.redlock.ReleaseOutcome;
import dev.redlock.node.CommandKind;
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

    /** Releases a held lease; one that has ended gets the outcome it ended with. */
    void release(final LeaseHandle lease) {
        final Claim claim = lease.claim;
        if (claim == null) {
            final ReleaseOutcome before = lease.releaseOutcome();
            lease.completeRelease(before == null ? ReleaseOutcome.EXPIRED : before);
            return;
        }
        if (claim.phase != Claim.Phase.HELD) {
            return;
        }
        conductor.keeper().untrack(lease);
        lease.markReleasing();
        // A callback may use the lease again, for another resource.
        final LockKey key = lease.key;
        conductor.acquires().queues().passStreak(claim);
        start(claim);
        if (lease.isExtensionAccepted()) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        conductor.acquires().queues().handOff(key);
    }

    private void start(final Claim claim) {
        claim.phase = Claim.Phase.RELEASING;
        claim.releaseRound.reset();
        try {
            final long nowNs = conductor.nowNs();
            conductor.startTimer(claim.roundTimer, nowNs + conductor.config().terms().nodeTimeoutNs(claim.ttlMs));
            send(claim);
        } catch (final RuntimeException | Error e) {
            giveUp(claim);
            throw e;
        }
    }

    /** Which nodes were sent it is not known, so all are owed it; a second release of a token does nothing. */
    private void giveUp(final Claim claim) {
        if (claim.phase != Claim.Phase.RELEASING) {
            return;
        }
        try {
            final long untilNs = conductor.nowNs() + claim.ttlMsMax * NS_PER_MS;
            for (int i = 0; i < conductor.nodeCount(); i++) {
                conductor.node(i).retainRelease(claim, untilNs);
            }
        } finally {
            end(claim, ReleaseOutcome.UNKNOWN);
        }
    }

    /** Gives back a token that nobody waits for. */
    void abandon(final Claim claim) {
        claim.phase = Claim.Phase.ABANDONED;
        claim.lease = null;
        send(claim);
    }

    /** Sends it to all nodes; whether somebody waits for its answers is the phase's to say. */
    void send(final Claim claim) {
        final int nodeCount = conductor.nodeCount();
        // One more than the answers to come, so that it is not recycled while it is being sent.
        claim.expect(nodeCount + 1);
        conductor.fanOut().release(claim, releaseKind(claim));
        claim.expect(-1);
        conductor.claims().recycleIfDone(claim);
    }

    /**
     * A fenced release brings up the counters that are behind. Where all answers so far are grants at one number there
     * is none to bring up, and the plain release, which costs the nodes less, does; who has not answered is presumed to
     * stand there too, and {@link #onCounterLagging} mends it if not.
     */
    private CommandKind releaseKind(final Claim claim) {
        if (claim.fence.highest() == 0) {
            return CommandKind.RELEASE;
        }
        boolean mayCountersDiffer = mayCountersDiffer(claim);
        if (mayCountersDiffer || claim.phase != Claim.Phase.RELEASING) {
            // No quorum has agreed on the highest value: it may be out of range.
            conductor.fenceGuard().dropOutOfRange(claim);
            mayCountersDiffer = mayCountersDiffer(claim);
        }
        if (mayCountersDiffer) {
            return claim.fence.highest() == 0 ? CommandKind.RELEASE : CommandKind.RELEASE_FENCED;
        }
        claim.assumedFenceToken = claim.fence.highest();
        return CommandKind.RELEASE;
    }

    private static boolean mayCountersDiffer(final Claim claim) {
        final Round round = claim.acquireRound;
        return claim.isCounterLagging || claim.fence.lagging() != 0
                || (round.refused() | round.failed() | round.unknown()) != 0;
    }

    /**
     * A node that was presumed to stand where the others do answers its acquire otherwise: its counter is brought up
     * behind the release.
     */
    void onCounterLagging(final Claim claim, final int nodeIndex) {
        claim.expect(1);
        conductor.fanOut().send(claim, CommandKind.RELEASE_FENCED, FOR_COUNTER, 1L << nodeIndex);
    }

    void onReply(final Claim claim, final int nodeIndex, final int sequence, final long value) {
        if (sequence != FOR_COUNTER) {
            vote(claim, nodeIndex, value == 1 ? Vote.GRANTED : Vote.REFUSED);
        }
    }

    void onNoReply(final Claim claim, final int nodeIndex, final int sequence, final Vote vote) {
        if (sequence == FOR_COUNTER) {
            return;
        }
        if ((claim.mayHoldMask & 1L << nodeIndex) != 0) {
            conductor.node(nodeIndex).retainRelease(claim, conductor.nowNs() + claim.ttlMsMax * NS_PER_MS);
        }
        vote(claim, nodeIndex, vote);
    }

    void onTimeout(final Claim claim) {
        claim.releaseRound.onTimeout();
        decide(claim);
    }

    private void vote(final Claim claim, final int nodeIndex, final Vote vote) {
        if (claim.phase == Claim.Phase.RELEASING) {
            claim.releaseRound.onVote(nodeIndex, vote);
            decide(claim);
        }
    }

    private void decide(final Claim claim) {
        final Decision decision = claim.releaseRound.decision();
        if (decision == Decision.OPEN) {
            return;
        }
        if (decision == Decision.WON) {
            end(claim, ReleaseOutcome.RELEASED);
        } else if (claim.releaseRound.isRefusedForCertain()) {
            end(claim, ReleaseOutcome.EXPIRED);
        } else if (decision == Decision.NO_QUORUM || claim.releaseRound.pending() == 0) {
            end(claim, ReleaseOutcome.UNKNOWN);
        }
    }

    private void end(final Claim claim, final ReleaseOutcome outcome) {
        final LeaseHandle lease = claim.lease;
        conductor.stopTimer(claim.roundTimer);
        claim.phase = Claim.Phase.ABANDONED;
        claim.lease = null;
        lease.claim = null;
        conductor.counters().onReleased(outcome);
        conductor.shutdown().recordRelease(lease, outcome);
        lease.completeRelease(outcome);
    }
}
