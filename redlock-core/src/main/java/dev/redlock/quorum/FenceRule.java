package dev.redlock.quorum;

/**
 * Decides the fencing token of one grant from the counter values of the granting nodes.
 *
 * <p>Let there be s grants of N nodes, the quorum q, and k = q - (N - s). The token t is the k-th largest value:
 * <ul>
 * <li>If at least q values are <em>exactly</em> t, the token is t.
 * <li>Otherwise the counters differ. The lower ones are raised to the highest value. If q nodes then have it, it is the
 * token.
 * <li>Otherwise there is no token.
 * </ul>
 *
 * <p>Proof. The deciding sets of two grants share a node. There the later grant continued from the final value of the
 * earlier one, so two tokens are never equal. When t was decided, a majority had t or more. So a later grant sees more
 * than t on at least s + q - N of its nodes, and its k-th largest value is greater than t. Both need counters that
 * never decrease. Neither needs a clock, and neither depends on which grants are left out of a decision.
 *
 * <p>With two lists of nodes, q values are a {@link Majority} of both: the deciding sets of two grants share a node of
 * the list that both clients know, and the proof is that of this list.
 *
 * <p>Leaving grants out limits how far one node can push the others. A value is out of range if it is above {@link
 * #limit}: more than an hour ahead of the nodes' clocks, and more than a correct node can have reported. The client
 * neither raises to such a value nor returns it.
 *
 * @threading caller-confined
 */
public final class FenceRule {

    /** The result of {@link #agreed} if the nodes do not agree. */
    public static final long NONE = 0;

    /** The greatest value: Lua counts exactly up to this number. */
    public static final long VALUE_MAX = (1L << 53) - 1;

    /** A missing counter starts at the seconds of the clock, shifted left by this. */
    private static final int SEED_SHIFT = 20;
    /** Allowed seconds of a value ahead of the clocks. All clients must agree on it, so it is not an option. */
    private static final long CLOCK_SLACK_S = 3_600;
    /**
     * Allowed lead of a value over a majority, if it is ahead of the clocks. Up to a thousand grants of one resource
     * per second, the clocks advance faster than a faulty node that reports this lead each time.
     */
    private static final long LEAD = 1_024;
    private static final long US_PER_S = 1_000_000;

    private final Majority majority;
    private final long lead;
    private final long[] values;
    private long granted;
    private long highest;
    private long highestLate;

    /**
     * A rule over a fixed set of nodes, with no grant yet.
     *
     * @param majority the nodes that decide a token
     */
    public FenceRule(Majority majority) {
        this(majority, LEAD);
    }

    /** For tests: with another lead. */
    FenceRule(Majority majority, long lead) {
        this.majority = majority;
        this.lead = lead;
        this.values = new long[majority.nodeCount()];
    }

    /**
     * The highest value that the clocks of the nodes allow. Enough of them have reached the clock that counts, so that
     * at least one of these is right.
     *
     * @param majority the nodes that decide a token
     * @param wallUs   the clock of each node, microseconds since the epoch; 0 if unknown
     * @return the limit, 0 if it is unknown
     */
    public static long clockLimit(Majority majority, long[] wallUs) {
        return clockLimit(majority.supported(wallUs, Quorum.allOf(majority.nodeCount())));
    }

    /**
     * The highest value that a clock allows.
     *
     * @param wallUs the nodes' clock, microseconds since the epoch; 0 if unknown
     * @return the seed of an hour later, at most {@link #VALUE_MAX}
     */
    public static long clockLimit(long wallUs) {
        long seconds = wallUs / US_PER_S + CLOCK_SLACK_S;
        if (wallUs <= 0) {
            return 0;
        }
        // It has microseconds, so it grows faster than a resource can be granted.
        return seconds > VALUE_MAX >> SEED_SHIFT
                ? VALUE_MAX
                : (seconds << SEED_SHIFT) + (wallUs % US_PER_S << SEED_SHIFT) / US_PER_S;
    }

    /**
     * The number at which a counter that was lost starts: the second of a clock that is right, as for
     * {@link #clockLimit}.
     *
     * @param majority the nodes that decide a token
     * @param wallUs   the clock of each node, microseconds since the epoch; 0 if unknown
     * @return the number; 0 if it is unknown, or not below {@link #VALUE_MAX}
     */
    public static long seed(Majority majority, long[] wallUs) {
        long seconds = majority.supported(wallUs, Quorum.allOf(majority.nodeCount())) / US_PER_S;
        return seconds > VALUE_MAX >> SEED_SHIFT ? 0 : seconds << SEED_SHIFT;
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
    public void onGrant(int nodeIndex, long value) {
        granted |= 1L << nodeIndex;
        values[nodeIndex] = value;
        highest = Math.max(highest, value);
    }

    /**
     * A value that is not a grant, but matters for the release.
     *
     * @param value a counter, greater than 0 and not above {@link #limit}
     */
    public void recordSeen(long value) {
        highestLate = Math.max(highestLate, value);
        highest = Math.max(highest, value);
    }

    /**
     * A granting node has been raised.
     *
     * @param nodeIndex which node
     * @param value     its counter now
     */
    public void onRaised(int nodeIndex, long value) {
        values[nodeIndex] = value;
    }

    /**
     * The highest value in range: the limit of the clocks, or a little more than a correct node has reported. So a
     * majority ahead of the clocks is accepted, whatever the reason.
     *
     * @param clockLimit the {@link #clockLimit} of now
     * @return the limit
     */
    public long limit(long clockLimit) {
        long supported = majority.supported(values, granted);
        return supported == 0 ? clockLimit : Math.max(clockLimit, supported + lead);
    }

    /**
     * Leaves out each grant whose value is out of range. The value of a quorum is always in range.
     *
     * @param clockLimit the {@link #clockLimit} of now
     * @return the nodes that were left out, as a mask
     */
    public long dropOutOfRange(long clockLimit) {
        if (highest <= clockLimit) {
            return 0;
        }
        long limit = limit(clockLimit);
        long dropped = 0;
        highest = highestLate;
        for (long left = granted; left != 0; left &= left - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(left);
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
        // If q nodes have a value, fewer than k nodes can have more, so it is the k-th largest: no sorting is needed.
        for (long left = granted; left != 0; left &= left - 1) {
            long value = values[Long.numberOfTrailingZeros(left)];
            if (majority.isReachedBy(nodesAt(value))) {
                return value;
            }
        }
        return NONE;
    }

    /**
     * The granting nodes whose counter has exactly a value.
     *
     * @param value the value
     * @return the nodes, as a mask
     */
    public long nodesAt(long value) {
        long mask = 0;
        for (long left = granted; left != 0; left &= left - 1) {
            int nodeIndex = Long.numberOfTrailingZeros(left);
            if (values[nodeIndex] == value) {
                mask |= 1L << nodeIndex;
            }
        }
        return mask;
    }

    /** @return granting nodes below the highest value, as a mask: their counters must be raised */
    public long lagging() {
        return granted & ~nodesAt(highest);
    }

    /**
     * The counter of a node when it granted or was raised, also if its grant was left out later.
     *
     * @param nodeIndex a node that granted
     * @return the counter
     */
    public long valueOf(int nodeIndex) {
        return values[nodeIndex];
    }

    /** @return the highest value that is not left out, 0 if there is none */
    public long highest() {
        return highest;
    }
}
