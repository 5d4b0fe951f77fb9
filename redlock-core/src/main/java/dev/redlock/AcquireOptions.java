package dev.redlock;

import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.Durations;
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

    private final AcquireSpec spec;

    private AcquireOptions(final AcquireSpec spec) {
        this.spec = spec;
    }

    AcquireSpec spec() {
        return spec;
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
        return new AcquireOptions(AcquireSpec.ofTtl(Durations.millisOf("ttl", ttl)));
    }

    /**
     * Keep trying for a while.
     *
     * @param wait wait budget from the call on; zero for one attempt. It is honoured to within one node timeout.
     * @return the changed options
     * @throws IllegalArgumentException if it is negative
     */
    public AcquireOptions waitUpTo(final Duration wait) {
        return new AcquireOptions(spec.withWaitNs(Durations.nanosOf("wait", wait)));
    }

    /**
     * How much validity must be left for the acquisition to count as a success.
     *
     * @param minValidity default: a tenth of the ttl
     * @return the changed options
     * @throws IllegalArgumentException if it is negative
     */
    public AcquireOptions minValidity(final Duration minValidity) {
        return new AcquireOptions(spec.withMinValidityNs(Durations.nanosOf("minimum validity", minValidity)));
    }

    /**
     * How to wait between attempts.
     *
     * @param policy default: the client's
     * @return the changed options
     */
    public AcquireOptions retryPolicy(final RetryPolicy policy) {
        Objects.requireNonNull(policy, "retry policy is null");
        return new AcquireOptions(spec.withRetryPolicy(policy));
    }

    /**
     * Who is told when the lease is lost or extended.
     *
     * @param leaseListener called on the event loop
     * @return the changed options
     */
    public AcquireOptions listener(final LeaseListener leaseListener) {
        Objects.requireNonNull(leaseListener, "lease listener is null");
        return new AcquireOptions(spec.withListener(leaseListener));
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
        return new AcquireOptions(spec.withExtensions(countMax, Durations.nanosOf("longest hold", holdMax)));
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
        return new AcquireOptions(spec.withFence());
    }

    @Override
    public String toString() {
        return "AcquireOptions{ttlMs=" + spec.ttlMs() + ", waitNs=" + spec.waitNs() + ", extensionCountMax="
                + spec.extensionCountMax()
                + "}";
    }
}
