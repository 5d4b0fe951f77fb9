package dev.redlock.loadtest.driver;

import dev.redlock.AcquireOutcome;
import dev.redlock.ReleaseOutcome;

/**
 * Maps the outcomes of {@code redlock-core} to verdicts.
 *
 * @threading immutable
 */
final class RedlockVerdicts {
    private RedlockVerdicts() {
    }

    static AcquireVerdict of(AcquireOutcome.Kind kind) {
        return switch (kind) {
            case ACQUIRED -> AcquireVerdict.ACQUIRED;
            case CONTENDED -> AcquireVerdict.CONTENDED;
            case NO_QUORUM -> AcquireVerdict.NO_QUORUM;
            case TOO_SLOW -> AcquireVerdict.TOO_SLOW;
            case TIMED_OUT -> AcquireVerdict.TIMED_OUT;
            case OVERLOADED -> AcquireVerdict.OVERLOADED;
            case CLOSED, CANCELLED -> AcquireVerdict.CLOSED;
        };
    }

    static ReleaseVerdict of(ReleaseOutcome outcome) {
        return switch (outcome) {
            case RELEASED -> ReleaseVerdict.RELEASED;
            case EXPIRED -> ReleaseVerdict.EXPIRED;
            case UNKNOWN -> ReleaseVerdict.UNKNOWN;
            case KEPT -> throw new IllegalStateException("KEPT without holdAtLeast, which no driver sets");
        };
    }
}
