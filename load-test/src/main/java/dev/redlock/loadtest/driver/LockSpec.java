package dev.redlock.loadtest.driver;

import java.time.Duration;

/**
 * The resource and the options of a handle. Every value that differs from {@link #of} is among {@link
 * LockDriver#options()}.
 *
 * @param waitBudget the time for which the client itself retries; zero for one attempt
 * @param isValidityReported whether the outcome of an acquire has the validity of the lock; otherwise it may be 0
 * @threading immutable
 */
public record LockSpec(String resource, Duration ttl, Duration waitBudget, boolean isFenced,
        boolean isValidityReported) {
    /** One attempt, no fencing token. */
    public static LockSpec of(String resource, Duration ttl) {
        return new LockSpec(resource, ttl, Duration.ZERO, false, true);
    }
}
