package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.FanOut;
import dev.redlock.node.Voter;

/**
 * Chooses the coordinator of a resource: the node that contended attempts ask first. All clients choose the same node,
 * by a rendezvous hash of the resource and the identities of the servers, so one waiter wins there and the others cost
 * one node one refusal each. No safety depends on the choice.
 *
 * @threading event-loop-confined
 */
final class Coordinator {

    static final int NONE = -1;
    private static final int GRACE_ROUND_TRIPS = 3;
    private static final int HANDOFFS_ROUND_TRIPS = 6;
    /** A few handoffs on a local network, on a machine that is busy. */
    private static final long HANDOFFS_NS_MIN = 2_000_000;
    /** The shortest backstop of a waiter without pushes. */
    private static final long POSITION_DELAY_NS_MAX = 250_000_000;
    /** A round trip on a local network, on a machine that is busy. */
    private static final long GRACE_NS_MIN = 1_000_000;

    private static final int RISE_SHIFT = 3;

    private final Voter[] voters;
    private final FanOut fanOut;
    /** The shortest round trips of recent contended attempts, which rise slowly; 0 before the first. */
    private final long[] shortestNs;

    Coordinator(Voter[] voters, FanOut fanOut) {
        this.voters = voters;
        this.fanOut = fanOut;
        this.shortestNs = new long[voters.length];
    }

    /** A coordinator has refused an attempt, this long after its start. */
    void onRefused(int coordinator, long afterNs) {
        long shortest = shortestNs[coordinator];
        boolean isShorter = shortest == 0 || afterNs < shortest;
        shortestNs[coordinator] = isShorter ? afterNs : shortest + (afterNs - shortest >> RISE_SHIFT);
    }

    /**
     * A clock sample is rare, and the first one follows the connect: it may take ten times as long as an attempt. The
     * delays of later places would be as much too long, and these clients would come too late again and again.
     */
    private long roundTripNs(int coordinator) {
        long sampleNs = voters[coordinator].roundTripNs();
        long attemptNs = shortestNs[coordinator];
        return attemptNs == 0 || sampleNs < attemptNs ? sampleNs : attemptNs;
    }

    /**
     * Returns the index of the first voting node in the order of a resource, or {@link #NONE} if that node does not
     * push changes of keys: an attempt that it refuses could not wait for a push.
     */
    int of(LockKey key) {
        int best = firstOf(key, fanOut.votingMask(key));
        return best != NONE && fanOut.isPushing(best) ? best : NONE;
    }

    /** Returns the index of the first of some nodes in the order of a resource, or {@link #NONE} without any. */
    int firstOf(LockKey key, long mask) {
        int best = NONE;
        int bestWeight = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            int weight = weightOf(key.orderHash, fanOut.identityHash(i));
            if (best == NONE || weight > bestWeight) {
                best = i;
                bestWeight = weight;
            }
        }
        return best;
    }

    /**
     * The weight of a server in the order of a resource: mixes two hashes so that each bit of either changes about half
     * of the result (finalizer of MurmurHash3).
     */
    static int weightOf(int orderHash, int identityHash) {
        int mixed = orderHash * 0x9E3779B9 ^ identityHash;
        mixed = (mixed ^ mixed >>> 16) * 0x85EBCA6B;
        mixed = (mixed ^ mixed >>> 13) * 0xC2B2AE35;
        return mixed ^ mixed >>> 16;
    }

    /** Returns how long an attempt waits for the coordinator alone: some round trips, at most half of the time. */
    long timeoutNs(int coordinator, long roundNs) {
        return Math.min(roundNs / 2, graceNs(coordinator));
    }

    /** Returns how long the coordinator may be slower than the other nodes. */
    long graceNs(int coordinator) {
        return Math.max(GRACE_NS_MIN, GRACE_ROUND_TRIPS * roundTripNs(coordinator));
    }

    /**
     * Returns how long after a release a waiting set starts, by its {@link Ticket}: at once in the first position, and
     * later by the time of a few handoffs for each client that precedes. Most of those that precede take their set in
     * less, and the delay is then only the time without an attempt that would be refused. A client that precedes and
     * does not come any more costs its time once. Other kinds of lock are always in the first position.
     */
    long positionDelayNs(LockKey key, int position) {
        int preceding = position - Ticket.FIRST_POSITION;
        int coordinator = preceding > 0 ? of(key) : NONE;
        return coordinator == NONE ? 0 : Math.min(POSITION_DELAY_NS_MAX, preceding * handoffsNs(coordinator));
    }

    private long handoffsNs(int coordinator) {
        return Math.max(HANDOFFS_NS_MIN, HANDOFFS_ROUND_TRIPS * roundTripNs(coordinator));
    }
}
