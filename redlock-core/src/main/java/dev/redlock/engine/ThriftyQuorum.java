package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.FanOut;
import dev.redlock.quorum.Majority;
import dev.redlock.quorum.Quorum;

/**
 * Chooses the nodes that a thrifty attempt asks first, and the delay after which it asks the others.
 *
 * <p>Most attempts of a time slice ask the same quorum, so that their commands share writes and the servers' reads, and
 * each slice another one. An attempt that is contended, fenced or for a permit asks the first quorum in the order of
 * the resource: competitors meet on the same nodes, fencing counters agree, and a node that searches for a free permit
 * knows those in use. A node that has not replied within its delay is late: other attempts leave it out until it
 * replies. No safety depends on the choice.
 *
 * <p>The delay of a node falls a little with each attempt that was in time and rises with each that was late, so that
 * about one attempt in a hundred is late: it follows the 99th percentile of the node's round trips without a clock.
 *
 * @threading event-loop-confined
 */
final class ThriftyQuorum {

    /** About a millisecond: a few turns of a busy event loop. */
    private static final int SLICE_SHIFT = 20;
    private static final int FALL_SHIFT = 10;
    private static final int RISE_SHIFT = 3;
    private static final long DELAY_NS_MAX = 1_000_000_000;

    private final FanOut fanOut;
    private final Coordinator coordinator;
    private final Majority majority;
    private final int[] weights;
    private final long[] delaysNs;
    /** Different clients start with different nodes. */
    private final int offset;
    private long lateMask;

    ThriftyQuorum(int nodeCount, FanOut fanOut, Majority majority, Coordinator coordinator, int offset) {
        this.fanOut = fanOut;
        this.coordinator = coordinator;
        this.majority = majority;
        this.weights = new int[nodeCount];
        this.delaysNs = new long[nodeCount];
        this.offset = offset;
    }

    /**
     * Returns the quorum of a time slice among the nodes that vote on a resource, those that are late last; all nodes
     * if fewer vote.
     */
    long at(long nowNs, LockKey key) {
        int first = (int) Math.floorMod((nowNs >> SLICE_SHIFT) + offset, (long) weights.length);
        for (int i = 0; i < weights.length; i++) {
            weights[(first + i) % weights.length] = -i;
        }
        return firstQuorum(fanOut.votingMask(key));
    }

    /** Returns the first quorum of voting nodes of a resource, those that are late last; all nodes if fewer vote. */
    long of(LockKey key) {
        long mask = fanOut.votingMask(key);
        for (int i = 0; i < weights.length; i++) {
            weights[i] = Coordinator.weightOf(key.orderHash, fanOut.identityHash(i));
        }
        return firstQuorum(mask);
    }

    /** The nodes with the greatest weights among those that vote. */
    private long firstQuorum(long mask) {
        return majority.isReachedBy(mask) ? smallestOf(mask) : Quorum.allOf(weights.length);
    }

    /** Leaves out one node after the other, those that are late first, while the rest is a quorum. */
    private long smallestOf(long voting) {
        long needed = 0;
        long late = voting & lateMask;
        for (long left = voting; left != 0;) {
            long node = 1L << lastOf((left & late) == 0 ? left : left & late);
            left &= ~node;
            if (!majority.isReachedBy(needed | left)) {
                if (!majority.isJoint()) {
                    return left | node;
                }
                needed |= node;
            }
        }
        return needed;
    }

    /** The node of a mask that is the last in the order. */
    private int lastOf(long mask) {
        int last = Long.numberOfTrailingZeros(mask);
        for (long left = mask & mask - 1; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            // The first of two nodes with one weight precedes, as for the coordinator.
            last = weights[i] <= weights[last] ? i : last;
        }
        return last;
    }

    /** Returns how long an attempt waits for the first nodes alone: their longest delay, at most half of the time. */
    long delayNs(long mask, long roundNs) {
        long delayNs = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            delayNs = Math.max(delayNs, delayNs(Long.numberOfTrailingZeros(left)));
        }
        return Math.min(roundNs / 2, delayNs);
    }

    private long delayNs(int nodeIndex) {
        return Math.max(coordinator.graceNs(nodeIndex), delaysNs[nodeIndex]);
    }

    /** An attempt needed no other nodes. */
    void onInTime(long mask) {
        for (long left = mask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            delaysNs[i] -= delaysNs[i] >> FALL_SHIFT;
        }
    }

    /** Nodes have not replied within the delay. A node that is late already does not become later. */
    void onLate(long mask) {
        for (long left = mask & ~lateMask; left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            long delayNs = delayNs(i);
            delaysNs[i] = Math.min(DELAY_NS_MAX, delayNs + (delayNs >> RISE_SHIFT));
        }
        lateMask |= mask;
    }

    /** A node has replied, or its connection has ended. */
    void onAnswered(int nodeIndex) {
        lateMask &= ~(1L << nodeIndex);
    }
}
