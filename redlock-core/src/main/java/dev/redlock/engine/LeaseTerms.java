package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.quorum.Validity;

/**
 * The time rules for the leases of a client: their ttl, their validity, and the timeout of their rounds.
 *
 * @param maxTtlMs          longest ttl
 * @param nodeTimeoutNs     timeout of a round; {@link AcquireSpec#UNSET} to derive it from the ttl
 * @param minValidityNs     validity that a success must have left; {@link AcquireSpec#UNSET} for a tenth of the ttl
 * @param fenceCounterTtlMs time that a fencing counter stays on a node after it was last written
 * @param validity          the part of a ttl that a holder may rely on
 * @threading               immutable
 */
public record LeaseTerms(long maxTtlMs, long nodeTimeoutNs, long minValidityNs, long fenceCounterTtlMs,
        Validity validity) {

    private static final long NODE_TIMEOUT_NS_MAX = 50 * NS_PER_MS;

    /**
     * Validates a ttl.
     *
     * @param  ownMinValidityNs         the acquisition's minimum validity, or {@link AcquireSpec#UNSET}
     * @throws IllegalArgumentException if it is out of range; the message has the value and the limit
     */
    public void checkTtl(long ttlMs, long ownMinValidityNs) {
        if (ttlMs > maxTtlMs) {
            throw new IllegalArgumentException("ttl " + ttlMs + " ms is longer than maxTtl " + maxTtlMs
                    + " ms: ask for less, or raise RedlockContext.maxTtl");
        }
        long allowanceNs = validity.allowanceNs(Math.max(0, ttlMs) * NS_PER_MS);
        long neededNs = minValidityNs(ttlMs, ownMinValidityNs);
        if (ttlMs < 1 || ttlMs * NS_PER_MS - allowanceNs <= neededNs) {
            throw new IllegalArgumentException("ttl " + ttlMs + " ms is too short: it must be above its clock"
                    + " allowance of " + allowanceNs / 1000 + " us plus the minimum validity of " + neededNs / 1000
                    + " us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the minimum validity");
        }
    }

    /**
     * Returns the minimum validity of an acquisition: its own, else the client's, else a tenth of the ttl.
     *
     * @param  ownMinValidityNs the acquisition's own, or {@link AcquireSpec#UNSET}
     */
    public long minValidityNs(long ttlMs, long ownMinValidityNs) {
        if (ownMinValidityNs != AcquireSpec.UNSET) {
            return ownMinValidityNs;
        }
        return minValidityNs != AcquireSpec.UNSET ? minValidityNs : ttlMs * NS_PER_MS / 10;
    }

    /** Returns the node timeout for a ttl: the configured one, else the shorter of 50 ms and ttl/20, at least 1 ms. */
    public long nodeTimeoutNs(long ttlMs) {
        if (nodeTimeoutNs != AcquireSpec.UNSET) {
            return nodeTimeoutNs;
        }
        return Math.max(NS_PER_MS, Math.min(NODE_TIMEOUT_NS_MAX, ttlMs * NS_PER_MS / 20));
    }

    /** Checks the ttl of options. */
    LeaseTimes timesOf(AcquireSpec spec) {
        checkTtl(spec.ttlMs, spec.minValidityNs);
        return new LeaseTimes(this, spec.ttlMs, spec.minValidityNs);
    }

    /** Returns the shortest ttl whose validity, if sent at t1, lasts until a time; the maximum if that is less. */
    long ttlMsUntil(long t1Ns, long untilNs, long ttlMsMax) {
        long ttlMs = 1;
        long missingNs = untilNs - validUntilNs(t1Ns, ttlMs);
        while (missingNs > 0 && ttlMs < ttlMsMax) {
            ttlMs = Math.min(ttlMsMax, ttlMs + missingNs / NS_PER_MS + 1);
            missingNs = untilNs - validUntilNs(t1Ns, ttlMs);
        }
        return ttlMs;
    }

    /** Returns the end of the validity of a ttl that was sent at t1: t1 + ttl - clock allowance. */
    long validUntilNs(long t1Ns, long ttlMs) {
        return validity.untilNs(t1Ns, ttlMs * NS_PER_MS);
    }
}
