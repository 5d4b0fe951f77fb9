package dev.redlock;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * How long to wait after a failed attempt before the next one.
 *
 * @threading any thread: called on the client's event loop, possibly of several at once
 */
@FunctionalInterface
public interface RetryPolicy {

    /**
     * The delay before the next attempt. Also the pause of a waiting line that stands back for other clients
     * ({@link RedlockContext#localHandoffsMax}): asked once for a run of hand-overs, as if an attempt had just been
     * refused by a node that does not say for how long.
     *
     * @param attemptCount attempts made so far, at least 1
     * @param lastReason   why the last one failed
     * @param remainingTtlMs the shortest remaining ttl that a node reported, milliseconds; -1 if none did
     * @param random       64 random bits; need not be secure, differ at each call
     * @return nanoseconds, not negative
     */
    long delayNs(int attemptCount, AcquireOutcome.Kind lastReason, long remainingTtlMs, long random);

    /**
     * A random delay, evenly spread over a range, cut to the remaining ttl where a node reported a shorter one: the
     * lock may be free then. The range should be well above the time of one round, so that two clients that split the
     * votes do not meet again.
     *
     * @param delayNsMin shortest delay, nanoseconds, at least 0
     * @param delayNsMax longest delay, nanoseconds, at least the shortest
     * @return the policy
     * @throws IllegalArgumentException if the range is empty or negative
     */
    static RetryPolicy jittered(final long delayNsMin, final long delayNsMax) {
        if (delayNsMin < 0 || delayNsMax < delayNsMin) {
            throw new IllegalArgumentException("retry delay range " + delayNsMin + " to " + delayNsMax
                    + " ns is empty or negative: 0 <= min <= max is needed");
        }
        final long width = delayNsMax - delayNsMin + 1;
        return (attemptCount, lastReason, remainingTtlMs, random) -> {
            final long delayNs = delayNsMin + (random >>> 1) % width;
            final boolean endsSooner = remainingTtlMs >= 0 && remainingTtlMs < delayNs / NS_PER_MS;
            // One millisecond more than the node said, because it rounds down.
            return endsSooner ? (remainingTtlMs + 1) * NS_PER_MS + (random >>> 1) % (delayNsMin + 1) : delayNs;
        };
    }
}
