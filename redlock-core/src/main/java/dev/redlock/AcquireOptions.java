package dev.redlock;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

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
    final boolean isFenced;

    private AcquireOptions(final Builder from) {
        ttlMs = from.ttlMs;
        waitNs = from.waitNs;
        minValidityNs = from.minValidityNs;
        retryPolicy = from.retryPolicy;
        listener = from.listener;
        extensionCountMax = from.extensionCountMax;
        holdNsMax = from.holdNsMax;
        isFenced = from.isFenced;
    }

    /**
     * The fields while a copy is changed.
     *
     * @threading caller-confined
     */
    private static final class Builder {
        private long ttlMs;
        private long waitNs;
        private long minValidityNs = UNSET;
        private RetryPolicy retryPolicy;
        private LeaseListener listener;
        private int extensionCountMax;
        private long holdNsMax = UNSET;
        private boolean isFenced;
    }

    private AcquireOptions with(final Consumer<Builder> change) {
        final Builder copy = new Builder();
        copy.ttlMs = ttlMs;
        copy.waitNs = waitNs;
        copy.minValidityNs = minValidityNs;
        copy.retryPolicy = retryPolicy;
        copy.listener = listener;
        copy.extensionCountMax = extensionCountMax;
        copy.holdNsMax = holdNsMax;
        copy.isFenced = isFenced;
        change.accept(copy);
        return new AcquireOptions(copy);
    }

    /**
     * Options for one attempt without waiting.
     *
     * @param ttl what is written to the nodes; whole milliseconds count. Longer survives slow nodes and slow work,
     *            shorter frees the lock of a dead holder sooner. From 3 ms to the client's
     *            {@link RedlockContext#maxTtl}.
     * @return the options
     * @throws IllegalArgumentException if the ttl is below a millisecond
     */
    public static AcquireOptions ofTtl(final Duration ttl) {
        final Builder fresh = new Builder();
        fresh.ttlMs = millisOf("ttl", ttl);
        return new AcquireOptions(fresh);
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
        final long nanos = nanosOf("wait", wait);
        return with(copy -> copy.waitNs = nanos);
    }

    /**
     * How much validity must be left for the acquisition to count as a success.
     *
     * @param minValidity default: a tenth of the ttl
     * @return the changed options
     * @throws IllegalArgumentException if it is negative
     */
    public AcquireOptions minValidity(final Duration minValidity) {
        final long nanos = nanosOf("minimum validity", minValidity);
        return with(copy -> copy.minValidityNs = nanos);
    }

    /**
     * How to wait between attempts.
     *
     * @param policy default: the client's
     * @return the changed options
     */
    public AcquireOptions retryPolicy(final RetryPolicy policy) {
        Objects.requireNonNull(policy, "retry policy is null");
        return with(copy -> copy.retryPolicy = policy);
    }

    /**
     * Who is told when the lease is lost or extended.
     *
     * @param leaseListener called on the event loop
     * @return the changed options
     */
    public AcquireOptions listener(final LeaseListener leaseListener) {
        Objects.requireNonNull(leaseListener, "lease listener is null");
        return with(copy -> copy.listener = leaseListener);
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
        final long holdNs = nanosOf("longest hold", holdMax);
        return with(copy -> {
            copy.extensionCountMax = countMax;
            copy.holdNsMax = holdNs;
        });
    }

    /**
     * Give the lease a fencing token: a number that grows with every grant of the resource, for the protected resource
     * to check. Needs one round trip like a plain acquire while the nodes' counters agree, at most one more otherwise.
     * All grants of a resource have to be fenced for the numbers to say anything. A wait budget is honoured to within
     * two node timeouts then.
     *
     * @return the changed options
     */
    public AcquireOptions fenced() {
        return with(copy -> copy.isFenced = true);
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
