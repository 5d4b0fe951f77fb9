package dev.redlock.engine;

import dev.redlock.node.Log;
import dev.redlock.node.NodeView;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Quorum;

/**
 * Keeps a node whose fencing counter is out of range from pushing the other nodes' counters: leaves its grant out of
 * the round and its value out of what is raised to and passed on. The clock that it measures by is one that so many
 * nodes have reached that one of them is not at fault; the client's own clock is not asked.
 *
 * @threading event-loop-confined
 */
final class FenceGuard {

    private static final long LOG_PERIOD_NS = 60_000_000_000L;

    private final Conductor conductor;
    private final long[] wallUs;
    private final long[] loggedNs;
    private long logged;

    FenceGuard(final Conductor conductor) {
        this.conductor = conductor;
        this.wallUs = new long[conductor.nodeCount()];
        this.loggedNs = new long[conductor.nodeCount()];
    }

    /** The highest value that can come from the nodes' clocks now. */
    long clockLimit() {
        final long nowNs = conductor.nowNs();
        for (int i = 0; i < wallUs.length; i++) {
            wallUs[i] = conductor.node(i).wallUs(nowNs);
        }
        return FenceRule.clockLimit(
                FenceRule.reachedBy(wallUs, Quorum.allOf(wallUs.length), FenceRule.supportOf(wallUs.length)));
    }

    /** Takes the grants that are out of range out of an attempt. Nothing to do where nodes agree. */
    void dropOutOfRange(final Claim claim) {
        final long dropped = claim.fence.dropOutOfRange(clockLimit());
        for (long left = dropped; left != 0; left &= left - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(left);
            if (claim.acquireRound.revoke(nodeIndex)) {
                claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
            }
        }
        for (long left = dropped; left != 0; left &= left - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(left);
            log(nodeIndex, claim.fence.valueOf(nodeIndex));
        }
    }

    /** At most once a minute for each node: a counter that is out of range comes with every grant. */
    void log(final int nodeIndex, final long value) {
        final long nowNs = conductor.nowNs();
        final long bit = 1L << nodeIndex;
        if ((logged & bit) != 0 && nowNs - loggedNs[nodeIndex] < LOG_PERIOD_NS) {
            return;
        }
        logged |= bit;
        loggedNs[nodeIndex] = nowNs;
        final NodeView node = conductor.node(nodeIndex).view();
        Log.log(System.Logger.Level.WARNING, "node " + nodeIndex + " (" + node.address()
                + ") granted a fenced lock with its counter at " + value + ", which is out of range: the clocks of the"
                + " nodes allow " + clockLimit() + ", and too few other nodes have reached it. The grant does not"
                + " count; if no other counter is as high, delete the counter on this node");
    }
}
