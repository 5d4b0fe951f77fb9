package dev.redlock.quorum;

/**
 * Sizes of a set of nodes and of its majority.
 *
 * <p>The quorum is a majority of the <em>configured</em> nodes, connected or not: q = N/2 + 1. Any two quorums share a
 * node, which gives mutual exclusion (Redlock, "Distributed Locks with Redis", redis.io).
 *
 * @threading immutable
 */
public final class Quorum {

    /** Most nodes of one lock: a vote is one bit of a long, and the sign bit is not used. */
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
    public static int sizeOf(int nodeCount) {
        checkNodeCount(nodeCount);
        return nodeCount / 2 + 1;
    }

    /**
     * The set of all nodes as a bit mask, node i being bit i.
     *
     * @param nodeCount configured nodes, 1 to {@value #NODES_MAX}
     * @return the mask
     */
    public static long allOf(int nodeCount) {
        checkNodeCount(nodeCount);
        return (1L << nodeCount) - 1;
    }

    private static void checkNodeCount(int nodeCount) {
        if (nodeCount < 1 || nodeCount > NODES_MAX) {
            throw new IllegalArgumentException(
                    "node count " + nodeCount + " is out of range: configure 1 to " + NODES_MAX + " nodes");
        }
    }
}
