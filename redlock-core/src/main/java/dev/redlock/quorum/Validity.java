package dev.redlock.quorum;

/**
 * The time for which a holder may rely on a lock: validity = ttl - (t2 - t1) - drift. {@link Drift} has the last term.
 *
 * <p>t1 is read before the first byte is passed to a socket, t2 at the deciding vote, both on the monotonic clock. All
 * values are integer nanoseconds; sums saturate instead of wrapping. Source of the formula: Redlock, redis.io, "Is the
 * algorithm asynchronous?".
 *
 * @threading immutable
 */
public final class Validity {

    /** Nanoseconds per millisecond: ttls are milliseconds, monotonic times are nanoseconds. */
    public static final long NS_PER_MS = 1_000_000;

    private Validity() {
    }

    /**
     * The end of the validity on the monotonic clock. It does not depend on t2: the validity at t2 is this minus t2.
     *
     * @param t1Ns    monotonic time before the first byte was sent
     * @param ttlNs   time to live, nanoseconds
     * @param driftNs allowance for clocks, nanoseconds
     * @return t1 + ttl - drift; monotonic times may wrap, so compare by subtraction
     */
    public static long validUntilNs(long t1Ns, long ttlNs, long driftNs) {
        return t1Ns + Math.max(0, ttlNs - driftNs);
    }

    /**
     * The rest of a validity.
     *
     * @param validUntilNs as from {@link #validUntilNs}
     * @param nowNs        monotonic now
     * @return nanoseconds left, 0 if it has ended
     */
    public static long remainingNs(long validUntilNs, long nowNs) {
        return Math.max(0, validUntilNs - nowNs);
    }

    /**
     * Adds two durations without wrapping.
     *
     * @param aNs nanoseconds, not negative
     * @param bNs nanoseconds, not negative
     * @return the sum, or Long.MAX_VALUE
     */
    public static long plusSaturating(long aNs, long bNs) {
        long sum = aNs + bNs;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }
}
