package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * Finds a node that is too far away, or too slow, for the node timeout: it works, but its votes never count.
 * <ul>
 * <li>A node is distant if every clock sample of the last two seconds, three at least, took the node timeout or longer.
 * One slow sample, or a pause of the node, is no distance.
 * <li>The first sample in time ends it: a vote can be in time again.
 * </ul>
 *
 * <p>The timeout does not adapt to the samples. It limits how long an attempt without a quorum takes, and a limit that
 * grows with the slowest node would delay the callers of the others.
 *
 * @threading event-loop-confined, except {@link #problem}
 */
final class NodeDistance {

    static final int SAMPLES_MIN = 3;
    static final long PERIOD_NS_MIN = 2_000 * NS_PER_MS;
    /** The proposed timeout has so many: replies also wait for other commands, and for lost packets. */
    private static final int PROPOSED_ROUND_TRIPS = 3;

    private final long timeoutNs;
    /** The slow samples in a row, the time of the first and the shortest of them. */
    private int slowCount;
    private long firstNs;
    private long shortestNs;
    private volatile String problem;

    /** The longest node timeout of any acquire. */
    NodeDistance(long timeoutNs) {
        this.timeoutNs = timeoutNs;
    }

    /** Adds a sample; true if this changes whether the node is distant. */
    boolean onSample(long roundTripNs, long nowNs) {
        boolean wasDistant = problem != null;
        if (roundTripNs < timeoutNs) {
            slowCount = 0;
            problem = null;
            return wasDistant;
        }
        firstNs = slowCount == 0 ? nowNs : firstNs;
        shortestNs = slowCount == 0 ? roundTripNs : Math.min(shortestNs, roundTripNs);
        slowCount++;
        if (wasDistant || slowCount < SAMPLES_MIN || nowNs - firstNs < PERIOD_NS_MIN) {
            return false;
        }
        problem = "the node is too far away or too slow: each of the last " + slowCount + " replies took "
                + shortestNs / NS_PER_MS + " ms or longer, and a vote counts for " + timeoutNs / NS_PER_MS
                + " ms only; raise RedlockContext.nodeTimeout, for example to "
                + (PROPOSED_ROUND_TRIPS * shortestNs / NS_PER_MS + 1) + " ms";
        return true;
    }

    /** The problem, with its fix; null if the node replies in time. Any thread. */
    String problem() {
        return problem;
    }
}
