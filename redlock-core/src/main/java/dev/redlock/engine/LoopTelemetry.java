package dev.redlock.engine;

import dev.redlock.AcquireOutcome;
import dev.redlock.LeaseState;
import dev.redlock.NodeState;
import dev.redlock.ReleaseOutcome;
import dev.redlock.node.NodeView;
import dev.redlock.quorum.Round;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.Jfr;
import dev.redlock.telemetry.LeaseLostEvent;
import dev.redlock.telemetry.NodeStateEvent;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.WakeupEvent;
import java.util.Arrays;

/**
 * Receives each event of one event loop once, and passes it to the counters and to JDK Flight Recorder. It decides
 * nothing: without it, every lock works the same.
 *
 * <p>The hot methods are a counter and a branch for each receiver that is off. A receiver that is on gets objects of
 * the pooled claims and acquisitions, so it allocates nothing for an event below its threshold.
 *
 * @threading event-loop-confined
 */
final class LoopTelemetry {

    private final Conductor conductor;
    private final ConductorCounters counters;
    private final String[] addresses;
    private final NodeState[] nodeStates;

    LoopTelemetry(Conductor conductor) {
        this.conductor = conductor;
        this.counters = conductor.counters();
        this.addresses = conductor.config().nodes().stream().map(Object::toString).toArray(String[]::new);
        this.nodeStates = new NodeState[addresses.length];
        Arrays.fill(nodeStates, NodeState.WAITING);
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    /** An acquisition starts. */
    void onAcquireStarted(PendingAcquire pending) {
        if (Jfr.IS_PRESENT && Jfr.isAcquireEnabled()) {
            startTiming(pending);
        }
    }

    private static void startTiming(PendingAcquire pending) {
        if (pending.event == null) {
            pending.event = new AcquireEvent();
        }
        pending.event.begin();
        pending.isTimed = true;
    }

    /** An acquisition ends; its votes are recorded. */
    void onAcquireEnded(PendingAcquire pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        counters.onOutcome(kind);
        if (pending.isTimed) {
            pending.event.end();
            if (pending.event.shouldCommit()) {
                commit(pending.event, pending.lease, kind, reason);
            }
        }
    }

    /** An acquisition ends before it starts, because a limit is reached. */
    void onAcquireRejected(LeaseHandle lease, AcquireOutcome.Kind kind) {
        counters.onOutcome(kind);
        if (Jfr.IS_PRESENT && Jfr.isAcquireEnabled()) {
            commitRejection(lease, kind);
        }
    }

    private static void commitRejection(LeaseHandle lease, AcquireOutcome.Kind kind) {
        try {
            AcquireEvent event = new AcquireEvent();
            if (event.shouldCommit()) {
                commit(event, lease, kind, kind);
            }
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    private static void commit(AcquireEvent event, LeaseHandle lease, AcquireOutcome.Kind kind,
            AcquireOutcome.Kind reason) {
        boolean isAcquired = kind == AcquireOutcome.Kind.ACQUIRED;
        try {
            event.resource = lease.resource();
            event.outcome = kind.name();
            event.lastReason = kind == reason ? null : reason.name();
            event.attempts = lease.attemptCount();
            event.granted = lease.grantedCount();
            event.refused = lease.refusedCount();
            event.failed = lease.failedCount();
            event.unknown = lease.unknownCount();
            event.fenced = lease.isFenced;
            event.validity = isAcquired ? lease.validUntilNs() - lease.acquiredNs : 0;
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** An attempt has failed. */
    void onAttemptFailed(AcquireOutcome.Kind reason) {
        counters.onAttemptFailed(reason);
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    /** The release of a held lease starts. */
    void onReleaseStarted(Claim claim) {
        claim.isReleaseTimed = false;
        if (Jfr.IS_PRESENT && Jfr.isReleaseEnabled()) {
            startTiming(claim);
        }
    }

    private static void startTiming(Claim claim) {
        try {
            if (claim.releaseEvent == null) {
                claim.releaseEvent = new ReleaseEvent();
            }
            claim.releaseEvent.begin();
            claim.isReleaseTimed = true;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** The release of a lease has an outcome. */
    void onReleaseEnded(Claim claim, ReleaseOutcome outcome) {
        counters.onReleased(outcome);
        if (claim.isReleaseTimed) {
            claim.releaseEvent.end();
            if (claim.releaseEvent.shouldCommit()) {
                commit(claim.releaseEvent, claim, outcome);
            }
        }
    }

    private static void commit(ReleaseEvent event, Claim claim, ReleaseOutcome outcome) {
        Round round = claim.releaseRound;
        try {
            event.resource = claim.key.resource();
            event.outcome = outcome.name();
            event.deleted = Long.bitCount(round.granted());
            event.notHeld = Long.bitCount(round.refused());
            event.failed = Long.bitCount(round.failed());
            event.unknown = Long.bitCount(round.unknown());
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- held leases ------------------------------------------------------------------------------------------------

    /** An extension has succeeded. */
    void onExtended() {
        counters.onExtended();
    }

    /** A held lease is lost or expired. */
    void onLeaseLost(LeaseHandle lease, LockKey key, LeaseState state, LossCause cause, int nodeIndex) {
        counters.onLost(state);
        if (Jfr.IS_PRESENT && Jfr.isLeaseLostEnabled()) {
            commit(key, state, cause, nodeIndex, conductor.nowNs() - lease.acquiredNs);
        }
    }

    private void commit(LockKey key, LeaseState state, LossCause cause, int nodeIndex, long heldNs) {
        try {
            LeaseLostEvent event = new LeaseLostEvent();
            event.resource = key.resource();
            event.state = state.name();
            event.reason = cause.text();
            event.node = nodeIndex == LossCause.NO_NODE ? null : addresses[nodeIndex];
            event.heldFor = heldNs;
            event.commit();
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    /** A node has another state. */
    void onNodeState(NodeView node, NodeState state) {
        NodeState before = nodeStates[node.index()];
        nodeStates[node.index()] = state;
        if (Jfr.IS_PRESENT && Jfr.isNodeStateEnabled()) {
            commit(node, before, state);
        }
    }

    private void commit(NodeView node, NodeState before, NodeState state) {
        try {
            NodeStateEvent event = new NodeStateEvent();
            event.node = addresses[node.index()];
            event.oldState = before.name();
            event.newState = state.name();
            event.reason = state == NodeState.READY ? null : node.problem();
            event.commit();
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- wake-ups ---------------------------------------------------------------------------------------------------

    /** A push of a node wakes the first waiter for a key. */
    void onWoken(LockKey key, int nodeIndex) {
        counters.onWoken();
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, addresses[nodeIndex], "WOKEN");
        }
    }

    /** A push of a node wakes nobody; the key is null if nobody waits for it. */
    void onSpuriousPush(LockKey key, int nodeIndex) {
        counters.onSpuriousPush();
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, addresses[nodeIndex], "SPURIOUS");
        }
    }

    /** A waiter tries again because no push came. */
    void onBackstop(LockKey key) {
        counters.onBackstop();
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, null, "BACKSTOP");
        }
    }

    private static void commitWakeup(LockKey key, String address, String kind) {
        try {
            WakeupEvent event = new WakeupEvent();
            event.resource = key == null ? null : key.resource();
            event.node = address;
            event.kind = kind;
            event.commit();
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /**
     * An event is lost for want of memory. A call site may be in the middle of a change of state, so nothing is thrown
     * and no log handler runs.
     */
    private static void drop(Throwable thrown) {
        assert thrown != null;
    }
}
