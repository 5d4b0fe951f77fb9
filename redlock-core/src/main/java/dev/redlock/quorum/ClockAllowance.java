package dev.redlock.quorum;

/**
 * How much of a ttl a holder must not rely on, because a node's clock may run ahead of ours: the drift of the ttl and,
 * where the clock watch is on, of the time in which the watch may not see a clock move.
 *
 * <pre>
 * allowance(ttl) = rate * (ttl + 2 * gap) + constant      gap = time between two samples + {@value #LATENESS_MS} ms
 * allowance(ttl) = rate * ttl + constant                  clock watch off
 * </pre>
 *
 * <p>Guarantee: a key never expires before the validity of its holder ends, unless the watch reports a jump. What the
 * watch does not report is bounded by what it grants: the rate for the time between samples, and half of the constant.
 * <ul>
 * <li>o(x) is the node's clock less ours at a time x; i and j are two samples, i before j, with no jump reported in
 * between. Each was sent at s, answered at r, and read the clock in between; u = r - s.
 * <li>The watch knows that o(i) lies within an interval of width u(i), and keeps the lowest upper end of all samples,
 * aged by the rate. A jump is reported if the lower end of a later sample lies above that by more than constant / 2. So
 * o(j) - o(i) &lt;= rate * (r(j) - s(i)) + constant / 2 + u(i) + u(j).
 * <li>A key that is set at a and expires at e, early, has seen its clock gain o(e) - o(a). Let i be the last sample
 * before a, and j the first one behind e. A clock that does not step to and fro between two samples has gained no more
 * than from i, or the sample behind it, to j. The time from i to a and the time from e to j are one gap each at most,
 * so r(j) - s(i) &lt;= e - a + 2 * gap. Two gaps and not one, because one step can hide on each side of a sample.
 * <li>With 2 * u &lt;= constant / 2 it follows that o(e) - o(a) &lt;= allowance(e - a), so e - a &gt;= ttl -
 * allowance(ttl). Validity counts from t1, which is not behind a.
 * </ul>
 *
 * <p>Assumptions, without which the watch is blind:
 * <ul>
 * <li>The loop sends TIME, and the answer comes, no more than {@value #LATENESS_MS} ms late.
 * <li>The round trip takes no longer than a quarter of the constant plus the rate times what is left of the lateness:
 * 0.5 to 1.5 ms by default. Where it takes longer, the constant has to be larger by four times as much.
 * <li>A clock does not step ahead and back between two samples.
 * <li>The node is connected. If it is away for a time d, its clock may gain rate * d more without a report. It votes
 * for nothing in that time, but keys that it granted before may expire as much early.
 * </ul>
 *
 * @threading immutable
 */
public final class ClockAllowance {

    /** How late a sample may come, with its round trip: the loop is busy, or the machine is. */
    public static final long LATENESS_MS = 100;

    private final Drift drift;
    private final long unseenNs;

    /**
     * The allowance of a client.
     *
     * @param drift    what clocks may gain
     * @param sampleMs time between two samples of a node's clock, milliseconds; 0 if the clock watch is off
     */
    public ClockAllowance(final Drift drift, final int sampleMs) {
        this.drift = drift;
        this.unseenNs = sampleMs == 0 ? 0 : 2 * (sampleMs + LATENESS_MS) * Validity.NS_PER_MS;
    }

    /**
     * What to take off a ttl.
     *
     * @param ttlNs nanoseconds, not negative
     * @return nanoseconds, or Long.MAX_VALUE
     */
    public long ofNs(final long ttlNs) {
        return drift.ofNs(Validity.plusSaturating(ttlNs, unseenNs));
    }
}
