package dev.redlock.engine;

import java.util.random.RandomGenerator;

/**
 * Chooses the times of automatic extensions, so that many leases are extended in small groups at a steady rate, also if
 * they were acquired together. An extension may only be earlier than its interval, never later.
 *
 * <ul>
 * <li>The first extension of a lease is earlier by up to its whole interval, which makes all times of the interval
 * equally likely. Later ones are earlier by up to an eighth, which dissolves the bursts after an outage or a pause.
 * <li>Extensions are due at multiples of {@link #GROUP_NS}: those of one time share their writes, reads and scripts.
 * </ul>
 *
 * <p>Extensions that are {@link #SPACING_NS} apart on average need no spread. So one lease is not moved at all, and a
 * few are moved by little.
 *
 * @threading event-loop-confined
 */
final class RenewalSpread {

    private static final long SPACING_NS = 10_000_000;
    /**
     * About two milliseconds: with 100 000 leases of 30 s, some twenty extensions. Other commands wait for one group.
     */
    private static final long GROUP_NS = 1 << 21;
    private static final int LATER_DIVISOR = 8;
    /** The extensions of one script call. */
    private static final int REPAIRS_PER_GROUP = 32;

    private final RandomGenerator random;
    /** The event loops of a machine do not extend at the same times. */
    private final long phaseNs;

    RenewalSpread(RandomGenerator random) {
        this.random = random;
        this.phaseNs = random.nextLong() & GROUP_NS - 1;
    }

    /**
     * Returns when to extend a lease for the first time.
     *
     * @param nowNs      monotonic now, the time of its acquisition
     * @param intervalNs nanoseconds from the acquisition to the extension if there are no other leases
     * @return nanoseconds from now on, 0 to the interval
     */
    long firstInNs(long nowNs, long intervalNs, int heldCount) {
        return inNs(nowNs, intervalNs, Math.min(intervalNs, rangeNs(heldCount)));
    }

    /**
     * Returns when to extend a lease again.
     *
     * @param nowNs      monotonic now, the end of the extension before
     * @param intervalNs nanoseconds from one extension to the next if there are no other leases
     * @return nanoseconds from now on, 0 to the interval
     */
    long nextInNs(long nowNs, long intervalNs, int heldCount) {
        return inNs(nowNs, intervalNs, laterRangeNs(intervalNs, heldCount));
    }

    /** Returns by how many nanoseconds later extensions may be earlier, beside their grouping. */
    long laterRangeNs(long intervalNs, int heldCount) {
        return Math.min(intervalNs / LATER_DIVISOR, rangeNs(heldCount));
    }

    /**
     * Returns when to extend a lease for the last time.
     *
     * @param nowNs     monotonic now
     * @param limitInNs nanoseconds until the last extension if there are no other leases
     * @param rangeNs   nanoseconds that it may be earlier
     * @return nanoseconds from now on, 0 to the limit
     */
    long lastInNs(long nowNs, long limitInNs, long rangeNs) {
        return inNs(nowNs, limitInNs, Math.min(limitInNs, rangeNs));
    }

    /**
     * Returns when to repair a lease, as one of many for which a node does not count.
     *
     * @param precedingCount the leases whose repair starts before
     * @return nanoseconds from now on; 0 for the first ones
     */
    long repairInNs(int precedingCount) {
        return precedingCount / REPAIRS_PER_GROUP * GROUP_NS;
    }

    private static long rangeNs(int heldCount) {
        return (heldCount - 1) * SPACING_NS;
    }

    private long inNs(long nowNs, long intervalNs, long rangeNs) {
        if (rangeNs <= 0) {
            return intervalNs;
        }
        long spreadNs = intervalNs - (random.nextLong() >>> 1) % rangeNs;
        if (rangeNs < GROUP_NS) {
            return spreadNs;
        }
        long sinceGroupNs = nowNs + spreadNs - phaseNs & GROUP_NS - 1;
        return Math.max(0, spreadNs - sinceGroupNs);
    }
}
