package dev.redlock.api;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.Durations;
import java.time.Duration;

/**
 * The delays between the attempts of an acquisition.
 *
 * @threading any thread: called on the client's event loop, possibly on several at the same time
 */
@FunctionalInterface
public interface RetryPolicy {

    /**
     * The delay before the next attempt. A refused acquisition that a node will wake
     * ({@link dev.redlock.NodeStatus#wakeUpProblem}) registers with the other nodes after this delay; its next attempt
     * without a push follows 250 to 500 ms later, or after this delay if it is longer. A plain lock that waits in the
     * queue of a node has times of its own. Without wake-ups the delay is also the
     * pause of a local queue ({@link dev.redlock.RedlockContext#localHandoffsMax RedlockContext.localHandoffsMax}):
     * then it is drawn once for a row of handoffs, with the arguments of an attempt that a node refused without a
     * remaining ttl.
     *
     * @param attemptCount attempts so far, at least 1
     * @param lastReason   why the last one failed
     * @param remainingTtlMs the shortest remaining ttl that a node reported, milliseconds; -1 if none did
     * @param random       64 random bits, different at each call; not secure
     * @return nanoseconds, not negative
     */
    long delayNs(int attemptCount, AcquireOutcome.Kind lastReason, long remainingTtlMs, long random);

    /**
     * A random delay, evenly distributed over a range. It is cut to the remaining ttl if a node reported a shorter one,
     * because the lock may be free then. The range should be well above the time of one round, so that two clients that
     * split the votes do not meet again.
     *
     * @param min shortest delay, at least zero
     * @param max longest delay, at least the shortest
     * @throws IllegalArgumentException if the range is empty or negative
     */
    static RetryPolicy jittered(Duration min, Duration max) {
        long delayNsMin = Durations.nanosOf("shortest retry delay", min);
        long delayNsMax = Durations.nanosOf("longest retry delay", max);
        if (delayNsMax < delayNsMin) {
            throw new IllegalArgumentException("retry delay range " + delayNsMin + " to " + delayNsMax
                    + " ns is empty: min <= max is needed");
        }
        long width = delayNsMax - delayNsMin + 1;
        return (attemptCount, lastReason, remainingTtlMs, random) -> {
            long delayNs = delayNsMin + (random >>> 1) % width;
            boolean endsSooner = remainingTtlMs >= 0 && remainingTtlMs < delayNs / NS_PER_MS;
            // One millisecond more than the node said, because it rounds down.
            return endsSooner ? (remainingTtlMs + 1) * NS_PER_MS + (random >>> 1) % (delayNsMin + 1) : delayNs;
        };
    }
}
