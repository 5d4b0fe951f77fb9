package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.Log;
import dev.redlock.node.NodeView;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import java.util.random.RandomGenerator;

/**
 * Tracks held leases. It ends them with their validity, extends them automatically within their limits, and revokes the
 * grants of a node that may have lost its keys.
 *
 * @threading event-loop-confined
 */
final class LeaseKeeper {

    /** An automatic extension starts after a third of the ttl. */
    private static final int EXTEND_AFTER_DIVISOR = 3;
    /** The client retries a failed automatic extension after a tenth of the ttl. */
    private static final int EXTEND_AGAIN_DIVISOR = 10;

    final ReleaseOperation releases;
    final ExtendOperation extensions;
    final LossWatch lossWatch;
    private final LoopServices services;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final LeaseTerms terms;
    private final RenewalSpread spread;
    private Waiters waiters;
    private LeaseHandle firstHeld;

    LeaseKeeper(LoopServices services, ClaimPool claims, ReleaseTally tally, RandomGenerator random) {
        this.services = services;
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.counters = services.counters;
        this.terms = services.config.terms();
        this.extensions = new ExtendOperation(services, this);
        this.lossWatch = new LossWatch(services, this);
        this.releases = new ReleaseOperation(services, claims, this, tally);
        this.spread = new RenewalSpread(random);
    }

    /** Before the first lease: who waits for the ends of leases. */
    void setWaiters(Waiters newWaiters) {
        waiters = newWaiters;
        releases.setWaiters(newWaiters);
    }

    int heldCount() {
        return (int) counters.read(ConductorCounters.HELD);
    }

    LeaseHandle firstHeld() {
        return firstHeld;
    }

    /** Starts to track a lease that is held from now on. */
    void hold(LeaseHandle lease, Claim claim, long nowNs) {
        lease.extensionCount = 0;
        lease.acquiredNs = nowNs;
        lease.setValidUntilNs(claim.validUntilNs);
        track(lease, claim);
        boolean isExtended = mayExtend(lease, nowNs);
        long intervalNs = lease.ttlMs * NS_PER_MS / EXTEND_AFTER_DIVISOR;
        scheduleNext(claim, nowNs, isExtended ? spread.firstInNs(nowNs, intervalNs, heldCount()) : intervalNs);
        if (lease.spec.isLossWatched) {
            lossWatch.start(claim);
        }
    }

    private void track(LeaseHandle lease, Claim claim) {
        claim.lease = lease;
        lease.claim = claim;
        lease.previousHeld = null;
        lease.nextHeld = firstHeld;
        if (firstHeld != null) {
            firstHeld.previousHeld = lease;
        }
        firstHeld = lease;
        counters.onHeld(1);
    }

    /**
     * Ends a lease for its holder, and keeps the lock until its shortest hold has passed. The keys then expire, also if
     * the client is closed or its process dies.
     */
    void keep(LeaseHandle lease) {
        Claim claim = lease.claim;
        untrack(lease);
        lease.markReleasing();
        lease.recordReleaseOutcome(ReleaseOutcome.KEPT);
        lease.claim = null;
        if (!lease.isKept) {
            claim.releaseRound.reset();
            telemetry.onKept(claim);
        }
        LeaseHandle kept = null;
        try {
            long nowNs = clock.nanoTime();
            shorten(lease, claim, nowNs);
            if (!services.isClosing) {
                kept = LeaseHandle.keeping(lease);
                track(kept, claim);
                waiters.onKept();
                // An extension may be due at once.
                scheduleNext(claim, nowNs, Math.max(0, untilThirdNs(kept, nowNs)));
            }
        } catch (RuntimeException | Error e) {
            Log.error("a lock cannot be kept for its shortest hold; it expires with its ttl", e);
        }
        if (kept == null) {
            releases.leave(claim);
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

    private void shorten(LeaseHandle lease, Claim claim, long nowNs) {
        long ttlMs = ttlMsToKeep(lease, nowNs);
        long untilNs = terms.validUntilNs(nowNs, ttlMs);
        if (untilNs - lease.validUntilNs() < 0) {
            lease.setValidUntilNs(untilNs);
            extensions.shorten(claim, ttlMs);
        }
    }

    private long ttlMsToKeep(LeaseHandle lease, long nowNs) {
        return terms.ttlMsUntil(nowNs, lease.keepUntilNs(), lease.ttlMs);
    }

    /** Stops tracking a lease that is no longer held, with its timers and its extension round. */
    void untrack(LeaseHandle lease) {
        Claim claim = lease.claim;
        timers.stop(claim.holdTimer);
        extensions.stop(claim);
        if (claim.watched != null) {
            lossWatch.stop(claim);
        }
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
        counters.onHeld(-1);
        waiters.onUntracked(lease);
    }

    private void scheduleNext(Claim claim, long nowNs, long extendInNs) {
        LeaseHandle lease = claim.lease;
        long leftNs = lease.validUntilNs() - nowNs;
        // If a caller has extended beyond the ttl, an automatic extension by the ttl would shorten the validity.
        boolean isBeyondTtl = nowNs + lease.times.validityNs - lease.validUntilNs() < 0;
        long dueInNs = isBeyondTtl ? Math.max(extendInNs, untilThirdNs(lease, nowNs)) : extendInNs;
        boolean isExtensionFirst = mayExtend(lease, nowNs) && dueInNs < leftNs;
        startHoldTimer(claim, nowNs + (isExtensionFirst ? dueInNs : leftNs));
    }

    /** Time until a third of the ttl has passed, as seen from the end of the validity. */
    private static long untilThirdNs(LeaseHandle lease, long nowNs) {
        long ttlNs = lease.ttlMs * NS_PER_MS;
        return lease.validUntilNs() - nowNs - (ttlNs - ttlNs / EXTEND_AFTER_DIVISOR);
    }

    private void startHoldTimer(Claim claim, long atNs) {
        LeaseHandle lease = claim.lease;
        boolean isKeptLess = lease.isKept && lease.keepUntilNs() - atNs < 0;
        timers.start(claim.holdTimer, isKeptLess ? lease.keepUntilNs() : atNs);
    }

    private static boolean mayExtend(LeaseHandle lease, long nowNs) {
        if (lease.isKept) {
            return lease.validUntilNs() - lease.keepUntilNs() < 0;
        }
        return lease.extensionCount < lease.spec.extensionCountMax && nowNs - lease.acquiredNs < lease.spec.holdNsMax;
    }

    void onHoldTimer(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        if (lease.isKept && lease.keepUntilNs() - nowNs <= 0) {
            releases.releaseNow(lease);
            return;
        }
        if (lease.validUntilNs() - nowNs <= 0) {
            expire(claim);
            return;
        }
        boolean isExtensionDue = !claim.isExtending && mayExtend(lease, nowNs);
        startHoldTimer(claim, lease.validUntilNs());
        if (isExtensionDue) {
            startExtension(claim, lease.isKept ? ttlMsToKeep(lease, nowNs) : lease.ttlMs);
        }
    }

    /** Starts an extension for a caller; an extension in progress ends first. */
    void extend(LeaseHandle lease) {
        Claim claim = lease.claim;
        boolean isHeld = claim != null && claim.phase == Claim.Phase.HELD;
        boolean isOver = !isHeld || lease.validUntilNs() - clock.nanoTime() <= 0;
        if (isOver && lease.deferExtension()) {
            return;
        }
        lease.setExtendState(LeaseHandle.ExtendState.ACCEPTED);
        if (!isHeld) {
            lease.completeExtend(lease.isExpired() ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD);
        } else if (isOver) {
            expire(claim);
        } else if (!claim.isExtending) {
            lease.setExtendState(LeaseHandle.ExtendState.STARTED);
            startExtension(claim, lease.extendTtlMs);
        }
    }

    private void startExtension(Claim claim, long ttlMs) {
        try {
            extensions.start(claim, ttlMs);
        } catch (RuntimeException | Error e) {
            // An extension without an end would block all later ones.
            extensions.stop(claim);
            if (!claim.lease.isInCall()) {
                // Otherwise its request tries again.
                onExtended(claim, ExtendOutcome.NOT_EXTENDED);
            }
            throw e;
        }
    }

    /** An extension round has ended, and the lease is still held. */
    void onExtended(Claim claim, ExtendOutcome outcome) {
        LeaseHandle lease = claim.lease;
        long nowNs = clock.nanoTime();
        boolean isSuccess = outcome == ExtendOutcome.EXTENDED;
        telemetry.onExtensionEnded(claim, outcome, nowNs);
        boolean isManual = lease.extendState() == LeaseHandle.ExtendState.STARTED;
        if (isSuccess && !isManual) {
            lease.extensionCount++;
        }
        int divisor = isSuccess ? EXTEND_AFTER_DIVISOR : EXTEND_AGAIN_DIVISOR;
        long intervalNs = lease.ttlMs * NS_PER_MS / divisor;
        scheduleNext(claim, nowNs, Math.max(NS_PER_MS,
                lease.isExtendable() ? spread.nextInNs(nowNs, intervalNs, heldCount()) : intervalNs));
        if (claim.watched != null) {
            lossWatch.onExtended(claim);
        }
        if (isManual) {
            lease.completeExtend(outcome);
        } else if (isSuccess && lease.spec.listener != null) {
            UserCallbacks.notifyExtended(lease.spec.listener, lease, lease.extensionCount);
        }
        if (lease.isExtensionAccepted() && lease.claim == claim && !claim.isExtending) {
            extend(lease);
        }
    }

    /**
     * Ends an expired lease: releases its keys and notifies its listener. The release goes out at once, so that others
     * need not wait for the expiry on the nodes.
     */
    void expire(Claim claim) {
        lose(claim, LeaseState.EXPIRED, ReleaseOutcome.EXPIRED, ExtendOutcome.EXPIRED, LossCause.VALIDITY_ENDED,
                LossCause.NO_NODE);
    }

    /** Ends a lease because its loop ends: the client can neither extend nor release it. */
    void loseWithoutNodes(Claim claim) {
        lose(claim, LeaseState.LOST, ReleaseOutcome.UNKNOWN, ExtendOutcome.NOT_HELD, LossCause.LOOP_ENDED,
                LossCause.NO_NODE);
    }

    private void lose(Claim claim, LeaseState state, ReleaseOutcome releaseOutcome,
            ExtendOutcome extendOutcome, LossCause cause, int nodeIndex) {
        LeaseHandle lease = claim.lease;
        // A callback may reuse the lease, for another resource and with another listener.
        LockKey key = lease.key;
        LockKey lockedKey = claim.key;
        long waitNs = lease.waitNs;
        long acquiredNs = lease.acquiredNs;
        int number = claim.number;
        LeaseListener listener = lease.spec.listener;
        boolean isToBeKept = lease.isToBeKept(clock);
        untrack(lease);
        lease.claim = null;
        // Before the release is sent, because another client may acquire the lock afterwards.
        lease.end(state, releaseOutcome);
        try {
            waiters.onEnding(key, waitNs, acquiredNs, clock.nanoTime());
            if (isToBeKept) {
                releases.leave(claim);
            } else {
                releases.abandon(claim);
            }
        } finally {
            if (!lease.isKept) {
                telemetry.onLeaseLost(lease, key, number, state, cause, nodeIndex);
            }
            if (lease.isExtensionAccepted()) {
                lease.completeExtend(extendOutcome);
            }
            UserCallbacks.notifyLost(listener, lease, state);
            waiters.handOff(key, lockedKey);
        }
    }

    /** A failed release of one lease must not keep the keeper from the others. */
    private void loseGuarded(Claim claim, LossCause cause, int nodeIndex) {
        try {
            lose(claim, LeaseState.LOST, ReleaseOutcome.EXPIRED, ExtendOutcome.LOST, cause, nodeIndex);
        } catch (RuntimeException | Error e) {
            Log.error("the release of a lost lease threw; its keys expire with their ttl", e);
        }
    }

    private static boolean isHeld(LeaseHandle lease) {
        return lease.claim != null && lease.claim.phase == Claim.Phase.HELD;
    }

    /** Removes a holder node of a held lease; without a quorum of holder nodes the lease is lost. */
    void dropHolder(Claim claim, int nodeIndex, LossCause cause) {
        if ((claim.holderMask & 1L << nodeIndex) != 0) {
            telemetry.onHolderDropped(claim, nodeIndex, cause);
        }
        claim.holderMask &= ~(1L << nodeIndex);
        if (!services.majority.isReachedBy(claim.holderMask)) {
            loseGuarded(claim, cause, nodeIndex);
        }
    }

    /** Ends a lease that may have been interrupted, because of a node. */
    void lose(Claim claim, int nodeIndex, LossCause cause) {
        loseGuarded(claim, cause, nodeIndex);
    }

    /** Revokes the grants of a node: leases without a quorum of other holder nodes are lost. */
    void revoke(NodeView node, LossCause cause) {
        int nodeIndex = node.index();
        LeaseHandle lease = firstHeld;
        while (lease != null) {
            LeaseHandle next = lease.nextHeld;
            Claim claim = lease.claim;
            if (services.isNodeOf(claim, node)) {
                extensions.revoke(claim, nodeIndex, cause);
            }
            // A listener may have released the next lease: then the scan starts again, which is harmless.
            lease = next != null && !isHeld(next) ? firstHeld : next;
        }
    }
}
