package dev.redlock.loadtest.driver;

import java.time.Duration;

/**
 * What a handle locks, and how. What differs from {@link #of} was checked against {@link LockDriver#options()}.
 *
 * @param resource the resource to lock
 * @param ttl      what is written to Redis
 * @param waitBudget how long the client itself goes on trying; zero for one attempt
 * @param isFenced whether each grant comes with a fencing token
 * @threading immutable
 */
public record LockSpec(String resource, Duration ttl, Duration waitBudget, boolean isFenced) {
    /**
     * One attempt, no fencing token.
     *
     * @param resource the resource to lock
     * @param ttl      what is written to Redis
     * @return the defaults
     */
    public static LockSpec of(String resource, Duration ttl) {
        return new LockSpec(resource, ttl, Duration.ZERO, false);
    }
}
