package dev.redlock.quorum;

/**
 * The time for which a holder may rely on a lock: validity = ttl - (t2 - t1) - allowance(ttl).
 *
 * <p>t1 is read before the first byte is passed to a socket, t2 at the deciding vote, both on the monotonic clock. The
 * allowance is for a node's clock that runs ahead of the local one: the drift of the ttl and, with the clock watch, of
 * the time between two samples. Source of the formula without samples: Redlock, redis.io, "Is the algorithm
 * asynchronous?".
 *
 * <pre>
 * allowance(ttl) = rate * (ttl + 2 * gap) + constant      gap = time between two samples + {@value #LATENESS_MS} ms
 * allowance(ttl) = rate * ttl + constant                  clock watch off
 * </pre>
 *
 * <p>Guarantee: a key never expires before the validity of its holder ends, unless the watch reports a jump. An
 * unreported gain is bounded by the tolerance of the watch: the rate for the time between samples, and half of the
 * constant.
 * <ul>
 * <li>o(x) is the node's clock minus the local one at a time x; i and j are two samples, i before j, without a reported
 * jump in between. Each was sent at s, its reply was read at r, and the node read its clock in between; u = r - s.
 * <li>o(i) is within an interval of width u(i). The watch keeps the lowest upper end of all samples, aged by the rate,
 * and reports a jump if the lower end of a later sample is above that by more than constant / 2. So o(j) - o(i) &lt;=
 * rate * (r(j) - s(i)) + constant / 2 + u(i) + u(j).
 * <li>If a key is set at a and expires early at e, its clock has gained o(e) - o(a). Let i be the last sample before a,
 * and j the first one after e. A clock that does not step ahead and back between two samples has gained no more than
 * from i, or the sample after it, to j. The time from i to a and the time from e to j are at most one gap each, so
 * r(j) - s(i) &lt;= e - a + 2 * gap. There are two gaps, because one step can hide on each side of a sample.
 * <li>With 2 * u &lt;= constant / 2 it follows that o(e) - o(a) &lt;= allowance(e - a), so e - a &gt;= ttl -
 * allowance(ttl). Validity starts at t1, which is not after a.
 * </ul>
 *
 * <p>Assumptions, without which the watch may miss a jump:
 * <ul>
 * <li>The loop sends TIME, and the reply arrives, at most {@value #LATENESS_MS} ms late.
 * <li>The round trip takes at most a quarter of the constant plus the rate times the rest of the lateness: 0.5 to 1.5
 * ms by default. If it takes longer, the constant must be larger by four times as much.
 * <li>A clock does not step ahead and back between two samples.
 * <li>The node is connected. While it is not connected for a time d, its clock may gain rate * d more without a report.
 * It does not vote in that time, but keys that it granted before may expire that much early.
 * </ul>
 *
 * @threading immutable
 */
public final class Validity {

    /** Nanoseconds per millisecond: ttls are milliseconds, monotonic times are nanoseconds. */
    public static final long NS_PER_MS = 1_000_000;
    /** Allowed delay of a sample, including its round trip, on a busy loop or machine. */
    public static final long LATENESS_MS = 100;

    private final Drift drift;
    private final long unseenNs;

    /**
     * The validity of the locks of a client.
     *
     * @param drift    the allowed gain of a clock
     * @param sampleMs time between two samples of a node's clock, milliseconds; 0 if the clock watch is off
     */
    public Validity(Drift drift, int sampleMs) {
        this.drift = drift;
        this.unseenNs = sampleMs == 0 ? 0 : 2 * (sampleMs + LATENESS_MS) * NS_PER_MS;
    }

    /**
     * The part of a ttl that a holder must not rely on.
     *
     * @param ttlNs nanoseconds, not negative
     * @return nanoseconds, or Long.MAX_VALUE
     */
    public long allowanceNs(long ttlNs) {
        long driftingNs = ttlNs + unseenNs;
        return drift.ofNs(driftingNs < 0 ? Long.MAX_VALUE : driftingNs);
    }

    /**
     * The end of the validity on the monotonic clock. It does not depend on t2: the validity at t2 is this minus t2.
     *
     * @param t1Ns  monotonic time before the first byte was sent
     * @param ttlNs time to live, nanoseconds
     * @return t1 + ttl - allowance; monotonic times may wrap, so compare by subtraction
     */
    public long untilNs(long t1Ns, long ttlNs) {
        return t1Ns + Math.max(0, ttlNs - allowanceNs(ttlNs));
    }
}
