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
    private LeaseSlot firstHeld;
    private int heldCount;

    LeaseKeeper(final Conductor conductor) {
        this.conductor = conductor;
    }

    int heldCount() {
        return heldCount;
    }

    LeaseSlot firstHeld() {
        return firstHeld;
    }

    /** A lease is held from now on. */
    void hold(final LeaseSlot lease, final Attempt attempt, final long nowNs) {
        attempt.lease = lease;
        lease.attempt = attempt;
        lease.extensionCount = 0;
        lease.acquiredNs = nowNs;
        lease.setValidUntilNs(attempt.validUntilNs);
        lease.previousHeld = null;
        lease.nextHeld = firstHeld;
        if (firstHeld != null) {
            firstHeld.previousHeld = lease;
        }
        firstHeld = lease;
        heldCount++;
        scheduleNext(attempt, nowNs, lease.ttlMs * NS_PER_MS / EXTEND_AFTER_DIVISOR);
    }

    /** A lease is not held any more, for whatever reason; its timers stop and an extension under way is dropped. */
    void letGo(final LeaseSlot lease) {
        final Attempt attempt = lease.attempt;
        conductor.stopTimer(attempt.holdTimer);
        conductor.extending().stop(attempt);
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
        conductor.onLetGo(lease);
    }

    private void scheduleNext(final Attempt attempt, final long nowNs, final long extendInNs) {
        final LeaseSlot lease = attempt.lease;
        final long leftNs = lease.validUntilNs() - nowNs;
        // A validity that a caller has made longer than the ttl is used up first: extended by the ttl it would shrink.
        final long ttlNs = lease.ttlMs * NS_PER_MS;
        final long dueInNs = Math.max(extendInNs, leftNs - (ttlNs - ttlNs / EXTEND_AFTER_DIVISOR));
        final boolean isExtensionFirst = mayExtend(lease, nowNs) && dueInNs < leftNs;
        conductor.startTimer(attempt.holdTimer, nowNs + (isExtensionFirst ? dueInNs : leftNs));
    }

    private static boolean mayExtend(final LeaseSlot lease, final long nowNs) {
        return lease.extensionCount < lease.extensionCountMax && nowNs - lease.acquiredNs < lease.holdNsMax;
    }

    void onHoldTimer(final Attempt attempt, final long nowNs) {
        final LeaseSlot lease = attempt.lease;
        if (lease.validUntilNs() - nowNs <= 0) {
            lose(attempt, LeaseState.EXPIRED);
            return;
        }
        final boolean isExtensionDue = !attempt.isExtending && mayExtend(lease, nowNs);
        conductor.startTimer(attempt.holdTimer, lease.validUntilNs());
        if (isExtensionDue) {
            startExtension(attempt, lease.ttlMs);
        }
    }

    /** A caller asks for an extension; one that is under way is waited for. */
    void extend(final LeaseSlot lease) {
        final Attempt attempt = lease.attempt;
        final boolean isHeld = attempt != null && attempt.phase == Attempt.Phase.HELD;
        final boolean isOver = !isHeld || lease.validUntilNs() - conductor.nowNs() <= 0;
        if (isOver && lease.isExtensionPutOff()) {
            return;
        }
        lease.isExtendTaken = true;
        if (!isHeld) {
            lease.completeExtend(lease.isExpired() ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD);
        } else if (isOver) {
            lose(attempt, LeaseState.EXPIRED);
        } else if (!attempt.isExtending) {
            lease.isExtendStarted = true;
            startExtension(attempt, lease.extendTtlMs);
        }
    }

    private void startExtension(final Attempt attempt, final long ttlMs) {
        try {
            conductor.extending().start(attempt, ttlMs);
        } catch (final RuntimeException | Error e) {
            // An extension that nobody ends would keep all later ones from starting.
            conductor.extending().stop(attempt);
            onExtended(attempt, ExtendOutcome.NOT_EXTENDED);
            throw e;
        }
    }

    /** An extension round has ended and the lease is still held. */
    void onExtended(final Attempt attempt, final ExtendOutcome outcome) {
        final LeaseSlot lease = attempt.lease;
        final long nowNs = conductor.nowNs();
        final boolean isSuccess = outcome == ExtendOutcome.EXTENDED;
        if (isSuccess) {
            conductor.counters().onExtended();
        }
        final boolean isManual = lease.isExtendStarted;
        if (isSuccess && !isManual) {
            lease.extensionCount++;
        }
        final int divisor = isSuccess ? EXTEND_AFTER_DIVISOR : EXTEND_AGAIN_DIVISOR;
        scheduleNext(attempt, nowNs, Math.max(NS_PER_MS, lease.ttlMs * NS_PER_MS / divisor));
        if (isManual) {
            lease.completeExtend(outcome);
        } else if (isSuccess && lease.listener != null) {
            Conductor.tellExtended(lease);
        }
        if (lease.isExtendTaken && lease.attempt == attempt && !attempt.isExtending) {
            extend(lease);
        }
    }

    /** The lease has lost the lock: what is left of it is given back, and its listener is told. */
    void lose(final Attempt attempt, final LeaseState state) {
        lose(attempt, state, ReleaseOutcome.EXPIRED,
                state == LeaseState.LOST ? ExtendOutcome.LOST : ExtendOutcome.EXPIRED);
    }

    /** The loop ends: the lease can neither be extended nor given back, so its holder shall not rely on it. */
    void loseWithLoop(final Attempt attempt) {
        lose(attempt, LeaseState.LOST, ReleaseOutcome.UNKNOWN, ExtendOutcome.NOT_HELD);
    }

    private void lose(final Attempt attempt, final LeaseState state, final ReleaseOutcome releaseOutcome,
            final ExtendOutcome extendOutcome) {
        final LeaseSlot lease = attempt.lease;
        // Whoever is told may use the lease again, for another resource and with another listener.
        final LockKey key = lease.key;
        final LeaseListener listener = lease.listener;
        letGo(lease);
        lease.attempt = null;
        // Before the release is sent: from then on somebody else may have the lock.
        lease.end(state, releaseOutcome);
        try {
            conductor.passRun(attempt);
            conductor.releasing().abandon(attempt);
        } finally {
            conductor.counters().onLost(state);
            if (lease.isExtendTaken) {
                lease.completeExtend(extendOutcome);
            }
            Conductor.tellLost(listener, lease, state);
            conductor.handOn(key);
        }
    }

    /** Whatever goes wrong with the clean-up of one lease, the others have to be looked at. */
    private void loseGuarded(final Attempt attempt) {
        try {
            lose(attempt, LeaseState.LOST);
        } catch (final RuntimeException | Error e) {
            Log.error("a lost lease could not be given back; its keys end with their ttl", e);
        }
    }

    private static boolean isHeld(final LeaseSlot lease) {
        return lease.attempt != null && lease.attempt.phase == Attempt.Phase.HELD;
    }

    /** A held lease does not rest on a node any more; without a quorum of others it is lost. */
    void dropHolder(final Attempt attempt, final int nodeIndex) {
        attempt.holders &= ~(1L << nodeIndex);
        if (Long.bitCount(attempt.holders) < Quorum.sizeOf(conductor.nodeCount())) {
            loseGuarded(attempt);
        }
    }

    /** A node's grants are worth nothing any more: leases that need them are lost. */
    void distrust(final int nodeIndex) {
        LeaseSlot lease = firstHeld;
        while (lease != null) {
            final LeaseSlot next = lease.nextHeld;
            final Attempt attempt = lease.attempt;
            if (attempt.isExtending) {
                attempt.extendRound.distrust(nodeIndex);
            }
            dropHolder(attempt, nodeIndex);
            // A listener may have let go of the next one, whose release can be under way still: then start over; what
            // was looked at is looked at again for nothing.
            lease = next != null && !isHeld(next) ? firstHeld : next;
        }
    }
}
