package dev.redlock.engine;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.engine.watch.ConductorCounters;
import dev.redlock.engine.watch.LoopTelemetry;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * Tracks held leases and their extensions. {@link Renewals} extends them automatically, {@link LeaseLoss} ends those
 * that are lost, {@link KeptLocks} those that have to hold their lock for longer.
 *
 * @threading event-loop-confined
 */
final class LeaseKeeper {

    // Its parts, which call each other in circles: set once, before the first lease.
    ReleaseOperation releases;
    ExtendOperation extensions;
    LeaseLoss loss;
    Unclaimed unclaimed;
    LossWatch lossWatch;
    KeptLocks kept;
    Renewals renewals;
    private final NanoClock clock;
    private final TimerWheel timers;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final CallbackExecutor callbacks;
    /** Those who wait for the ends of leases, and the locks that stay after them. Set before the first lease. */
    Waiters waiters;
    Retention retention;
    /** Leases that the client may have to extend, held or being acquired. */
    int extendableCount;
    LeaseHandle firstHeld;
    /** The next lease of {@link #forEachHeld}; null without a scan. */
    private LeaseHandle scanNext;

    private LeaseKeeper(LoopServices services) {
        this.clock = services.clock;
        this.timers = services.timers;
        this.telemetry = services.telemetry;
        this.counters = services.counters;
        this.callbacks = services.config.loops().callbacks();
    }

    /** Wires the keeper to its parts. */
    static LeaseKeeper create(LoopServices services, ClaimPool claims, ReleaseTally tally, RandomGenerator random) {
        LeaseKeeper created = new LeaseKeeper(services);
        created.connect(services, claims, tally, new RenewalSpread(random));
        return created;
    }

    /** Each part gets what it needs. None uses the keeper in its constructor. */
    private void connect(LoopServices services, ClaimPool claims, ReleaseTally tally, RenewalSpread spread) {
        extensions = new ExtendOperation(services, this);
        loss = new LeaseLoss(services, this);
        unclaimed = new Unclaimed(services, this);
        kept = new KeptLocks(services, this);
        lossWatch = new LossWatch(services, this);
        releases = new ReleaseOperation(services, claims, this, tally);
        renewals = new Renewals(services, this, spread);
    }

    int heldCount() {
        return (int) counters.read(ConductorCounters.HELD);
    }

    /** Starts to track a lease that is held from now on. */
    void hold(LeaseHandle lease, Claim claim, long nowNs) {
        lease.acquiredNs = nowNs;
        lease.setValidUntilNs(claim.validUntilNs);
        track(lease, claim);
        if (lease.isExtendable()) {
            renewals.start(claim, nowNs);
        } else {
            timers.start(claim.holdTimer, lease.validUntilNs);
        }
        if (lease.spec.isLossWatched) {
            lossWatch.start(claim);
        }
    }

    void track(LeaseHandle lease, Claim claim) {
        claim.belongTo(lease);
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
        if (lease.spec.isLossWatched) {
            lossWatch.stop(claim);
        }
        scanNext = scanNext == lease ? lease.nextHeld : scanNext;
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

    /**
     * Passes the claim of each held lease to an action. Its listeners may end any lease. A lease that starts meanwhile
     * is left out: it only keeps a lock without a holder, because no node replies inside the action.
     */
    void forEachHeld(Consumer<Claim> action) {
        LeaseHandle outerNext = scanNext;
        scanNext = firstHeld;
        try {
            while (scanNext != null) {
                Claim claim = scanNext.claim;
                scanNext = scanNext.nextHeld;
                action.accept(claim);
            }
        } finally {
            // The next lease of an outer scan may have ended. That scan starts again: a second visit changes nothing.
            scanNext = outerNext == null ? null : firstHeld;
        }
    }

    /** Starts an extension for a caller; an extension in progress ends first. */
    void extend(LeaseHandle lease) {
        Claim claim = lease.claim;
        boolean isHeld = claim != null && claim.phase == Claim.Phase.HELD;
        if (!isHeld || lease.validUntilNs - clock.nanoTime() <= 0) {
            refuseExtension(lease, isHeld);
            return;
        }
        lease.setExtendState(LeaseHandle.ExtendState.ACCEPTED);
        if (!claim.isExtending()) {
            lease.setExtendState(LeaseHandle.ExtendState.STARTED);
            startExtension(claim, lease.extendTtlMs);
        }
    }

    /** The lease has ended, or its validity has. */
    private void refuseExtension(LeaseHandle lease, boolean isHeld) {
        if (lease.isInCall()) {
            // A callback never runs inside the call that passed it.
            lease.deferToNextTurn(lease.loop(), RequestMailbox.EXTEND);
            return;
        }
        lease.setExtendState(LeaseHandle.ExtendState.ACCEPTED);
        if (isHeld) {
            loss.expire(lease.claim);
        } else {
            boolean isLost = lease.storedState() == LeaseState.EXPIRED || lease.storedState() == LeaseState.LOST;
            lease.completeExtend(isLost ? ExtendOutcome.EXPIRED : ExtendOutcome.NOT_HELD);
        }
    }

    void startExtension(Claim claim, long ttlMs) {
        try {
            extensions.start(claim, ttlMs);
        } catch (RuntimeException | Error e) {
            onStartFailed(claim);
            throw e;
        }
    }

    /** An extension without an end would block all later ones. */
    private void onStartFailed(Claim claim) {
        extensions.stop(claim);
        if (!claim.lease.isInCall()) {
            // Otherwise its request tries again.
            onExtended(claim, ExtendOutcome.NOT_EXTENDED);
        }
    }

    /** An extension round has ended, and the lease is still held. */
    void onExtended(Claim claim, ExtendOutcome outcome) {
        LeaseHandle lease = claim.lease;
        long nowNs = clock.nanoTime();
        boolean isSuccess = outcome == ExtendOutcome.EXTENDED;
        telemetry.onExtensionEnded(claim, outcome, nowNs);
        boolean isManual = lease.extendState == LeaseHandle.ExtendState.STARTED;
        boolean isCounted = isSuccess && !isManual && !claim.extension.isRepair;
        if (isCounted) {
            claim.extension.automaticCount++;
        }
        if (lease.isExtendable()) {
            renewals.startAgain(claim, nowNs, isSuccess);
        } else {
            timers.start(claim.holdTimer, lease.validUntilNs);
        }
        if (lease.spec.isLossWatched) {
            lossWatch.onExtended(claim);
        }
        if (isManual) {
            lease.completeExtend(outcome);
        } else if (isCounted && lease.spec.listener != null) {
            callbacks.notifyExtended(lease.spec.listener, lease, claim.extension.automaticCount);
        }
        if (lease.isExtensionAccepted() && lease.claim == claim && !claim.isExtending()) {
            extend(lease);
        }
    }
}
