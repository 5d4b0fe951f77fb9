package dev.redlock.engine;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import java.util.random.RandomGenerator;

/**
 * Tracks held leases. It ends them with their validity, and extends them automatically within their limits.
 * {@link LeaseLoss} ends those that are lost, {@link KeptLocks} those that have to hold their lock for longer.
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
    final LeaseLoss loss;
    final LossWatch lossWatch;
    final KeptLocks kept;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final RenewalSpread spread;
    /** Those who wait for the ends of leases. Set before the first lease. */
    Waiters waiters;
    /** Leases that the client may have to extend, held or being acquired. */
    int extendableCount;
    private LeaseHandle firstHeld;

    LeaseKeeper(LoopServices services, ClaimPool claims, ReleaseTally tally, RandomGenerator random) {
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.counters = services.counters;
        this.extensions = new ExtendOperation(services, this);
        this.loss = new LeaseLoss(services, this);
        this.kept = new KeptLocks(services, this);
        this.lossWatch = new LossWatch(services, this);
        this.releases = new ReleaseOperation(services, claims, this, tally);
        this.spread = new RenewalSpread(random);
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

    void track(LeaseHandle lease, Claim claim) {
        claim.lease = lease;
        lease.claim = claim;
        lease.previousHeld = null;
        lease.nextHeld = firstHeld;
        if (firstHeld != null) {
            firstHeld.previousHeld = lease;
        }
        firstHeld = lease;
        counters.add(ConductorCounters.HELD, 1);
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
        counters.add(ConductorCounters.HELD, -1);
        extendableCount -= lease.isExtendable() ? 1 : 0;
    }

    void scheduleNext(Claim claim, long nowNs, long extendInNs) {
        LeaseHandle lease = claim.lease;
        long leftNs = lease.validUntilNs - nowNs;
        // If a caller has extended beyond the ttl, an automatic extension by the ttl would shorten the validity.
        boolean isBeyondTtl = nowNs + lease.times.validityNs - lease.validUntilNs < 0;
        long dueInNs = isBeyondTtl ? Math.max(extendInNs, untilThirdNs(lease, nowNs)) : extendInNs;
        boolean isExtensionFirst = mayExtend(lease, nowNs) && dueInNs < leftNs;
        startHoldTimer(claim, nowNs + (isExtensionFirst ? dueInNs : leftNs));
    }

    /** Time until a third of the ttl has passed, as seen from the end of the validity. */
    static long untilThirdNs(LeaseHandle lease, long nowNs) {
        long ttlNs = lease.ttlMs * NS_PER_MS;
        return lease.validUntilNs - nowNs - (ttlNs - ttlNs / EXTEND_AFTER_DIVISOR);
    }

    private void startHoldTimer(Claim claim, long atNs) {
        LeaseHandle lease = claim.lease;
        boolean isKeptLess = lease.isKept && lease.keepUntilNs() - atNs < 0;
        timers.start(claim.holdTimer, isKeptLess ? lease.keepUntilNs() : atNs);
    }

    private static boolean mayExtend(LeaseHandle lease, long nowNs) {
        if (lease.isKept) {
            return lease.validUntilNs - lease.keepUntilNs() < 0;
        }
        return lease.extensionCount < lease.spec.extensionCountMax && nowNs - lease.acquiredNs < lease.spec.holdNsMax;
    }

    void onHoldTimer(Claim claim, long nowNs) {
        LeaseHandle lease = claim.lease;
        if (lease.isKept && lease.keepUntilNs() - nowNs <= 0) {
            releases.releaseNow(lease);
            return;
        }
        if (lease.validUntilNs - nowNs <= 0) {
            loss.expire(claim);
            return;
        }
        boolean isExtensionDue = !claim.isExtending && mayExtend(lease, nowNs);
        startHoldTimer(claim, lease.validUntilNs);
        if (isExtensionDue) {
            startExtension(claim, lease.isKept ? kept.ttlMsToKeep(lease, nowNs) : lease.ttlMs);
        }
    }

    /** Starts an extension for a caller; an extension in progress ends first. */
    void extend(LeaseHandle lease) {
        Claim claim = lease.claim;
        boolean isHeld = claim != null && claim.phase == Claim.Phase.HELD;
        boolean isOver = !isHeld || lease.validUntilNs - clock.nanoTime() <= 0;
        if (isOver && lease.isInCall()) {
            // A callback never runs inside the call that passed it.
            lease.deferToNextTurn(lease.loop(), RequestMailbox.EXTEND);
            return;
        }
        lease.setExtendState(LeaseHandle.ExtendState.ACCEPTED);
        if (!isHeld) {
            boolean isLost = lease.storedState() == LeaseState.EXPIRED || lease.storedState() == LeaseState.LOST;
            lease.completeExtend(isLost ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD);
        } else if (isOver) {
            loss.expire(claim);
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
        boolean isManual = lease.extendState == LeaseHandle.ExtendState.STARTED;
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
}
