package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.TimerWheel;

/**
 * Extends held leases automatically within their limits, and ends leases with their validity or their shortest hold. A
 * lease without automatic extension starts its timer for the end of its validity alone.
 *
 * @threading event-loop-confined
 */
final class Renewals {

    /** An automatic extension starts after a third of the ttl. */
    private static final int EXTEND_AFTER_DIVISOR = 3;
    /** The client retries a failed automatic extension after a tenth of the ttl. */
    private static final int EXTEND_AGAIN_DIVISOR = 10;

    private final LeaseKeeper keeper;
    private final TimerWheel timers;
    private final RenewalSpread spread;

    Renewals(LeaseKeeper keeper, TimerWheel timers, RenewalSpread spread) {
        this.keeper = keeper;
        this.timers = timers;
        this.spread = spread;
    }

    /** A lease is held from now on. */
    void start(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        long intervalNs = lease.spec.ttlMs * NS_PER_MS / EXTEND_AFTER_DIVISOR;
        startNext(claim, nowNs, mayExtend(lease, nowNs)
                ? spread.firstInNs(nowNs, intervalNs, keeper.heldCount())
                : intervalNs);
    }

    /** An extension has ended. */
    void startAgain(Claim claim, long nowNs, boolean isExtended) {
        int divisor = isExtended ? EXTEND_AFTER_DIVISOR : EXTEND_AGAIN_DIVISOR;
        long intervalNs = claim.lease.spec.ttlMs * NS_PER_MS / divisor;
        startNext(claim, nowNs, Math.max(NS_PER_MS, spread.nextInNs(nowNs, intervalNs, keeper.heldCount())));
    }

    /** A lock is kept. An extension may be due at once. */
    void startKept(Claim claim, long nowNs) {
        startNext(claim, nowNs, Math.max(0, untilThirdNs(claim.lease, nowNs)));
    }

    private void startNext(Claim claim, long nowNs, long extendInNs) {
        LeaseHandle lease = claim.lease;
        long leftNs = lease.validUntilNs - nowNs;
        // If a caller has extended beyond the ttl, an automatic extension by the ttl would shorten the validity.
        boolean isBeyondTtl = nowNs + lease.times.validityNs - lease.validUntilNs < 0;
        long dueInNs = isBeyondTtl ? Math.max(extendInNs, untilThirdNs(lease, nowNs)) : extendInNs;
        boolean isExtensionFirst = mayExtend(lease, nowNs) && dueInNs < leftNs;
        startTimer(claim, nowNs + (isExtensionFirst ? dueInNs : leftNs));
    }

    /** Time until a third of the ttl has passed, as seen from the end of the validity. */
    private static long untilThirdNs(LeaseHandle lease, long nowNs) {
        long ttlNs = lease.spec.ttlMs * NS_PER_MS;
        return lease.validUntilNs - nowNs - (ttlNs - ttlNs / EXTEND_AFTER_DIVISOR);
    }

    private void startTimer(Claim claim, long atNs) {
        LeaseHandle lease = claim.lease;
        boolean isKeptLess = lease.isKept && lease.keepUntilNs() - atNs < 0;
        timers.start(claim.holdTimer, isKeptLess ? lease.keepUntilNs() : atNs);
    }

    private static boolean mayExtend(LeaseHandle lease, long nowNs) {
        if (lease.isKept) {
            return lease.validUntilNs - lease.keepUntilNs() < 0;
        }
        Extension extension = lease.claim.extension;
        return (extension == null ? 0 : extension.automaticCount) < lease.spec.extensionCountMax
                && nowNs - lease.acquiredNs < lease.spec.holdNsMax;
    }

    void onHoldTimer(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        if (lease.isKept && lease.keepUntilNs() - nowNs <= 0) {
            keeper.releases.releaseNow(lease);
            return;
        }
        if (lease.validUntilNs - nowNs <= 0) {
            keeper.loss.expire(claim);
            return;
        }
        boolean isExtensionDue = !claim.isExtending() && mayExtend(lease, nowNs);
        startTimer(claim, lease.validUntilNs);
        if (isExtensionDue) {
            keeper.startExtension(claim, lease.isKept ? keeper.kept.ttlMsToKeep(lease, nowNs) : lease.spec.ttlMs);
        }
    }
}
