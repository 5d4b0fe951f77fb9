package dev.redlock.quorum;

/**
 * Sizes of a set of nodes and of its majority.
 *
 * <p>The quorum is a majority of the <em>configured</em> nodes, whatever is up: q = N/2 + 1. Any two quorums share a
 * node, which is what mutual exclusion rests on (Redlock, "Distributed Locks with Redis", redis.io).
 *
 * @threading immutable
 */
public final class Quorum {

    /** Most nodes that one lock can be spread over: a vote per node is one bit of a long, the sign bit stays free. */
    public static final int NODES_MAX = 63;

    private Quorum() {
    }

    /**
     * The majority of a number of nodes.
     *
     * @param nodeCount configured nodes, 1 to {@value #NODES_MAX}
     * @return nodeCount / 2 + 1
     * @throws IllegalArgumentException if the count is out of range
     */
    public static int sizeOf(final int nodeCount) {
        checkNodeCount(nodeCount);
        return nodeCount / 2 + 1;
    }

    /**
     * The set of all nodes as a bit mask, node i being bit i.
     *
     * @param nodeCount configured nodes, 1 to {@value #NODES_MAX}
     * @return the mask
     */
    public static long allOf(final int nodeCount) {
        checkNodeCount(nodeCount);
        return (1L << nodeCount) - 1;
    }

    private static void checkNodeCount(final int nodeCount) {
        if (nodeCount < 1 || nodeCount > NODES_MAX) {
            throw new IllegalArgumentException(
                    "node count " + nodeCount + " is out of range: configure 1 to " + NODES_MAX + " nodes");
        }
    }
}
