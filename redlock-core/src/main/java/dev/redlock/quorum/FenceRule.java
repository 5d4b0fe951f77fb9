package dev.redlock.quorum;

/**
 * Decides the fencing token of one grant from the counter values that the granting nodes returned.
 *
 * <p>With s grants of N nodes, quorum q and k = q - (N - s): t is the k-th largest value. If at least q values are
 * <em>exactly</em> t, the token is t. Otherwise the nodes have drifted apart: the lower ones are raised to the highest
 * value, and if q nodes stand there, that is the token; else there is none.
 *
 * <p>Why: the deciding sets of two grants share a node, and there the later grant counted on from the earlier one's
 * final value, so two tokens are never equal; and when t was decided a majority stood at t or above, so a later grant
 * sees more than t on at least s + q - N of its nodes, so its k-th largest is greater than t. Both need that no counter
 * goes back; neither needs a clock.
 *
 * @threading caller-confined
 */
public final class FenceRule {

    /** What {@link #agreed} returns where the nodes do not agree. */
    public static final long NONE = 0;

    private final int quorum;
    private final long[] values;
    private long granted;
    private long highest;

    /**
     * A rule over a fixed set of nodes, with no grant yet.
     *
     * @param nodeCount configured nodes, 1 to {@link Quorum#NODES_MAX}
     */
    public FenceRule(final int nodeCount) {
        this.quorum = Quorum.sizeOf(nodeCount);
        this.values = new long[nodeCount];
    }

    /** Forgets every grant. */
    public void reset() {
        granted = 0;
        highest = 0;
    }

    /**
     * A node granted.
     *
     * @param nodeIndex which node
     * @param value     its counter, greater than 0
     */
    public void onGrant(final int nodeIndex, final long value) {
        granted |= 1L << nodeIndex;
        values[nodeIndex] = value;
        noteSeen(value);
    }

    /**
     * A value that does not count as a grant but must be known when the lock is released.
     *
     * @param value a counter, greater than 0
     */
    public void noteSeen(final long value) {
        highest = Math.max(highest, value);
    }

    /**
     * A granting node has been raised.
     *
     * @param nodeIndex which node
     * @param value     where its counter stands now
     */
    public void onRaised(final int nodeIndex, final long value) {
        values[nodeIndex] = value;
    }

    /**
     * The token, if the grants so far decide it.
     *
     * @return the token, or {@link #NONE}
     */
    public long agreed() {
        // Where q nodes stand at a value, fewer than k can stand above it, so it is the k-th largest: no need to rank.
        for (long left = granted; left != 0; left &= left - 1) {
            final long value = values[Long.numberOfTrailingZeros(left)];
            if (Long.bitCount(standingAt(value)) >= quorum) {
                return value;
            }
        }
        return NONE;
    }

    /**
     * The granting nodes whose counter stands at exactly a value.
     *
     * @param value the value
     * @return the nodes, as a mask
     */
    public long standingAt(final long value) {
        long mask = 0;
        for (long left = granted; left != 0; left &= left - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(left);
            if (values[nodeIndex] == value) {
                mask |= 1L << nodeIndex;
            }
        }
        return mask;
    }

    /** @return granting nodes that stand below the highest value, as a mask: those that have to be raised */
    public long lagging() {
        return granted & ~standingAt(highest);
    }

    /** @return the highest value seen, 0 before the first */
    public long highest() {
        return highest;
    }
}
