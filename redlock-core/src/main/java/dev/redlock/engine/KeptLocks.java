package dev.redlock.engine;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.telemetry.Log;
import java.lang.invoke.VarHandle;

/**
 * Keeps the locks of leases that end before their shortest hold has passed. A lease without a caller holds such a lock
 * from then on.
 *
 * @threading event-loop-confined
 */
final class KeptLocks {

    private final LoopServices services;
    private final LeaseKeeper keeper;
    private final LeaseTerms terms;

    KeptLocks(LoopServices services, LeaseKeeper keeper) {
        this.services = services;
        this.keeper = keeper;
        this.terms = services.config.terms();
    }

    /** Changes the shortest hold of a lease that is held, and not about to be retained, in options of its own. */
    void change(LeaseHandle lease) {
        if (lease.claim == null || lease.storedState() != LeaseState.HELD) {
            return;
        }
        AcquireSpec changed = lease.spec.copy();
        boolean isWanted = lease.holdUntilNs - services.clock.nanoTime() > 0;
        changed.holdNsMin = isWanted ? lease.holdUntilNs - lease.acquiredNs : 0;
        keeper.extendableCount -= lease.isExtendable() ? 1 : 0;
        // Callers that read the new options must see all their fields.
        VarHandle.releaseFence();
        lease.spec = changed;
        keeper.extendableCount += lease.isExtendable() ? 1 : 0;
    }

    /**
     * Ends a lease for its holder, and keeps the lock until its shortest hold has passed. The keys then expire, also if
     * the client is closed or its process dies.
     */
    void keep(LeaseHandle lease) {
        Claim claim = lease.claim;
        keeper.retention.onEnded(claim);
        keeper.untrack(lease);
        lease.setState(LeaseState.RELEASING);
        lease.releaseOutcome = ReleaseOutcome.KEPT;
        LeaseHandle kept = null;
        try {
            if (!lease.isKept) {
                services.telemetry.rare.onKept(claim);
            }
            long nowNs = services.clock.nanoTime();
            shorten(lease, claim, nowNs);
            if (!services.isClosing) {
                LeaseHandle keeping = keeping(lease);
                keeper.track(keeping, claim);
                keeper.extendableCount++;
                kept = keeping;
                keeper.renewals.startKept(claim, nowNs);
            }
        } catch (RuntimeException | Error e) {
            Log.error("a lock cannot be kept for its shortest hold; it expires with its ttl", e);
            if (kept != null) {
                // Without a timer nothing would end it.
                keeper.untrack(kept);
                kept = null;
            }
        }
        if (kept == null) {
            keeper.releases.leaveToExpiry(claim);
        }
        short use = lease.useCount();
        if (lease.isExtensionAccepted()) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        // Its callback may have released the lease again, and may use it for another lock now.
        if (lease.useCount() == use && lease.state() == LeaseState.RELEASING) {
            lease.completeRelease(ReleaseOutcome.KEPT);
        }
    }

    /** A lease without a caller, which keeps the lock of a released one. */
    private static LeaseHandle keeping(LeaseHandle released) {
        AcquireSpec spec = new AcquireSpec(released.spec.ttlMs);
        spec.holdNsMin = released.spec.holdNsMin;
        spec.isFenced = released.spec.isFenced;
        LeaseHandle kept = released.withoutCaller(released.loop(), spec);
        kept.isKept = true;
        return kept;
    }

    private void shorten(LeaseHandle lease, Claim claim, long nowNs) {
        long ttlMs = ttlMsToKeep(lease, nowNs);
        long untilNs = terms.validUntilNs(nowNs, ttlMs);
        if (untilNs - lease.validUntilNs < 0) {
            lease.setValidUntilNs(untilNs);
            keeper.extensions.shorten(claim, ttlMs);
        }
    }

    /** Returns the ttl with which the lock lasts until the end of its shortest hold. */
    long ttlMsToKeep(LeaseHandle lease, long nowNs) {
        return terms.ttlMsUntil(nowNs, lease.keepUntilNs(), lease.spec.ttlMs);
    }
}
