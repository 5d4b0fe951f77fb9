package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.ExtendOutcome;
import dev.redlock.LeaseListener;
import dev.redlock.LeaseState;
import dev.redlock.ReleaseOutcome;
import dev.redlock.node.Log;
import dev.redlock.quorum.Quorum;

/**
 * Looks after held leases: ends them when their validity ends, extends them automatically within their limits, and
 * takes their grants back when a node's clock has jumped.
 *
 * @threading event-loop-confined
 */
final class LeaseKeeper {

    /** The share of the ttl after which a lease is extended automatically. */
    private static final int EXTEND_AFTER_DIVISOR = 3;
    /** The share of the ttl after which a failed automatic extension is tried again. */
    private static final int EXTEND_AGAIN_DIVISOR = 10;

    private final Conductor conductor;
    private LeaseHandle firstHeld;
    private int heldCount;

    LeaseKeeper(final Conductor conductor) {
        this.conductor = conductor;
    }

    int heldCount() {
        return heldCount;
    }

    LeaseHandle firstHeld() {
        return firstHeld;
    }

    /** A lease is held from now on. */
    void hold(final LeaseHandle lease, final Claim claim, final long nowNs) {
        claim.lease = lease;
        lease.claim = claim;
        lease.extensionCount = 0;
        lease.acquiredNs = nowNs;
        lease.setValidUntilNs(claim.validUntilNs);
        lease.previousHeld = null;
        lease.nextHeld = firstHeld;
        if (firstHeld != null) {
            firstHeld.previousHeld = lease;
        }
        firstHeld = lease;
        heldCount++;
        scheduleNext(claim, nowNs, lease.ttlMs * NS_PER_MS / EXTEND_AFTER_DIVISOR);
    }

    /** A lease is not held any more, for whatever reason; its timers stop and an extension under way is dropped. */
    void untrack(final LeaseHandle lease) {
        final Claim claim = lease.claim;
        conductor.stopTimer(claim.holdTimer);
        conductor.extending().stop(claim);
        if (lease.previousHeld == null) {
            firstHeld = lease.nextHeld;
        } else {
            lease.previousHeld.nextHeld = lease.nextHeld;
        }
        if (lease.nextHeld != null) {
            lease.nextHeld.previousHeld = lease.previousHeld;
        }
        lease.previousHeld = null;
        lease.nextHeld = null;
        heldCount--;
        conductor.acquires().onUntracked(lease);
    }

    private void scheduleNext(final Claim claim, final long nowNs, final long extendInNs) {
        final LeaseHandle lease = claim.lease;
        final long leftNs = lease.validUntilNs() - nowNs;
        // A validity that a caller has made longer than the ttl is used up first: extended by the ttl it would shrink.
        final long ttlNs = lease.ttlMs * NS_PER_MS;
        final long dueInNs = Math.max(extendInNs, leftNs - (ttlNs - ttlNs / EXTEND_AFTER_DIVISOR));
        final boolean isExtensionFirst = mayExtend(lease, nowNs) && dueInNs < leftNs;
        conductor.startTimer(claim.holdTimer, nowNs + (isExtensionFirst ? dueInNs : leftNs));
    }

    private static boolean mayExtend(final LeaseHandle lease, final long nowNs) {
        return lease.extensionCount < lease.extensionCountMax && nowNs - lease.acquiredNs < lease.holdNsMax;
    }

    void onHoldTimer(final Claim claim, final long nowNs) {
        final LeaseHandle lease = claim.lease;
        if (lease.validUntilNs() - nowNs <= 0) {
            lose(claim, LeaseState.EXPIRED);
            return;
        }
        final boolean isExtensionDue = !claim.isExtending && mayExtend(lease, nowNs);
        conductor.startTimer(claim.holdTimer, lease.validUntilNs());
        if (isExtensionDue) {
            startExtension(claim, lease.ttlMs);
        }
    }

    /** A caller asks for an extension; one that is under way is waited for. */
    void extend(final LeaseHandle lease) {
        final Claim claim = lease.claim;
        final boolean isHeld = claim != null && claim.phase == Claim.Phase.HELD;
        final boolean isOver = !isHeld || lease.validUntilNs() - conductor.nowNs() <= 0;
        if (isOver && lease.deferExtension()) {
            return;
        }
        lease.setExtendState(LeaseHandle.ExtendState.ACCEPTED);
        if (!isHeld) {
            lease.completeExtend(lease.isExpired() ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD);
        } else if (isOver) {
            lose(claim, LeaseState.EXPIRED);
        } else if (!claim.isExtending) {
            lease.setExtendState(LeaseHandle.ExtendState.STARTED);
            startExtension(claim, lease.extendTtlMs);
        }
    }

    private void startExtension(final Claim claim, final long ttlMs) {
        try {
            conductor.extending().start(claim, ttlMs);
        } catch (final RuntimeException | Error e) {
            // An extension that nobody ends would keep all later ones from starting.
            conductor.extending().stop(claim);
            onExtended(claim, ExtendOutcome.NOT_EXTENDED);
            throw e;
        }
    }

    /** An extension round has ended and the lease is still held. */
    void onExtended(final Claim claim, final ExtendOutcome outcome) {
        final LeaseHandle lease = claim.lease;
        final long nowNs = conductor.nowNs();
        final boolean isSuccess = outcome == ExtendOutcome.EXTENDED;
        if (isSuccess) {
            conductor.counters().onExtended();
        }
        final boolean isManual = lease.extendState() == LeaseHandle.ExtendState.STARTED;
        if (isSuccess && !isManual) {
            lease.extensionCount++;
        }
        final int divisor = isSuccess ? EXTEND_AFTER_DIVISOR : EXTEND_AGAIN_DIVISOR;
        scheduleNext(claim, nowNs, Math.max(NS_PER_MS, lease.ttlMs * NS_PER_MS / divisor));
        if (isManual) {
            lease.completeExtend(outcome);
        } else if (isSuccess && lease.listener != null) {
            UserCallbacks.notifyExtended(lease.listener, lease, lease.extensionCount);
        }
        if (lease.isExtensionAccepted() && lease.claim == claim && !claim.isExtending) {
            extend(lease);
        }
    }

    /** The lease has lost the lock: what is left of it is given back, and its listener is told. */
    void lose(final Claim claim, final LeaseState state) {
        lose(claim, state, ReleaseOutcome.EXPIRED,
                state == LeaseState.LOST ? ExtendOutcome.LOST : ExtendOutcome.EXPIRED);
    }

    /** The loop ends: the lease can neither be extended nor given back, so its holder shall not rely on it. */
    void loseWithLoop(final Claim claim) {
        lose(claim, LeaseState.LOST, ReleaseOutcome.UNKNOWN, ExtendOutcome.NOT_HELD);
    }

    private void lose(final Claim claim, final LeaseState state, final ReleaseOutcome releaseOutcome,
            final ExtendOutcome extendOutcome) {
        final LeaseHandle lease = claim.lease;
        // Whoever is told may use the lease again, for another resource and with another listener.
        final LockKey key = lease.key;
        final LeaseListener listener = lease.listener;
        untrack(lease);
        lease.claim = null;
        // Before the release is sent: from then on somebody else may have the lock.
        lease.end(state, releaseOutcome);
        try {
            conductor.acquires().queues().passStreak(claim);
            conductor.releasing().abandon(claim);
        } finally {
            conductor.counters().onLost(state);
            if (lease.isExtensionAccepted()) {
                lease.completeExtend(extendOutcome);
            }
            UserCallbacks.notifyLost(listener, lease, state);
            conductor.acquires().queues().handOff(key);
        }
    }

    /** Whatever goes wrong with the clean-up of one lease, the others have to be looked at. */
    private void loseGuarded(final Claim claim) {
        try {
            lose(claim, LeaseState.LOST);
        } catch (final RuntimeException | Error e) {
            Log.error("a lost lease could not be given back; its keys end with their ttl", e);
        }
    }

    private static boolean isHeld(final LeaseHandle lease) {
        return lease.claim != null && lease.claim.phase == Claim.Phase.HELD;
    }

    /** A held lease does not rest on a node any more; without a quorum of others it is lost. */
    void dropHolder(final Claim claim, final int nodeIndex) {
        claim.holderMask &= ~(1L << nodeIndex);
        if (Long.bitCount(claim.holderMask) < Quorum.sizeOf(conductor.nodeCount())) {
            loseGuarded(claim);
        }
    }

    /** A node's grants are worth nothing any more: leases that need them are lost. */
    void revoke(final int nodeIndex) {
        LeaseHandle lease = firstHeld;
        while (lease != null) {
            final LeaseHandle next = lease.nextHeld;
            final Claim claim = lease.claim;
            if (claim.isExtending) {
                claim.extendRound.revoke(nodeIndex);
            }
            dropHolder(claim, nodeIndex);
            // A listener may have let go of the next one, whose release can be under way still: then start over; what
            // was looked at is looked at again for nothing.
            lease = next != null && !isHeld(next) ? firstHeld : next;
        }
    }
}
