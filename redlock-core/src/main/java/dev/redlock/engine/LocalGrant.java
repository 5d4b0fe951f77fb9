package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;

/**
 * The steps of a lease that gets a retained lock and returns it without the event loop.
 *
 * @threading any thread: that of the caller; {@link #completeOnLoop} and {@link #runReleaseCallback} the event loop
 */
final class LocalGrant {

    private LocalGrant() {
    }

    /** Prepares an acquisition that gets a retained lock, unless the lock ends now. */
    static void prepare(LeaseHandle lease, LeaseLoop owner, long number, long untilNs, long nowNs) {
        lease.retainedNumber = number;
        lease.acquiredNs = nowNs;
        lease.setValidUntilNs(untilNs);
        lease.kind = AcquireOutcome.Kind.ACQUIRED;
        lease.lastReason = AcquireOutcome.Kind.ACQUIRED;
        lease.startUse(owner);
    }

    /** The lock has ended: the acquisition goes to the nodes. */
    static void withdraw(LeaseHandle lease, LeaseLoop owner) {
        lease.setValidUntilNs(0);
        lease.resetResult();
        lease.startUse(owner);
    }

    static void completeOnLoop(LeaseHandle lease) {
        if (lease.isInCall()) {
            lease.deferToNextTurn(lease.loop(), RequestMailbox.DELIVER);
        } else {
            lease.deliver();
        }
    }

    /** Whether the caller has not completed the grant yet. */
    static boolean isOpen(LeaseHandle lease) {
        return lease.state == LeaseState.ACQUIRING;
    }

    /** Before the lock is free, the lease is not held any more. Returns false if it is not held now. */
    static boolean startReturn(LeaseHandle lease) {
        boolean isFirst = LeaseHandle.STATE.compareAndSet(lease, LeaseState.HELD, LeaseState.RELEASING);
        if (isFirst) {
            LeaseHandle.RELEASE_OUTCOME.setRelease(lease, ReleaseOutcome.RETAINED);
        }
        return isFirst;
    }

    /** If the lock is not retained, a release follows. */
    static void endReturn(LeaseHandle lease, boolean isRetained) {
        if (isRetained) {
            lease.state = LeaseState.RELEASED;
            lease.wakeWaiter();
        } else {
            LeaseHandle.RELEASE_OUTCOME.setRelease(lease, null);
        }
    }

    static void runReleaseCallback(LeaseHandle lease) {
        ReleaseCallback callback = lease.releaseCallback;
        if (callback != null) {
            lease.completeRelease(ReleaseOutcome.RETAINED, callback);
        }
    }
}
