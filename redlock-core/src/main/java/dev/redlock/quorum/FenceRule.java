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
 * goes back; neither needs a clock, and neither depends on which grants are left out of a decision.
 *
 * <p>Which ones are left out decides how far one node can push the others. A value is out of range if it is above
 * {@link #limit}: more than an hour beyond the nodes' clocks, and beyond what a node that is not at fault can have
 * reported. Such a value is not raised to and not passed on.
 *
 * @threading caller-confined
 */
public final class FenceRule {

    /** What {@link #agreed} returns where the nodes do not agree. */
    public static final long NONE = 0;

    /** The greatest value: Lua counts exactly up to here. */
    public static final long VALUE_MAX = (1L << 53) - 1;

    /** A counter that is missing starts at the seconds of the clock times two to the power of this. */
    private static final int SEED_SHIFT = 20;
    /** How far beyond the clocks a value may be, in seconds. All clients have to agree on it: it is no option. */
    private static final long CLOCK_SLACK_S = 3_600;
    /**
     * How far beyond a majority a value may be that is beyond the clocks. Up to a thousand grants of one resource in a
     * second the clocks outrun a node that claims so much each time.
     */
    private static final long LEAD = 1_024;
    private static final long US_PER_S = 1_000_000;

    private final int quorum;
    /** So many nodes are one more than may be at fault. */
    private final int support;
    private final long lead;
    private final long[] values;
    private long granted;
    private long highest;
    private long highestLate;

    /**
     * A rule over a fixed set of nodes, with no grant yet.
     *
     * @param nodeCount configured nodes, 1 to {@link Quorum#NODES_MAX}
     */
    public FenceRule(final int nodeCount) {
        this(nodeCount, LEAD);
    }

    /** With another lead, for worlds of small numbers. */
    FenceRule(final int nodeCount, final long lead) {
        this.quorum = Quorum.sizeOf(nodeCount);
        this.support = supportOf(nodeCount);
        this.lead = lead;
        this.values = new long[nodeCount];
    }

    /**
     * How many nodes have to say the same so that one of them is not at fault: one more than the others of a quorum.
     *
     * @param nodeCount configured nodes, 1 to {@link Quorum#NODES_MAX}
     * @return the number, at most a quorum
     */
    public static int supportOf(final int nodeCount) {
        return nodeCount - Quorum.sizeOf(nodeCount) + 1;
    }

    /**
     * The greatest number of an array that enough nodes reach.
     *
     * @param values a number for each node
     * @param mask   the nodes that count, node i being bit i
     * @param count  how many have to reach it
     * @return the number, 0 if there are fewer nodes
     */
    public static long reachedBy(final long[] values, final long mask, final int count) {
        long greatest = 0;
        for (long left = mask; left != 0; left &= left - 1) {
            final long value = values[Long.numberOfTrailingZeros(left)];
            int reaching = 0;
            for (long other = mask; other != 0; other &= other - 1) {
                reaching += values[Long.numberOfTrailingZeros(other)] >= value ? 1 : 0;
            }
            greatest = reaching >= count ? Math.max(greatest, value) : greatest;
        }
        return greatest;
    }

    /**
     * The highest value that can come from a clock.
     *
     * @param wallUs the nodes' clock, microseconds since the epoch; 0 if it is not known
     * @return the seed of an hour later, at most {@link #VALUE_MAX}
     */
    public static long clockLimit(final long wallUs) {
        final long seconds = wallUs / US_PER_S + CLOCK_SLACK_S;
        if (wallUs <= 0) {
            return 0;
        }
        // To the microsecond, so that it grows faster than a resource can be granted.
        return seconds > VALUE_MAX >> SEED_SHIFT
                ? VALUE_MAX
                : (seconds << SEED_SHIFT) + (wallUs % US_PER_S << SEED_SHIFT) / US_PER_S;
    }

    /** Forgets every grant. */
    public void reset() {
        granted = 0;
        highest = 0;
        highestLate = 0;
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
        highest = Math.max(highest, value);
    }

    /**
     * A value that does not count as a grant but must be known when the lock is released.
     *
     * @param value a counter, greater than 0 and not above {@link #limit}
     */
    public void recordSeen(final long value) {
        highestLate = Math.max(highestLate, value);
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
     * The highest value that is in range: what the clocks allow, or a little more than a node that is not at fault has
     * reported. So a majority that stands beyond the clocks, for whatever reason, is believed.
     *
     * @param clockLimit the {@link #clockLimit} of now
     * @return the limit
     */
    public long limit(final long clockLimit) {
        final long supported = reachedBy(values, granted, support);
        return supported == 0 ? clockLimit : Math.max(clockLimit, supported + lead);
    }

    /**
     * Leaves out each grant whose value is out of range. A value at which a quorum stands never is.
     *
     * @param clockLimit the {@link #clockLimit} of now
     * @return the nodes that were left out, as a mask
     */
    public long dropOutOfRange(final long clockLimit) {
        if (highest <= clockLimit) {
            return 0;
        }
        final long limit = limit(clockLimit);
        long dropped = 0;
        highest = highestLate;
        for (long left = granted; left != 0; left &= left - 1) {
            final int nodeIndex = Long.numberOfTrailingZeros(left);
            if (values[nodeIndex] > limit) {
                dropped |= 1L << nodeIndex;
            } else {
                highest = Math.max(highest, values[nodeIndex]);
            }
        }
        granted &= ~dropped;
        return dropped;
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

    /**
     * Where a node stood when it granted or was raised, also if its grant has been left out since.
     *
     * @param nodeIndex a node that granted
     * @return its counter
     */
    public long valueOf(final int nodeIndex) {
        return values[nodeIndex];
    }

    /** @return the highest value that is not left out, 0 if there is none */
    public long highest() {
        return highest;
    }
}
