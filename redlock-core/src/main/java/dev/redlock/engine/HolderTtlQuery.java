package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.CommandKind;

/**
 * The second trip of an acquisition that a plain {@code SET} was refused, and that ends with it: asks the nodes that
 * refused how long the holder's key will stand, which the refusal did not tell. Meanwhile the attempt is rolled back,
 * so nobody else waits for the answer.
 *
 * @threading event-loop-confined
 */
final class HolderTtlQuery {

    private static final int KEY_MISSING = -2;

    private final Conductor conductor;

    HolderTtlQuery(final Conductor conductor) {
        this.conductor = conductor;
    }

    /** Asks, and releases behind the question. */
    void start(final Claim claim) {
        claim.phase = Claim.Phase.QUERYING_TTL;
        claim.askedMask = claim.acquireRound.refused();
        conductor.startTimer(claim.roundTimer,
                conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(claim.ttlMs));
        claim.expect(Long.bitCount(claim.askedMask));
        // Ended after all of them have been asked and sent the release.
        claim.isSending = true;
        conductor.fanOut().send(claim, CommandKind.REMAINING_TTL, 0, claim.askedMask);
        conductor.releasing().send(claim);
        claim.isSending = false;
        endIfAnswered(claim);
    }

    /** Milliseconds; -1 says that the key never expires, -2 that there is none any more. */
    void onReply(final Claim claim, final int nodeIndex, final long value) {
        if (claim.phase == Claim.Phase.QUERYING_TTL) {
            claim.recordRemainingTtl(remainingTtlMs(value));
        }
        onNoReply(claim, nodeIndex);
    }

    private static long remainingTtlMs(final long value) {
        if (value == KEY_MISSING) {
            return 0;
        }
        return value < 0 ? Long.MAX_VALUE : value;
    }

    void onNoReply(final Claim claim, final int nodeIndex) {
        if (claim.phase == Claim.Phase.QUERYING_TTL) {
            claim.askedMask &= ~(1L << nodeIndex);
            endIfAnswered(claim);
        }
    }

    private void endIfAnswered(final Claim claim) {
        if (claim.askedMask == 0 && !claim.isSending) {
            end(claim);
        }
    }

    /** All have answered, or the time is up: the acquisition goes on with what is known. */
    void end(final Claim claim) {
        final PendingAcquire pending = claim.pending;
        pending.lease.recordVotes(claim);
        untrack(claim);
        conductor.acquires().onAttemptFailed(pending, AcquireOutcome.Kind.CONTENDED);
    }

    /** Nobody waits for the answers any more. */
    void untrack(final Claim claim) {
        conductor.stopTimer(claim.roundTimer);
        claim.pending.claim = null;
        claim.pending = null;
        claim.phase = Claim.Phase.ABANDONED;
        conductor.claims().recycleIfDone(claim);
    }
}
