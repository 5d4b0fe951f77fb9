package dev.redlock.engine.fence;

import dev.redlock.node.NodeView;
import dev.redlock.node.Voter;
import dev.redlock.quorum.FenceRule;
import dev.redlock.quorum.Majority;
import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import java.util.concurrent.Executor;

/**
 * Finds fencing counters that are out of range, so that a faulty node does not raise the counters of the others. The
 * limit comes from the clocks of the nodes: enough of them have reached it that at least one of these clocks is right.
 * The client's own clock does not count.
 *
 * <p>A node that votes again may have lost counts: a promoted replica, or a server that was restarted with older data.
 * So counters continue at least from the second in which the last node began to vote, as if they were lost. The clock
 * is past every number that any node has reached before. The slots of a cluster begin to vote one by one, so there it
 * is the present second. Without a restart guard, nodes lose nothing.
 *
 * @threading event-loop-confined
 */
public final class FenceGuard {

    private static final long LOG_PERIOD_NS = 60_000_000_000L;

    private final Voter[] voters;
    private final Majority majority;
    private final NanoClock clock;
    private final Executor loop;
    private final long[] wallUs;
    private final long[] loggedNs;
    private long loggedMask;
    private final boolean hasClusters;
    private final boolean mayLoseCounts;
    private long floor;

    /**
     * @param voters        whose clocks count
     * @param majority      the quorum of the nodes
     * @param clock         the monotonic clock of the client
     * @param loop          the event loop, which logs after the present change of state
     * @param hasClusters   whether a voter is a cluster
     * @param mayLoseCounts whether a node that votes again may have lost counts
     */
    public FenceGuard(Voter[] voters, Majority majority, NanoClock clock, Executor loop, boolean hasClusters,
            boolean mayLoseCounts) {
        this.voters = voters;
        this.majority = majority;
        this.clock = clock;
        this.loop = loop;
        this.hasClusters = hasClusters;
        this.mayLoseCounts = mayLoseCounts;
        this.wallUs = new long[voters.length];
        this.loggedNs = new long[voters.length];
    }

    /** A node votes, for the first time or again. Its clock was read before. */
    public void onVoting() {
        if (mayLoseCounts) {
            readClocks();
            floor = Math.max(floor, FenceRule.seed(majority, wallUs));
        }
    }

    /** Returns the number from which a lower counter continues, in the attempt that starts now. */
    long floor() {
        if (hasClusters) {
            onVoting();
        }
        return floor;
    }

    /** Returns the highest value that the clocks of the nodes allow now. */
    long clockLimit() {
        readClocks();
        return FenceRule.clockLimit(majority, wallUs);
    }

    private void readClocks() {
        long nowNs = clock.nanoTime();
        for (int i = 0; i < wallUs.length; i++) {
            wallUs[i] = voters[i].wallUs(nowNs);
        }
    }

    /**
     * Logs at most once a minute for each node: every grant repeats the counter. Logs nothing while the clocks of too
     * few nodes are known, as after a start during an outage: then every counter is left out, and none is known to be
     * wrong.
     */
    void log(FencedRound round, int nodeIndex, long value) {
        long limit = clockLimit();
        if (limit == 0) {
            return;
        }
        long nowNs = clock.nanoTime();
        long bit = 1L << nodeIndex;
        if ((loggedMask & bit) != 0 && nowNs - loggedNs[nodeIndex] < LOG_PERIOD_NS) {
            return;
        }
        loggedMask |= bit;
        loggedNs[nodeIndex] = nowNs;
        NodeView node = round.node(nodeIndex);
        Log.later(loop, System.Logger.Level.WARNING, "{0}", "node " + nodeIndex + " (" + node.name()
                + ") granted a fenced lock with its counter " + round.counterText() + " at " + value
                + ", which is out of range: the clocks of the nodes allow " + limit + ", and too few other nodes have"
                + " reached it. The grant does not count; if no other counter is as high, delete the counter on this"
                + " node");
    }
}
