package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.NodeView;
import dev.redlock.quorum.LateExtensions;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;

/**
 * Extends held leases automatically within their limits, and ends leases with their validity or their shortest hold. A
 * lease without automatic extension starts its timer for the end of its validity alone.
 *
 * <p>A node that has lost the keys of leases counts for them again after two extensions: one sets its key, and the next
 * one finds it. A repair starts both early, as soon as the node votes, so that another node may fail after it. Repairs
 * are no part of the schedule: its times and its count stay as they are, and they end with it. So they do not prolong
 * the longest hold.
 *
 * @threading event-loop-confined
 */
final class Renewals {

    /** An automatic extension starts after a third of the ttl. */
    private static final int EXTEND_AFTER_DIVISOR = 3;
    /** Extensions until a node that has lost the key counts again. */
    private static final int REPAIRS = 2;
    /** The client retries a failed automatic extension after a tenth of the ttl. */
    private static final int EXTEND_AGAIN_DIVISOR = 10;
    /** The last extension has to prolong the validity by a hundredth of the ttl, and by its spread. */
    private static final int GAIN_DIVISOR = 100;
    /** Timers may be late, and no extension starts after the longest hold. */
    private static final long BEFORE_LIMIT_NS = 2 * NS_PER_MS;

    private final LeaseKeeper keeper;
    private final TimerWheel timers;
    private final NanoClock clock;
    private final RenewalSpread spread;

    Renewals(LoopServices services, LeaseKeeper keeper, RenewalSpread spread) {
        this.keeper = keeper;
        this.timers = services.timers;
        this.clock = services.clock;
        this.spread = spread;
    }

    /** A lease is held from now on. */
    void start(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        long intervalNs = lease.spec.ttlMs * NS_PER_MS / EXTEND_AFTER_DIVISOR;
        startNext(claim, nowNs, mayExtend(lease, nowNs)
                ? spread.firstInNs(nowNs, intervalNs, keeper.heldCount())
                : intervalNs, NS_PER_MS);
    }

    /** An extension has ended. */
    void startAgain(Claim claim, long nowNs, boolean isExtended) {
        Extension extension = claim.extension;
        if (extension.isRepair) {
            extension.isRepair = false;
            long leftNs = Math.min(extension.scheduledNs - nowNs, claim.lease.validUntilNs - nowNs);
            startTimer(claim, nowNs + Math.max(0, leftNs));
        } else {
            startNextAgain(claim, nowNs, isExtended);
        }
        if (extension.repairsLeft > 0) {
            startRepair(claim, nowNs, nowNs);
        }
    }

    private void startNextAgain(Claim claim, long nowNs, boolean isExtended) {
        int divisor = isExtended ? EXTEND_AFTER_DIVISOR : EXTEND_AGAIN_DIVISOR;
        long intervalNs = claim.lease.spec.ttlMs * NS_PER_MS / divisor;
        // In an outage, the retries at the end of many validities must stay few.
        long shortestInNs = isExtended ? NS_PER_MS : Math.max(NS_PER_MS, intervalNs / EXTEND_AGAIN_DIVISOR);
        startNext(claim, nowNs, Math.max(NS_PER_MS, spread.nextInNs(nowNs, intervalNs, keeper.heldCount())),
                shortestInNs);
    }

    /** A lock is kept. An extension may be due at once. */
    void startKept(Claim claim, long nowNs) {
        startNext(claim, nowNs, Math.max(0, untilThirdNs(claim.lease, nowNs)), NS_PER_MS);
    }

    private void startNext(Claim claim, long nowNs, long extendInNs, long shortestInNs) {
        LeaseHandle lease = claim.lease;
        long leftNs = lease.validUntilNs - nowNs;
        long dueInNs = isBeyondTtl(lease, nowNs)
                ? Math.max(extendInNs, untilThirdNs(lease, nowNs))
                : inTimeNs(extendInNs, leftNs, shortestInNs);
        if (!mayExtend(lease, nowNs)) {
            startTimer(claim, nowNs + leftNs);
            return;
        }
        long extensionInNs = lease.isKept ? dueInNs : beforeLimitNs(lease, nowNs, dueInNs, shortestInNs);
        startTimer(claim, nowNs + Math.min(extensionInNs, leftNs));
    }

    /** An extension that would be due after the longest hold is due just before its end, if the lease gains by it. */
    private long beforeLimitNs(LeaseHandle lease, long nowNs, long dueInNs, long shortestInNs) {
        long limitInNs = lease.spec.holdNsMax - (nowNs - lease.acquiredNs) - BEFORE_LIMIT_NS;
        if (dueInNs <= limitInNs || limitInNs < shortestInNs) {
            return dueInNs;
        }
        long ttlNs = lease.spec.ttlMs * NS_PER_MS;
        long rangeNs = spread.laterRangeNs(ttlNs / EXTEND_AFTER_DIVISOR, keeper.heldCount());
        long gainNs = nowNs + limitInNs + lease.times.validityNs - lease.validUntilNs;
        return gainNs < ttlNs / GAIN_DIVISOR + rangeNs ? dueInNs : spread.lastInNs(nowNs, limitInNs, rangeNs);
    }

    /** A caller may have shortened the validity: the extension starts early enough for a second try. */
    private static long inTimeNs(long extendInNs, long leftNs, long shortestInNs) {
        return extendInNs > leftNs / 2 ? Math.max(shortestInNs, leftNs / EXTEND_AFTER_DIVISOR) : extendInNs;
    }

    /** If a caller has extended beyond the ttl, an automatic extension by the ttl would shorten the validity. */
    private static boolean isBeyondTtl(LeaseHandle lease, long nowNs) {
        return nowNs + lease.times.validityNs - lease.validUntilNs < 0;
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
        if (claim.extension != null && claim.extension.isRepair && !claim.isExtending()) {
            claim.extension.repairsLeft--;
        } else if (claim.extension != null && isExtensionDue) {
            claim.extension.repairsLeft = 0;
        }
        startTimer(claim, lease.validUntilNs);
        if (isExtensionDue) {
            keeper.startExtension(claim,
                    lease.isKept ? keeper.kept.ttlMsToKeep(lease, nowNs) : ttlMsToRenew(claim, nowNs));
        }
    }

    /**
     * Returns the ttl of an automatic extension: usually that of the lease. A node that may execute a shorter extension
     * late counts for no longer one. If such nodes are needed, the client asks for the longest ttl that counts, as soon
     * as that does not shorten the validity.
     */
    private long ttlMsToRenew(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        LateExtensions late = claim.extension == null ? null : claim.extension.late;
        if (late == null || late.countedTtlMs() >= lease.spec.ttlMs
                || keeper.extensions.isQuorumWithout(claim, late.nodes())) {
            return lease.spec.ttlMs;
        }
        boolean isShortening = lease.times.terms.validUntilNs(nowNs, late.countedTtlMs()) - lease.validUntilNs < 0;
        return isShortening ? lease.spec.ttlMs : late.countedTtlMs();
    }

    // ---- repairs ----------------------------------------------------------------------------------------------------

    /**
     * A node votes from now on, or at least renews leases: repairs the leases for which it does not count, spread over
     * some time.
     */
    void onExtending(NodeView node) {
        long nowNs = clock.nanoTime();
        int count = 0;
        for (LeaseHandle lease = keeper.firstHeld; lease != null; lease = lease.nextHeld) {
            Claim claim = lease.claim;
            boolean isLacking = (claim.askedMask & ~claim.holderMask & 1L << node.index()) != 0;
            if (isLacking && mayRepair(lease, nowNs) && keeper.extensions.isOf(claim, node)) {
                Extension extension = keeper.extensions.extensionOf(claim);
                extension.repairsLeft = REPAIRS;
                extension.allowRepairAgain(node.index());
                startRepair(claim, nowNs, nowNs + spread.repairInNs(count++));
            }
        }
    }

    /**
     * A node had lost the key, and has set it again: it counts as soon as an extension finds the key. Where SET IFEQ
     * extends, the refusal of the first repair may arrive after the start of the second one, which then sets the key.
     */
    void onKeySetAgain(Claim claim, int nodeIndex, int number, long nowNs) {
        Extension extension = claim.extension;
        if (extension.repairsLeft == 0 && extension.mayRepairAfter(number, nodeIndex)
                && mayRepair(claim.lease, nowNs)) {
            extension.repairAgain(nodeIndex);
            startRepair(claim, nowNs, nowNs);
        }
    }

    private static boolean mayRepair(LeaseHandle lease, long nowNs) {
        return !lease.isKept && lease.isExtendable() && mayExtend(lease, nowNs);
    }

    /**
     * Starts the timer of a repair, unless the schedule is earlier. After a round in progress, this is called again.
     */
    private void startRepair(Claim claim, long nowNs, long atNs) {
        LeaseHandle lease = claim.lease;
        boolean isWanted = !claim.isExtending() && mayRepair(lease, nowNs) && !isBeyondTtl(lease, nowNs)
                && keeper.extensions.isAnyWithoutKey(claim);
        long dueNs = claim.holdTimer.deadlineNs();
        if (isWanted && atNs - dueNs < 0) {
            Extension extension = claim.extension;
            extension.scheduledNs = extension.isRepair ? extension.scheduledNs : dueNs;
            extension.isRepair = true;
            timers.start(claim.holdTimer, atNs);
        }
    }
}
