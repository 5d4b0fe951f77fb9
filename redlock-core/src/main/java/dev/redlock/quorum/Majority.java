package dev.redlock.quorum;

/**
 * The nodes whose votes win: a majority of one list of nodes, or a majority of each of two lists. Two lists are joint
 * while clients change from the first to the second: each of their majorities shares a node with each majority of
 * either list, so no client of one list needs to know the other.
 *
 * <p>The nodes of both lists have one numbering; a node in both lists votes in both. Nodes that share an identity have
 * one vote together.
 *
 * @threading immutable, but {@link SharedVotes} belong to an event loop
 */
public final class Majority {

    final int nodeCount;
    final long all;
    private final long first;
    final int firstSize;
    /** 0 if there is one list. */
    final long second;
    private final int secondSize;
    /** Null if identities are not known. */
    final SharedVotes shared;

    private Majority(long first, long second, SharedVotes shared) {
        this.shared = shared;
        this.all = first | second;
        this.nodeCount = Long.bitCount(all);
        this.first = first;
        this.firstSize = Quorum.sizeOf(Long.bitCount(first));
        this.second = second;
        this.secondSize = second == 0 ? 0 : Quorum.sizeOf(Long.bitCount(second));
    }

    /**
     * The majority of one list.
     *
     * @param nodeCount its nodes, 1 to {@link Quorum#NODES_MAX}
     * @return the majority
     */
    public static Majority of(int nodeCount) {
        return new Majority(Quorum.allOf(nodeCount), 0, null);
    }

    /**
     * A majority of each of two lists, which together have the nodes 0 to n - 1.
     *
     * @param first  the nodes of the one list, node i as bit i
     * @param second the nodes of the other list
     * @return the majority
     * @throws IllegalArgumentException if a list is empty, or a number has no node
     */
    public static Majority ofBoth(long first, long second) {
        long all = first | second;
        if (first == 0 || second == 0 || all != Quorum.allOf(Long.bitCount(all))) {
            throw new IllegalArgumentException("lists " + Long.toBinaryString(first) + " and "
                    + Long.toBinaryString(second) + " are no lists of numbered nodes");
        }
        return new Majority(first, second, null);
    }

    /**
     * The same majority for the nodes of one event loop.
     *
     * @param votes the nodes that share an identity; they may change
     * @return the majority
     */
    public Majority withShared(SharedVotes votes) {
        return new Majority(first, second, votes);
    }

    /**
     * Whether a set of nodes is enough.
     *
     * @param nodes the nodes, as a mask
     * @return true if they are a majority of each list
     */
    public boolean isReachedBy(long nodes) {
        long counted = counted(nodes);
        return Long.bitCount(counted & first) >= firstSize
                && (second == 0 || Long.bitCount(counted & second) >= secondSize);
    }

    /**
     * Whether a set of nodes is enough for a client of one of the lists, which does not know the other.
     *
     * @param nodes the nodes, as a mask
     * @return true if they are a majority of a list
     */
    public boolean isReachedInEitherListBy(long nodes) {
        long counted = counted(nodes);
        return Long.bitCount(counted & first) >= firstSize
                || second != 0 && Long.bitCount(counted & second) >= secondSize;
    }

    /**
     * The failures that a set of nodes tolerates: any so many of them may leave, and the others are still enough.
     *
     * @param nodes the nodes, as a mask
     * @return how many; negative if the nodes are too few already
     */
    public int spareOf(long nodes) {
        long counted = counted(nodes);
        int spare = Long.bitCount(counted & first) - firstSize;
        return second == 0 ? spare : Math.min(spare, Long.bitCount(counted & second) - secondSize);
    }

    private long counted(long nodes) {
        return shared == null || shared.mask == 0 ? nodes : shared.counted(nodes);
    }

    /**
     * Whether the other nodes are not enough.
     *
     * @param nodes the nodes that do not grant, as a mask
     * @return true if no majority can do without them
     */
    public boolean isPreventedBy(long nodes) {
        return !isReachedBy(~nodes);
    }

    /**
     * The greatest number of an array that a correct node has reached, if fewer nodes than a majority of each list are
     * wrong.
     *
     * @param values a number for each node
     * @param mask   the nodes that count
     * @return the number, 0 if there are too few nodes
     */
    long supported(long[] values, long mask) {
        long supported = reachedBy(values, mask & first, Long.bitCount(first) - firstSize + 1);
        return second == 0
                ? supported
                : Math.max(supported, reachedBy(values, mask & second, Long.bitCount(second) - secondSize + 1));
    }

    /** The greatest number that so many nodes have reached, 0 if there are fewer nodes. */
    long reachedBy(long[] values, long mask, int count) {
        long greatest = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            long value = values[Long.numberOfTrailingZeros(left)];
            long reaching = 0;
            for (long other = mask; other != 0; other &= other - 1) {
                reaching |= values[Long.numberOfTrailingZeros(other)] >= value ? Long.lowestOneBit(other) : 0;
            }
            greatest = Long.bitCount(counted(reaching)) >= count ? Math.max(greatest, value) : greatest;
        }
        return greatest;
    }

    /** @return whether there are two lists */
    public boolean isJoint() {
        return second != 0;
    }

    /** @return whether one node is a whole list, and so a majority of it */
    public boolean hasListOfOne() {
        return Long.bitCount(first) == 1 || Long.bitCount(second) == 1;
    }

    /**
     * Whether some nodes are in one list.
     *
     * @param nodes the nodes, as a mask
     * @return true if two of them are in the same list
     */
    public boolean hasTwoOfOneList(long nodes) {
        return Long.bitCount(nodes & first) > 1 || Long.bitCount(nodes & second) > 1;
    }

    /** @return the nodes of both lists together, as a mask */
    public long all() {
        return all;
    }

    /** @return the number of these nodes */
    public int nodeCount() {
        return nodeCount;
    }

    @Override
    public String toString() {
        return firstSize + " of " + Long.bitCount(first)
                + (second == 0 ? "" : " and " + secondSize + " of " + Long.bitCount(second));
    }
}
