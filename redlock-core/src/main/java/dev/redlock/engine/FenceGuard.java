package dev.redlock.engine;

import dev.redlock.node.Log;
import dev.redlock.node.NodeView;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.FenceRule;

/**
 * Rejects fencing counters that are out of range, so that a faulty node does not raise the counters of the others. It
 * ignores the grant and the value of such a node. The limit comes from the clocks of the nodes: enough of them have
 * reached it that at least one of these clocks is right. The client's own clock does not count.
 *
 * @threading event-loop-confined
 */
final class FenceGuard {

    private static final long LOG_PERIOD_NS = 60_000_000_000L;

    private final Conductor conductor;
    private final long[] wallUs;
    private final long[] loggedNs;
    private long loggedMask;

    FenceGuard(Conductor conductor) {
        this.conductor = conductor;
        this.wallUs = new long[conductor.nodeCount()];
        this.loggedNs = new long[conductor.nodeCount()];
    }

    /** Returns the highest value that the clocks of the nodes allow now. */
    long clockLimit() {
        long nowNs = conductor.nowNs();
        for (int i = 0; i < wallUs.length; i++) {
            wallUs[i] = conductor.voter(i).wallUs(nowNs);
        }
        return FenceRule.clockLimit(conductor.majority(), wallUs);
    }

    /** Revokes the grants of an attempt whose counters are out of range. */
    void dropOutOfRange(Claim claim) {
        long droppedMask = claim.fence.dropOutOfRange(clockLimit());
        for (long leftMask = droppedMask; leftMask != 0; leftMask &= leftMask - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(leftMask);
            if (claim.acquireRound.revoke(nodeIndex)) {
                claim.recordFailure(nodeIndex, VoteFailure.FENCE_OUT_OF_RANGE);
            }
        }
        for (long leftMask = droppedMask; leftMask != 0; leftMask &= leftMask - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(leftMask);
            log(claim, nodeIndex, claim.fence.valueOf(nodeIndex));
        }
    }

    /**
     * Logs at most once a minute for each node: every grant repeats the counter. Logs nothing while the clocks of too
     * few nodes are known, as after a start during an outage: then every counter is left out, and none is known to be
     * wrong.
     */
    void log(Claim claim, int nodeIndex, long value) {
        long limit = clockLimit();
        if (limit == 0) {
            return;
        }
        long nowNs = conductor.nowNs();
        long bit = 1L << nodeIndex;
        if ((loggedMask & bit) != 0 && nowNs - loggedNs[nodeIndex] < LOG_PERIOD_NS) {
            return;
        }
        loggedMask |= bit;
        loggedNs[nodeIndex] = nowNs;
        NodeView node = conductor.node(nodeIndex, claim).view();
        Log.log(System.Logger.Level.WARNING, "node " + nodeIndex + " (" + node.address()
                + ") granted a fenced lock with its counter at " + value + ", which is out of range: the clocks of the"
                + " nodes allow " + limit + ", and too few other nodes have reached it. The grant does not"
                + " count; if no other counter is as high, delete the counter on this node");
    }
}
