package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.CommandKind;

/**
 * Queries the ttl of the holder's key for an acquisition that ends with a refusal, because a refused {@code SET} does
 * not contain it. The rollback follows the query on each connection, so other clients do not wait for the reply.
 *
 * @threading event-loop-confined
 */
final class HolderTtlQuery {

    private static final int KEY_MISSING = -2;

    private final Conductor conductor;

    HolderTtlQuery(Conductor conductor) {
        this.conductor = conductor;
    }

    /** Sends the query to the nodes that refused, then the release to all that were asked. */
    void start(Claim claim) {
        claim.phase = Claim.Phase.QUERYING_TTL;
        claim.queriedMask = claim.acquireRound.refused();
        conductor.startTimer(claim.roundTimer,
                conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(claim.ttlMs));
        claim.addPendingReplies(Long.bitCount(claim.queriedMask));
        // The query ends after the last send at the earliest.
        claim.isFanOutInProgress = true;
        conductor.fanOut().send(claim, CommandKind.REMAINING_TTL, 0, claim.queriedMask);
        conductor.releaseOperation().send(claim);
        claim.isFanOutInProgress = false;
        endIfAnswered(claim);
    }

    /** The value is in milliseconds: -1 for a key without expiry, -2 for a missing key. */
    void onReply(Claim claim, int nodeIndex, long value) {
        if (claim.phase == Claim.Phase.QUERYING_TTL) {
            claim.recordRemainingTtl(remainingTtlMs(value));
        }
        onNoReply(claim, nodeIndex);
    }

    private static long remainingTtlMs(long value) {
        if (value == KEY_MISSING) {
            return 0;
        }
        return value < 0 ? Long.MAX_VALUE : value;
    }

    void onNoReply(Claim claim, int nodeIndex) {
        if (claim.phase == Claim.Phase.QUERYING_TTL) {
            claim.queriedMask &= ~(1L << nodeIndex);
            endIfAnswered(claim);
        }
    }

    private void endIfAnswered(Claim claim) {
        if (claim.queriedMask == 0 && !claim.isFanOutInProgress) {
            end(claim);
        }
    }

    /** Ends the query after the last reply or the timeout, with the shortest ttl so far. */
    void end(Claim claim) {
        PendingAcquire pending = claim.pending;
        pending.lease.recordVotes(claim);
        untrack(claim);
        conductor.scheduler().onAttemptFailed(pending, AcquireOutcome.Kind.CONTENDED);
    }

    /** Detaches the claim from its acquisition: later replies do not count. */
    void untrack(Claim claim) {
        conductor.stopTimer(claim.roundTimer);
        claim.pending.claim = null;
        claim.pending = null;
        claim.phase = Claim.Phase.ABANDONED;
        conductor.claims().recycleIfDone(claim);
    }
}
