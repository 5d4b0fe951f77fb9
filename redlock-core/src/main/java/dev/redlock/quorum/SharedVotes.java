package dev.redlock.quorum;

import java.util.Arrays;

/**
 * The nodes that share an identity. They have one vote together: they may be one server, or one of them has copied the
 * identity of another, and nobody knows which.
 *
 * <p>A set of votes counts as its largest part in which no two nodes share an identity, or nearly. So a server that
 * copies an identity has no vote beside the server that it copies, and that server keeps its vote.
 *
 * <p>Why a lock still has one holder: let one node be wrong in any way, and share an identity with others. Of two
 * majorities, one that counts this node leaves out a node that shares its identity. If both count it, both are
 * majorities among fewer nodes than are configured, so they have a second node in common.
 *
 * @threading event-loop-confined
 */
public final class SharedVotes {

    /** By node: the others that share its identity, as a mask. */
    private final long[] sharing;
    /** The nodes that share an identity; without any, every vote counts. */
    long mask;

    /**
     * No node shares an identity.
     *
     * @param nodeCount configured nodes
     */
    public SharedVotes(int nodeCount) {
        this.sharing = new long[nodeCount];
    }

    /** Forgets all identities. */
    public void clear() {
        Arrays.fill(sharing, 0);
        mask = 0;
    }

    /**
     * Some nodes show the same identity.
     *
     * @param nodes two or more, as a mask
     */
    public void share(long nodes) {
        mask |= nodes;
        for (long left = nodes; left != 0; left &= left - 1) {
            int node = Long.numberOfTrailingZeros(left);
            sharing[node] |= nodes & ~Long.lowestOneBit(left);
        }
    }

    /**
     * The others that share an identity with a node.
     *
     * @param node its index
     * @return the others, as a mask
     */
    public long with(int node) {
        return sharing[node];
    }

    /** The votes that count, of which no two share an identity. */
    long counted(long votes) {
        long left = votes & mask;
        if (left == 0) {
            return votes;
        }
        long counted = votes & ~mask;
        while (left != 0) {
            int node = withFewest(left);
            counted |= 1L << node;
            left &= ~(sharing[node] | 1L << node);
        }
        return counted;
    }

    /** The node that excludes the fewest others. */
    private int withFewest(long votes) {
        int found = Long.numberOfTrailingZeros(votes);
        for (long left = votes; left != 0; left &= left - 1) {
            int node = Long.numberOfTrailingZeros(left);
            if (Long.bitCount(sharing[node] & votes) < Long.bitCount(sharing[found] & votes)) {
                found = node;
            }
        }
        return found;
    }
}
