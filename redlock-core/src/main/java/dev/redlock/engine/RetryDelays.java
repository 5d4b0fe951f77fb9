package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import java.util.random.RandomGenerator;

/**
 * Asks retry policies for delays. A policy may be the user's: if it throws, a delay of this class applies, so that the
 * acquisition continues. It may also re-enter the client and end the acquisition, which the caller has to check.
 *
 * @threading event-loop-confined
 */
final class RetryDelays {

    /** Half of the longest delay where a policy throws: 25 ms. */
    private static final long DELAY_NS_MIN = 25_000_000;

    private final RandomGenerator random;

    RetryDelays(final RandomGenerator random) {
        this.random = random;
    }

    long delayNs(final LeaseHandle lease, final AcquireOutcome.Kind reason, final long remainingTtlMs) {
        final long bits = random.nextLong();
        try {
            final int attemptCount = Math.max(1, lease.attemptCount());
            return Math.max(0, lease.retryPolicy.delayNs(attemptCount, reason, remainingTtlMs, bits));
        } catch (final RuntimeException | Error e) {
            UserCallbacks.logThrown("retry policy", e);
            return DELAY_NS_MIN + (bits >>> 1) % DELAY_NS_MIN;
        }
    }
}
