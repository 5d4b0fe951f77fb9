package dev.redlock.engine;

import dev.redlock.quorum.Token;

/**
 * What a claim needs if others compete for its lock, or if it asks some nodes first.
 *
 * @threading event-loop-confined
 */
final class Contention {

    /** Nodes that voted when the attempt started: it asks no others later. */
    long voterMask;
    /** Nodes whose reply to the query for the ttl or the type of the holder's key is pending. */
    long queriedMask;
    /** The shortest remaining ttl of the keys that have refused the attempt, milliseconds; -1 if it is not known. */
    long shortestRemainingTtlMs = -1;
    /** The name of the reservation that a refused writer or set leaves; null for none. */
    Token reservation;

    void reset() {
        queriedMask = 0;
        shortestRemainingTtlMs = -1;
        reservation = null;
    }

    void recordRemainingTtl(long remainingTtlMs) {
        if (shortestRemainingTtlMs < 0 || remainingTtlMs < shortestRemainingTtlMs) {
            shortestRemainingTtlMs = remainingTtlMs;
        }
    }
}
