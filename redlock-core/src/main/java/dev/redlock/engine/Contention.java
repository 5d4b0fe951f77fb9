package dev.redlock.engine;

import dev.redlock.quorum.Token;

/**
 * What a claim needs if others compete for its lock, or if it asks some nodes first.
 *
 * @threading event-loop-confined
 */
final class Contention {

    /** The reply of a script if no key expires: the largest exact integer of Lua, negated. */
    static final long NO_EXPIRY_REPLY = -9_007_199_254_740_991L;

    /** Nodes that voted when the attempt started: it asks no others later. */
    long voterMask;
    /** Nodes whose reply to the query for the ttl or the type of the holder's key is pending. */
    long queriedMask;
    /** The shortest remaining ttl of the keys that have refused the attempt, milliseconds; -1 if it is not known. */
    long shortestRemainingTtlMs = -1;
    /** The node that decides whose turn it is; negative if the attempt does not ask in order. */
    private int orderNode = Coordinator.NONE;
    /** The name of this client in the queue of a lock; null for a command without. */
    private byte[] waiterBulk;
    /** The name of the reservation that a refused writer or set leaves; null for none. */
    Token reservation;

    void reset() {
        queriedMask = 0;
        orderNode = Coordinator.NONE;
        waiterBulk = null;
        shortestRemainingTtlMs = -1;
        reservation = null;
    }

    /** A node alone is asked whether it is the turn of this client. */
    void askInOrder(int node, byte[] waiter) {
        orderNode = node;
        waiterBulk = waiter;
    }

    /** The next command names this client in a queue. */
    void nameWaiter(byte[] waiter) {
        waiterBulk = waiter;
    }

    int orderNode() {
        return orderNode;
    }

    byte[] waiterBulk() {
        return waiterBulk;
    }

    /** The reply of a script that has refused the attempt has the remaining ttl, negated. */
    void recordRefusal(long reply) {
        recordRemainingTtl(reply == NO_EXPIRY_REPLY ? Long.MAX_VALUE : -reply);
    }

    void recordRemainingTtl(long remainingTtlMs) {
        if (shortestRemainingTtlMs < 0 || remainingTtlMs < shortestRemainingTtlMs) {
            shortestRemainingTtlMs = remainingTtlMs;
        }
    }
}
