package dev.redlock.quorum;

/**
 * The allowed drift of a node's clock against the local one in a time: a share of that time, and a constant for the
 * precision of expiry and of timers. Integer arithmetic in nanoseconds, saturating.
 *
 * <p>Source of the default, 1 % and 2 ms: Redlock, redis.io, "Is the algorithm asynchronous?", and its reference
 * implementations (clock drift factor 0.01, plus 2 ms for the precision of expiry in Redis).
 *
 * @param ratePpm    the share, parts per million, 0 to {@value #RATE_PPM_MAX}
 * @param constantNs the constant, nanoseconds, not negative
 * @threading immutable
 */
public record Drift(int ratePpm, long constantNs) {

    /** The largest share: a clock that gains half of the time. A larger one leaves almost no validity. */
    public static final int RATE_PPM_MAX = 500_000;
    /** One percent and two milliseconds. */
    public static final Drift DEFAULT = new Drift(10_000, 2_000_000);

    private static final int PPM = 1_000_000;

    /**
     * Checks both numbers.
     *
     * @throws IllegalArgumentException if one is out of range
     */
    public Drift {
        if (ratePpm < 0 || ratePpm > RATE_PPM_MAX) {
            throw new IllegalArgumentException("drift rate " + ratePpm + " is out of range: 0 to " + RATE_PPM_MAX
                    + " parts per million are allowed");
        }
        if (constantNs < 0) {
            throw new IllegalArgumentException("drift constant " + constantNs + " ns is negative: give zero or more");
        }
    }

    /**
     * The gain of a clock in a time. Computed from quotient and remainder, since the product may not fit a long.
     *
     * @param durationNs nanoseconds, not negative
     * @return duration * rate + constant, nanoseconds, or Long.MAX_VALUE
     */
    public long ofNs(long durationNs) {
        long share = durationNs / PPM * ratePpm + durationNs % PPM * ratePpm / PPM;
        return share + constantNs < 0 ? Long.MAX_VALUE : share + constantNs;
    }

    /**
     * The same in milliseconds, rounded up.
     *
     * @param durationMs milliseconds, 0 to 2^63 / 10^6
     * @return milliseconds
     */
    public long ofMs(long durationMs) {
        long ns = ofNs(durationMs * Validity.NS_PER_MS);
        return ns / Validity.NS_PER_MS + (ns % Validity.NS_PER_MS == 0 ? 0 : 1);
    }
}
