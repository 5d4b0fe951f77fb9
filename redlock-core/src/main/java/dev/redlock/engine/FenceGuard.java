package dev.redlock.engine;

import dev.redlock.node.Log;
import dev.redlock.node.NodeView;
import dev.redlock.node.Voter;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Majority;
import dev.redlock.time.NanoClock;

/**
 * Finds fencing counters that are out of range, so that a faulty node does not raise the counters of the others. The
 * limit comes from the clocks of the nodes: enough of them have
 * reached it that at least one of these clocks is right. The client's own clock does not count.
 *
 * @threading event-loop-confined
 */
final class FenceGuard {

    private static final long LOG_PERIOD_NS = 60_000_000_000L;

    private final Voter[] voters;
    private final Majority majority;
    private final NanoClock clock;
    private final long[] wallUs;
    private final long[] loggedNs;
    private long loggedMask;

    FenceGuard(Voter[] voters, Majority majority, NanoClock clock) {
        this.voters = voters;
        this.majority = majority;
        this.clock = clock;
        this.wallUs = new long[voters.length];
        this.loggedNs = new long[voters.length];
    }

    /** Returns the highest value that the clocks of the nodes allow now. */
    long clockLimit() {
        long nowNs = clock.nanoTime();
        for (int i = 0; i < wallUs.length; i++) {
            wallUs[i] = voters[i].wallUs(nowNs);
        }
        return FenceRule.clockLimit(majority, wallUs);
    }

    /**
     * Logs at most once a minute for each node: every grant repeats the counter. Logs nothing while the clocks of too
     * few nodes are known, as after a start during an outage: then every counter is left out, and none is known to be
     * wrong.
     */
    void log(NodeView node, long value) {
        long limit = clockLimit();
        if (limit == 0) {
            return;
        }
        long nowNs = clock.nanoTime();
        int nodeIndex = node.index();
        long bit = 1L << nodeIndex;
        if ((loggedMask & bit) != 0 && nowNs - loggedNs[nodeIndex] < LOG_PERIOD_NS) {
            return;
        }
        loggedMask |= bit;
        loggedNs[nodeIndex] = nowNs;
        Log.log(System.Logger.Level.WARNING, "node " + nodeIndex + " (" + node.name()
                + ") granted a fenced lock with its counter at " + value + ", which is out of range: the clocks of the"
                + " nodes allow " + limit + ", and too few other nodes have reached it. The grant does not"
                + " count; if no other counter is as high, delete the counter on this node");
    }
}
