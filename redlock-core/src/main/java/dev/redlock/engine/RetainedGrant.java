package dev.redlock.engine;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.callback.UserCallbacks;

/**
 * The steps of a lease that gets a retained lock and returns it without the nodes. On the thread of its caller, each
 * change of its state is a compare-and-set, and no store follows that could undo a later one.
 *
 * @threading any thread, except {@link #completeOnLoop}, {@link #completeReleaseLater}, {@link #deliver} and
 *            {@link #isReturning}: the event loop
 */
final class RetainedGrant {

    private RetainedGrant() {
    }

    /** Completes a grant on the thread of the caller. The event loop may have ended the lease already. */
    static void complete(LeaseHandle lease) {
        LeaseHandle.STATE.compareAndSet(lease, LeaseState.ACQUIRING, LeaseState.HELD);
    }

    /** Prepares an acquisition that gets a retained lock, unless the lock ends now. */
    static void prepare(LeaseHandle lease, LeaseLoop owner, long untilNs, long nowNs) {
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
        if (lease.isInCall() && lease.acquireCallback != null) {
            lease.deferToNextTurn(lease.loop(), RequestMailbox.DELIVER);
        } else {
            deliver(lease);
        }
    }

    /**
     * Delivers an outcome that the call of its caller has not. The caller of a local grant may release the lease, and
     * use the handle again, as soon as its state is HELD.
     */
    static void deliver(LeaseHandle lease) {
        if (lease.kind != AcquireOutcome.Kind.ACQUIRED) {
            lease.complete(lease.kind, lease.lastReason, LeaseState.NOT_ACQUIRED);
            return;
        }
        AcquireCallback callback = lease.acquireCallback;
        lease.acquireCallback = null;
        if (LeaseHandle.STATE.compareAndSet(lease, LeaseState.ACQUIRING, LeaseState.HELD)) {
            lease.wakeWaiter();
        }
        if (callback != null) {
            UserCallbacks.run(callback, lease);
        }
    }

    /** Before the lock is free, the lease is not held any more. Returns false if it is not held now. */
    static boolean startReturn(LeaseHandle lease) {
        return LeaseHandle.STATE.compareAndSet(lease, LeaseState.HELD, LeaseState.RELEASING);
    }

    /** The lock is free again, or another lease has it. */
    static void endReturn(LeaseHandle lease) {
        LeaseHandle.RELEASE_OUTCOME.setRelease(lease, ReleaseOutcome.RETAINED);
        LeaseHandle.STATE.setVolatile(lease, LeaseState.RELEASED);
        lease.wakeWaiter();
    }

    /** Whether another thread is between both, until its last store: after that one the handle may be used again. */
    static boolean isReturning(LeaseHandle lease) {
        return lease.claim == null && lease.state == LeaseState.RELEASING;
    }

    /** The lease ends otherwise than by its release, which calls no callback. */
    static void completeReleaseLater(LeaseHandle lease) {
        if (lease.releaseCallback != null) {
            lease.deferToNextTurn(lease.loop(), RequestMailbox.RELEASE);
        }
    }

    /** A lease without a caller, for the claim of one that its holder has released. */
    static LeaseHandle keeping(LeaseHandle released, LeaseLoop loop) {
        LeaseHandle keeping = new LeaseHandle(released.client);
        keeping.startUse(loop);
        keeping.key = released.key;
        keeping.spec = new AcquireSpec(released.spec.ttlMs);
        keeping.spec.isLossWatched = released.spec.isLossWatched;
        keeping.times = released.times;
        keeping.acquiredNs = released.acquiredNs;
        keeping.setValidUntilNs(released.validUntilNs);
        keeping.setState(LeaseState.HELD);
        return keeping;
    }
}
