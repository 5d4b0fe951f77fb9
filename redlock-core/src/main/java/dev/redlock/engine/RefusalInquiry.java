package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.node.Verb;

/**
 * The second trip of an acquisition that a plain {@code SET} was refused, and that ends with it: asks the nodes that
 * refused how long the holder's key will stand, which the refusal did not tell. Meanwhile the attempt is rolled back,
 * so nobody else waits for the answer.
 *
 * @threading event-loop-confined
 */
final class RefusalInquiry {

    private static final int KEY_MISSING = -2;

    private final Conductor conductor;

    RefusalInquiry(final Conductor conductor) {
        this.conductor = conductor;
    }

    /** Asks, and releases behind the question. */
    void start(final Attempt attempt) {
        attempt.phase = Attempt.Phase.INQUIRING;
        attempt.asked = attempt.acquireRound.refused();
        conductor.startTimer(attempt.roundTimer, conductor.nowNs() + conductor.config().terms().nodeTimeoutNs(attempt.ttlMs));
        attempt.expect(Long.bitCount(attempt.asked));
        // Ended after all of them have been asked and sent the release.
        attempt.isSending = true;
        conductor.fanOut().send(attempt, Verb.REMAINING_TTL, 0, attempt.asked);
        conductor.releasing().send(attempt);
        attempt.isSending = false;
        endIfAnswered(attempt);
    }

    /** Milliseconds; -1 says that the key never expires, -2 that there is none any more. */
    void onReply(final Attempt attempt, final int nodeIndex, final long value) {
        if (attempt.phase == Attempt.Phase.INQUIRING) {
            attempt.noteRemainingTtl(remainingTtlMs(value));
        }
        onNoReply(attempt, nodeIndex);
    }

    private static long remainingTtlMs(final long value) {
        if (value == KEY_MISSING) {
            return 0;
        }
        return value < 0 ? Long.MAX_VALUE : value;
    }

    void onNoReply(final Attempt attempt, final int nodeIndex) {
        if (attempt.phase == Attempt.Phase.INQUIRING) {
            attempt.asked &= ~(1L << nodeIndex);
            endIfAnswered(attempt);
        }
    }

    private void endIfAnswered(final Attempt attempt) {
        if (attempt.asked == 0 && !attempt.isSending) {
            end(attempt);
        }
    }

    /** All have answered, or the time is up: the acquisition goes on with what is known. */
    void end(final Attempt attempt) {
        final Acquisition acquisition = attempt.acquisition;
        acquisition.lease.noteVotes(attempt);
        letGo(attempt);
        conductor.onAttemptFailed(acquisition, AcquireOutcome.Kind.CONTENDED);
    }

    /** Nobody waits for the answers any more. */
    void letGo(final Attempt attempt) {
        conductor.stopTimer(attempt.roundTimer);
        attempt.acquisition.attempt = null;
        attempt.acquisition = null;
        attempt.phase = Attempt.Phase.ABANDONED;
        conductor.recycleIfDone(attempt);
    }
}
