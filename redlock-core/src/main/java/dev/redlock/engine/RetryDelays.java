package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.RetryPolicy;
import dev.redlock.engine.callback.UserCallbacks;
import java.util.random.RandomGenerator;

/**
 * Gets retry delays from retry policies. If a policy throws, a default delay keeps the acquisition alive. A policy may
 * also re-enter the client and end the acquisition, so the caller checks for that.
 *
 * @threading event-loop-confined
 */
final class RetryDelays {

    /** Default delays are 25 to 50 ms. */
    private static final long DELAY_NS_MIN = 25_000_000;

    /** Backstop delays are 250 to 500 ms. */
    private static final long BACKSTOP_NS_MIN = 250_000_000;

    private final RandomGenerator random;
    private final RetryPolicy defaultPolicy;

    RetryDelays(RandomGenerator random, RetryPolicy defaultPolicy) {
        this.random = random;
        this.defaultPolicy = defaultPolicy;
    }

    RandomGenerator random() {
        return random;
    }

    /**
     * Returns a delay for an acquisition that a push will wake. It matters only if the push is lost, and is random so
     * that the attempts of many clients spread out.
     */
    long backstopNs() {
        return BACKSTOP_NS_MIN + (random.nextLong() >>> 1) % BACKSTOP_NS_MIN;
    }

    /** Returns a short random delay for acquisitions that are no longer registered for a push. */
    long unregisteredNs() {
        return (random.nextLong() >>> 1) % DELAY_NS_MIN;
    }

    long delayNs(LeaseHandle lease, AcquireOutcome.Kind reason, long remainingTtlMs) {
        long bits = random.nextLong();
        try {
            RetryPolicy own = lease.spec.retryPolicy;
            RetryPolicy policy = own == null ? defaultPolicy : own;
            int attemptCount = Math.max(1, lease.attemptCount());
            return Math.max(0, policy.delayNs(attemptCount, reason, remainingTtlMs, bits));
        } catch (Throwable e) {
            UserCallbacks.logThrown("retry policy", e);
            return DELAY_NS_MIN + (bits >>> 1) % DELAY_NS_MIN;
        }
    }
}
