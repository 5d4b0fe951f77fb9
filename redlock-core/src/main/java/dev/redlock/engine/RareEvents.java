package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.NodeView;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.AcquireTimes;
import dev.redlock.telemetry.Jfr;
import dev.redlock.telemetry.LeaseLostEvent;
import dev.redlock.telemetry.NodeStateEvent;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.RetentionEndedEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.telemetry.WakeupEvent;
import dev.redlock.time.NanoClock;
import java.util.Arrays;
import java.util.concurrent.Executor;

/**
 * Receives the events of one event loop that few locks have, and passes events to the receivers that are off by
 * default: acquire times, reports and JDK Flight Recorder. JFR gets objects of the pooled claims and acquisitions, so
 * it allocates nothing for an event below its threshold.
 *
 * @threading event-loop-confined, except {@link #flightRecord} and {@link #startAcquireTimes}
 */
final class RareEvents {

    /** Null without JFR. */
    final SharedStarts<AcquireEvent> acquireStarts = Jfr.IS_PRESENT ? new SharedStarts<>(AcquireEvent::new) : null;
    final SharedStarts<ReleaseEvent> releaseStarts = Jfr.IS_PRESENT ? new SharedStarts<>(ReleaseEvent::new) : null;
    /** Null until somebody wants to read them. */
    volatile AcquireTimes acquireTimes;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final NanoClock clock;
    private final String[] addresses;
    private final NodeState[] nodeStates;
    private final FlightReports reports;

    RareEvents(LoopTelemetry telemetry, ClientConfig config, ConductorCounters counters, NanoClock clock,
            Executor executor) {
        this.telemetry = telemetry;
        this.counters = counters;
        this.clock = clock;
        this.addresses = config.nodes().addresses().stream().map(Object::toString).toArray(String[]::new);
        this.nodeStates = new NodeState[addresses.length];
        Arrays.fill(nodeStates, NodeState.WAITING);
        this.reports = new FlightReports(executor, this::flightRecord, config.loops());
    }

    // ---- for the client ---------------------------------------------------------------------------------------------

    /** Takes a copy of the last events, on any thread; null if the flight recorder is off. */
    FlightRecord flightRecord() {
        return telemetry.ring == null
                ? null
                : new FlightRecord(telemetry.ring.copy(), addresses, clock.nanoTime());
    }

    /** Starts to record acquire times, unless they are recorded already; on any thread. */
    synchronized AcquireTimes startAcquireTimes() {
        if (acquireTimes == null) {
            acquireTimes = new AcquireTimes(AcquireOutcome.Kind.values().length);
        }
        return acquireTimes;
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    /** Adds an event at the last time that was read. */
    private void add(FlightEvent event, int number, int nodeIndex, int detail, long value, Object subject) {
        telemetry.ring.add(telemetry.lastNs, event.ordinal(), number, nodeIndex, detail, value,
                LoopTelemetry.kept(subject));
    }

    /** Adds an event that need not follow a read, now. */
    private void record(FlightEvent event, int number, int nodeIndex, int detail, long value, Object subject) {
        if (telemetry.ring != null) {
            telemetry.readTime();
            add(event, number, nodeIndex, detail, value, subject);
        }
    }

    /** An attempt asks more nodes. */
    void onAskedOthers(Claim claim, long askedMask) {
        record(FlightEvent.ASKED_OTHERS, claim.number, 0, 0, askedMask, null);
    }

    /** The node timeout of an attempt has passed. */
    void onSilent(Claim claim, long silentMask) {
        if (silentMask != 0) {
            record(FlightEvent.SILENT, claim.number, 0, 0, silentMask, null);
        }
    }

    /** An attempt fails; its rollback follows. */
    void onAttemptFailing(Claim claim, AcquireOutcome.Kind reason) {
        record(FlightEvent.ATTEMPT_FAILED, claim.number, 0, reason.ordinal(), 0, claim.key);
    }

    /** An acquisition has failed, or a receiver waits for the end of any. */
    void onAcquireEnded(PendingAcquire pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        LeaseHandle lease = pending.lease;
        boolean isAcquired = kind == AcquireOutcome.Kind.ACQUIRED;
        long endNs = isAcquired ? lease.acquiredNs : telemetry.clockNs();
        long durationNs = pending.isStarted() ? endNs - pending.startNs : 0;
        addTime(kind, durationNs);
        if (telemetry.ring != null && !isAcquired) {
            telemetry.setTime(endNs);
            add(FlightEvent.NOT_ACQUIRED, 0, 0, kind.ordinal(), durationNs, lease.key);
        }
        if (durationNs >= telemetry.slowAcquireNs) {
            reports.onSlowAcquire(lease.key, kind, durationNs, endNs);
        }
        if (pending.start != null) {
            if (acquireStarts.isDue(pending.start, endNs)) {
                commit(pending.start.event(), lease, kind, reason);
            }
            acquireStarts.release(pending.start);
            pending.start = null;
        }
    }

    private void addTime(AcquireOutcome.Kind kind, long durationNs) {
        AcquireTimes times = acquireTimes;
        if (times != null) {
            times.add(kind.ordinal(), durationNs);
        }
    }

    /** An acquisition ends before it starts, because a limit is reached. */
    void onAcquireRejected(LeaseHandle lease, AcquireOutcome.Kind kind) {
        counters.add(ConductorCounters.OUTCOME_FIRST + kind.ordinal(), 1);
        addTime(kind, 0);
        if (Jfr.IS_PRESENT && Jfr.ACQUIRE.isEnabled()) {
            try {
                AcquireEvent event = new AcquireEvent();
                if (event.shouldCommit()) {
                    commit(event, lease, kind, kind);
                }
            } catch (RuntimeException | Error e) {
                drop(e);
            }
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
            event.fenced = lease.spec.isFenced;
            event.validity = isAcquired ? lease.validUntilNs - lease.acquiredNs : 0;
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    /** A node has not deleted the key of a lease: it had another token or none, or it did not answer. */
    void onNotDeleted(Claim claim, int nodeIndex, Vote vote) {
        record(vote == Vote.REFUSED ? FlightEvent.NOT_DELETED : FlightEvent.RELEASE_UNANSWERED, claim.number,
                nodeIndex, 0, 0, null);
    }

    /** A lease is released, and its lock stays for now: no node is asked. */
    void onKept(Claim claim) {
        telemetry.onReleaseStarted(claim, telemetry.clockNs());
        telemetry.onReleaseEnded(claim, ReleaseOutcome.KEPT);
    }

    /** A lease is released, and the client retains its lock. */
    void onRetained(Claim claim) {
        telemetry.onReleaseStarted(claim, telemetry.clockNs());
        telemetry.onReleaseEnded(claim, ReleaseOutcome.RETAINED);
    }

    /** A lock is retained no longer. */
    void onRetentionEnded(int number, LockKey key, RetentionEnd cause, long grantCount) {
        record(FlightEvent.RETENTION_ENDED, number, 0, cause.ordinal(), grantCount, key);
        if (Jfr.IS_PRESENT && Jfr.RETENTION_ENDED.isEnabled()) {
            commit(key, cause, grantCount);
        }
    }

    private void commit(LockKey key, RetentionEnd cause, long grantCount) {
        try {
            RetentionEndedEvent event = new RetentionEndedEvent();
            event.resource = key.resource();
            event.cause = cause.name();
            event.localGrants = grantCount;
            event.commit();
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** A release that JFR times has ended. */
    void onTimedRelease(Claim claim, ReleaseOutcome outcome, long nowNs) {
        if (releaseStarts.isDue(claim.releaseStart, nowNs)) {
            commit(claim.releaseStart.event(), claim, outcome);
        }
        releaseStarts.release(claim.releaseStart);
        claim.releaseStart = null;
    }

    private static void commit(ReleaseEvent event, Claim claim, ReleaseOutcome outcome) {
        Round round = claim.round;
        // A lock that is kept or retained has asked no node.
        long votes = outcome == ReleaseOutcome.KEPT || outcome == ReleaseOutcome.RETAINED ? 0 : -1;
        try {
            event.resource = claim.key.resource();
            event.outcome = outcome.name();
            event.deleted = Long.bitCount(round.granted() & votes);
            event.notHeld = Long.bitCount(round.refused() & votes);
            event.failed = Long.bitCount(round.failed() & votes);
            event.unknown = Long.bitCount(round.unknown() & votes);
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- held leases ------------------------------------------------------------------------------------------------

    /** A node is no holder of a lease any more. */
    void onHolderDropped(Claim claim, int nodeIndex, LossCause cause) {
        record(FlightEvent.HOLDER_DROPPED, claim.number, nodeIndex, cause.ordinal(), 0, claim.key);
    }

    /** A held lease is lost or expired. */
    void onLeaseLost(LeaseHandle lease, LockKey key, int number, LeaseState state, LossCause cause,
            int nodeIndex) {
        counters.add(state == LeaseState.LOST ? ConductorCounters.LOST : ConductorCounters.EXPIRED, 1);
        if (telemetry.ring != null) {
            long nowNs = telemetry.readTime();
            add(FlightEvent.LEASE_ENDED, number, 0, state.ordinal(), nowNs - lease.acquiredNs, key);
            if (state == LeaseState.LOST && cause != LossCause.LOOP_ENDED) {
                reports.onLost(key, number, cause, nowNs);
            }
        }
        if (Jfr.IS_PRESENT && Jfr.LEASE_LOST.isEnabled()) {
            commit(key, state, cause, nodeIndex, telemetry.clockNs() - lease.acquiredNs);
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
        record(FlightEvent.NODE_STATE, 0, node.index(), state.ordinal(), before.ordinal(),
                state == NodeState.READY ? null : node.problem());
        if (Jfr.IS_PRESENT && Jfr.NODE_STATE.isEnabled()) {
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
        onWakeup(FlightEvent.WOKEN, ConductorCounters.WOKEN, key, nodeIndex, "WOKEN");
    }

    /** A push of a node wakes nobody; the key is null if nobody waits for it. */
    void onSpuriousPush(LockKey key, int nodeIndex) {
        onWakeup(FlightEvent.SPURIOUS_PUSH, ConductorCounters.SPURIOUS_PUSH, key, nodeIndex, "SPURIOUS");
    }

    /** A waiter tries again because no push came. */
    void onBackstop(LockKey key) {
        onWakeup(FlightEvent.BACKSTOP, ConductorCounters.BACKSTOP, key, LossCause.NO_NODE, "BACKSTOP");
    }

    private void onWakeup(FlightEvent event, int counter, LockKey key, int nodeIndex, String kind) {
        counters.add(counter, 1);
        record(event, 0, Math.max(0, nodeIndex), 0, 0, key);
        if (Jfr.IS_PRESENT && Jfr.WAKEUP.isEnabled()) {
            commitWakeup(key, nodeIndex, kind);
        }
    }

    private void commitWakeup(LockKey key, int nodeIndex, String kind) {
        try {
            WakeupEvent event = new WakeupEvent();
            event.resource = key == null ? null : key.resource();
            event.node = nodeIndex == LossCause.NO_NODE ? null : addresses[nodeIndex];
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
    static void drop(Throwable thrown) {
        assert thrown != null;
    }
}
