package dev.redlock;

import java.time.Duration;
import java.util.Objects;

/**
 * How one acquisition is to be made. Each method returns a changed copy, so build the options once and keep them.
 *
 * <pre>{@code
 * AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).waitUpTo(Duration.ofMillis(200));
 * }</pre>
 *
 * @threading immutable
 */
public final class AcquireOptions {

    /** Stands for "as the client is configured". */
    static final long UNSET = -1;
    private static final long NS_PER_MS = 1_000_000;

    final long ttlMs;
    final long waitNs;
    final long minValidityNs;
    final RetryPolicy retryPolicy;
    final LeaseListener listener;
    final int extensionCountMax;
    final long holdNsMax;

    private AcquireOptions(final long ttlMs, final long waitNs, final long minValidityNs, final RetryPolicy retryPolicy,
            final LeaseListener listener, final int extensionCountMax, final long holdNsMax) {
        this.ttlMs = ttlMs;
        this.waitNs = waitNs;
        this.minValidityNs = minValidityNs;
        this.retryPolicy = retryPolicy;
        this.listener = listener;
        this.extensionCountMax = extensionCountMax;
        this.holdNsMax = holdNsMax;
    }

    /**
     * Options for one attempt without waiting.
     *
     * @param ttl what is written to the nodes; whole milliseconds count. Longer survives slow nodes and slow work,
     *            shorter
     *            frees the lock of a dead holder sooner. From 3 ms to the client's {@link RedlockContext#maxTtl}.
     * @return the options
     * @throws IllegalArgumentException if the ttl is below a millisecond
     */
    public static AcquireOptions ofTtl(final Duration ttl) {
        return new AcquireOptions(millisOf("ttl", ttl), 0, UNSET, null, null, 0, UNSET);
    }

    static long millisOf(final String what, final Duration duration) {
        Objects.requireNonNull(duration, () -> what + " is null: give a duration");
        if (duration.isNegative() || saturatedNanos(duration) < NS_PER_MS) {
            throw new IllegalArgumentException(what + " " + duration + " is too short: at least 1 ms is needed");
        }
        return saturatedNanos(duration) / NS_PER_MS;
    }

    /**
     * Keep trying for a while.
     *
     * @param wait wait budget from the call on; zero for one attempt. It is honoured to within one node timeout.
     * @return the changed options
     * @throws IllegalArgumentException if it is negative
     */
    public AcquireOptions waitUpTo(final Duration wait) {
        return new AcquireOptions(ttlMs, nanosOf("wait", wait), minValidityNs, retryPolicy, listener, extensionCountMax,
                holdNsMax);
    }

    /**
     * How much validity must be left for the acquisition to count as a success.
     *
     * @param minValidity default: a tenth of the ttl
     * @return the changed options
     * @throws IllegalArgumentException if it is negative
     */
    public AcquireOptions minValidity(final Duration minValidity) {
        return new AcquireOptions(ttlMs, waitNs, nanosOf("minimum validity", minValidity), retryPolicy, listener,
                extensionCountMax, holdNsMax);
    }

    /**
     * How to wait between attempts.
     *
     * @param policy default: the client's
     * @return the changed options
     */
    public AcquireOptions retryPolicy(final RetryPolicy policy) {
        return new AcquireOptions(ttlMs, waitNs, minValidityNs, Objects.requireNonNull(policy, "retry policy is null"),
                listener, extensionCountMax, holdNsMax);
    }

    /**
     * Who is told when the lease is lost or extended.
     *
     * @param leaseListener called on the event loop
     * @return the changed options
     */
    public AcquireOptions listener(final LeaseListener leaseListener) {
        return new AcquireOptions(ttlMs, waitNs, minValidityNs, retryPolicy,
                Objects.requireNonNull(leaseListener, "lease listener is null"), extensionCountMax, holdNsMax);
    }

    /**
     * Extend the lease automatically, each time a third of the ttl has passed, up to three times.
     *
     * @return the changed options
     */
    public AcquireOptions autoExtend() {
        return autoExtend(3, Duration.ofSeconds(Long.MAX_VALUE / 1_000_000_000));
    }

    /**
     * Extend the lease automatically, each time a third of the ttl has passed, within limits: a holder that hangs must
     * lose its lock at some time, or nobody else ever gets it.
     *
     * @param countMax most extensions, at least 1
     * @param holdMax  longest time from acquisition after which no further extension is begun
     * @return the changed options
     * @throws IllegalArgumentException if a limit is out of range
     */
    public AcquireOptions autoExtend(final int countMax, final Duration holdMax) {
        if (countMax < 1) {
            throw new IllegalArgumentException(
                    "extension limit " + countMax + " is out of range: at least 1 is needed");
        }
        return new AcquireOptions(ttlMs, waitNs, minValidityNs, retryPolicy, listener, countMax,
                nanosOf("longest hold", holdMax));
    }

    static long nanosOf(final String what, final Duration duration) {
        Objects.requireNonNull(duration, () -> what + " is null: give a duration");
        if (duration.isNegative()) {
            throw new IllegalArgumentException(what + " " + duration + " is negative: give zero or more");
        }
        return saturatedNanos(duration);
    }

    private static long saturatedNanos(final Duration duration) {
        return duration.getSeconds() >= Long.MAX_VALUE / 1_000_000_000 ? Long.MAX_VALUE : duration.toNanos();
    }

    @Override
    public String toString() {
        return "AcquireOptions{ttlMs=" + ttlMs + ", waitNs=" + waitNs + ", extensionCountMax=" + extensionCountMax
                + "}";
    }
}
