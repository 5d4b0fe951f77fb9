package dev.redlock.engine.watch;

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
import dev.redlock.telemetry.AcquireTimesRecorder;
import dev.redlock.telemetry.GroupTable;
import dev.redlock.telemetry.Jfr;
import dev.redlock.telemetry.LeaseLostEvent;
import dev.redlock.telemetry.LoopGroups;
import dev.redlock.telemetry.NodeStateEvent;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.RetentionEndedEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.telemetry.WakeupEvent;
import dev.redlock.time.NanoClock;
import dev.redlock.time.TimerWheel;
import java.util.concurrent.Executor;

/**
 * Receives the events of one event loop that few locks have, and passes events to the receivers that are off by
 * default: acquire times, groups, reports and JDK Flight Recorder. JFR gets objects of the pooled claims and
 * acquisitions, so it allocates nothing for an event below its threshold.
 *
 * @threading event-loop-confined, except {@link #flightRecord}, {@link #startAcquireTimes} and {@link #onLocalGrant}
 */
public final class RareEvents {

    /**
     * What an event has of one server of a cluster.
     *
     * @param problem null if there is none
     * @threading immutable
     */
    record ServerState(String name, String problem) {
    }

    /** Bounds the time that a report takes on the event loop, while the user's ring may have 2^20 events. */
    private static final int REPORT_EVENTS_MAX = 4096;

    /** Null without JFR. */
    final SharedStarts<AcquireEvent> acquireStarts = Jfr.IS_PRESENT ? new SharedStarts<>(AcquireEvent::new) : null;
    final SharedStarts<ReleaseEvent> releaseStarts = Jfr.IS_PRESENT ? new SharedStarts<>(ReleaseEvent::new) : null;
    /** Null until somebody wants to read them. */
    volatile AcquireTimesRecorder acquireTimes;
    private final LoopTelemetry telemetry;
    private final ConductorCounters counters;
    private final NanoClock clock;
    private final String[] addresses;
    private final FlightReports reports;
    private final Executor executor;
    /** Set before the client connects. */
    private LoopGroups groups;

    RareEvents(LoopTelemetry telemetry, TelemetrySetup setup, ConductorCounters counters, NanoClock clock,
            Executor executor) {
        this.telemetry = telemetry;
        this.counters = counters;
        this.clock = clock;
        this.addresses = setup.addresses().toArray(String[]::new);
        this.reports = new FlightReports(executor, this::reportedRecord, setup);
        this.executor = executor;
    }

    /** The groups of the client, which its event loops share; this one has an index. Before the start. */
    public void shareGroups(GroupTable table, int loopIndex) {
        groups = new LoopGroups(table, loopIndex, executor);
    }

    /** Sets the timers of the event loop. Before the start. */
    public void useTimers(TimerWheel timers) {
        reports.useTimers(timers);
    }

    // ---- for the client ---------------------------------------------------------------------------------------------

    /** Takes a copy of the last events, on any thread; null if the flight recorder is off. */
    public FlightRecord flightRecord() {
        return telemetry.ring == null
                ? null
                : new FlightRecord(telemetry.ring.copy(), addresses, clock.nanoTime());
    }

    private FlightRecord reportedRecord() {
        return new FlightRecord(telemetry.ring.copy(REPORT_EVENTS_MAX), addresses, clock.nanoTime());
    }

    /** Starts to record acquire times, unless they are recorded already; on any thread. */
    public synchronized AcquireTimesRecorder startAcquireTimes() {
        if (acquireTimes == null) {
            acquireTimes = new AcquireTimesRecorder(AcquireOutcome.Kind.values().length);
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
    public void onAskedOthers(ClaimView claim, long askedMask) {
        record(FlightEvent.ASKED_OTHERS, claim.number(), 0, 0, askedMask, null);
    }

    /** The node timeout of an attempt has passed. */
    public void onSilent(ClaimView claim, long silentMask) {
        if (silentMask != 0) {
            record(FlightEvent.SILENT, claim.number(), 0, 0, silentMask, null);
        }
    }

    /** An attempt fails; its rollback follows. */
    public void onAttemptFailing(ClaimView claim, AcquireOutcome.Kind reason) {
        record(FlightEvent.ATTEMPT_FAILED, claim.number(), 0, reason.ordinal(), 0, claim.key());
    }

    /** An acquisition has failed, or a receiver waits for the end of any. */
    void onAcquireEnded(AcquisitionView pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        boolean isAcquired = kind == AcquireOutcome.Kind.ACQUIRED;
        long endNs = isAcquired ? pending.acquiredNs() : telemetry.clockNs();
        long durationNs = pending.isStarted() ? endNs - pending.startNs() : 0;
        addTime(pending.group(), kind, durationNs);
        if (telemetry.ring != null && !isAcquired) {
            telemetry.setTime(endNs);
            add(FlightEvent.NOT_ACQUIRED, 0, 0, kind.ordinal(), durationNs, pending.key());
        }
        if (durationNs >= telemetry.slowAcquireNs) {
            reports.onSlowAcquire(pending.key(), kind, durationNs, endNs);
        }
        SharedStarts.Start<AcquireEvent> start = pending.start();
        if (start != null) {
            if (acquireStarts.isDue(start, endNs)) {
                commit(start.event(), pending.key(), pending.outcome(), pending.isFenced(), kind, reason,
                        isAcquired ? pending.validUntilNs() - endNs : 0);
            }
            acquireStarts.release(start);
        }
    }

    /** The first outcome of its kind needs memory. */
    private void addTime(String group, AcquireOutcome.Kind kind, long durationNs) {
        AcquireTimesRecorder times = acquireTimes;
        try {
            if (times != null) {
                times.add(kind.ordinal(), durationNs);
            }
            if (group != null) {
                groups.add(group, kind.ordinal(), durationNs);
            }
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** An acquisition of a group has got a lock that the client retains, on any thread. */
    public void onLocalGrant(String group) {
        try {
            groups.addLocalGrant(group);
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** An acquisition ends before it starts, because a limit is reached. The group is null without one. */
    public void onAcquireRejected(LockKey key, AcquireOutcome outcome, boolean isFenced, String group,
            AcquireOutcome.Kind kind) {
        counters.add(ConductorCounters.OUTCOME_FIRST + kind.ordinal(), 1);
        addTime(group, kind, 0);
        if (Jfr.IS_PRESENT && Jfr.ACQUIRE.isEnabled()) {
            try {
                AcquireEvent event = new AcquireEvent();
                if (event.shouldCommit()) {
                    commit(event, key, outcome, isFenced, kind, kind, 0);
                }
            } catch (RuntimeException | Error e) {
                drop(e);
            }
        }
    }

    private static void commit(AcquireEvent event, LockKey key, AcquireOutcome outcome, boolean isFenced,
            AcquireOutcome.Kind kind, AcquireOutcome.Kind reason, long validityNs) {
        try {
            event.resource = key.resource();
            event.outcome = kind.name();
            event.lastReason = kind == reason ? null : reason.name();
            event.attempts = outcome.attemptCount();
            event.granted = outcome.grantedCount();
            event.refused = outcome.refusedCount();
            event.failed = outcome.failedCount();
            event.unknown = outcome.unknownCount();
            event.fenced = isFenced;
            event.validity = validityNs;
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    /** A node has not deleted the key of a lease: it had another token or none, or it did not answer. */
    public void onNotDeleted(ClaimView claim, int nodeIndex, Vote vote) {
        record(vote == Vote.REFUSED ? FlightEvent.NOT_DELETED : FlightEvent.RELEASE_UNANSWERED, claim.number(),
                nodeIndex, 0, 0, null);
    }

    /** A lease is released, and its lock stays for now: no node is asked. */
    public void onKept(ClaimView claim) {
        endAtOnce(claim, ReleaseOutcome.KEPT);
    }

    private void endAtOnce(ClaimView claim, ReleaseOutcome outcome) {
        telemetry.onReleaseEnded(claim, telemetry.onReleaseStarted(claim, telemetry.clockNs()), outcome);
    }

    /** A lease is released, and the client retains its lock. */
    public void onRetained(ClaimView claim) {
        endAtOnce(claim, ReleaseOutcome.RETAINED);
    }

    /** A lock is retained no longer. */
    public void onRetentionEnded(int number, LockKey key, RetentionEnd cause, long grantCount) {
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
    void onTimedRelease(ClaimView claim, SharedStarts.Start<ReleaseEvent> start, ReleaseOutcome outcome, long nowNs) {
        if (releaseStarts.isDue(start, nowNs)) {
            commit(start.event(), claim, outcome);
        }
        releaseStarts.release(start);
    }

    private static void commit(ReleaseEvent event, ClaimView claim, ReleaseOutcome outcome) {
        Round round = claim.votes();
        // A lock that is kept or retained has asked no node.
        long votes = outcome == ReleaseOutcome.KEPT || outcome == ReleaseOutcome.RETAINED ? 0 : -1;
        try {
            event.resource = claim.key().resource();
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
    public void onHolderDropped(ClaimView claim, int nodeIndex, LossCause cause) {
        record(FlightEvent.HOLDER_DROPPED, claim.number(), nodeIndex, cause.ordinal(), 0, claim.key());
    }

    /** A held lease is lost or expired. */
    public void onLeaseLost(long acquiredNs, LockKey key, int number, LeaseState state, LossCause cause,
            int nodeIndex) {
        counters.add(state == LeaseState.LOST ? ConductorCounters.LOST : ConductorCounters.EXPIRED, 1);
        if (telemetry.ring != null) {
            long nowNs = telemetry.readTime();
            add(FlightEvent.LEASE_ENDED, number, 0, state.ordinal(), nowNs - acquiredNs, key);
            if (state == LeaseState.LOST && cause != LossCause.LOOP_ENDED) {
                reports.onLost(key, number, cause, nowNs);
            }
        }
        if (Jfr.IS_PRESENT && Jfr.LEASE_LOST.isEnabled()) {
            commit(key, state, cause, nodeIndex, telemetry.clockNs() - acquiredNs);
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

    /** A node has another state. The servers of a cluster share an index, so the event has the name of one of them. */
    public void onNodeState(NodeView node, NodeState before, NodeState state) {
        String problem = state == NodeState.READY ? null : node.problem();
        record(FlightEvent.NODE_STATE, 0, node.index(), state.ordinal(), before.ordinal(),
                node.name().equals(addresses[node.index()]) ? problem : new ServerState(node.name(), problem));
        if (Jfr.IS_PRESENT && Jfr.NODE_STATE.isEnabled()) {
            commit(node, before, state);
        }
    }

    private void commit(NodeView node, NodeState before, NodeState state) {
        try {
            NodeStateEvent event = new NodeStateEvent();
            event.node = node.name();
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
    public void onWoken(LockKey key, int nodeIndex) {
        onWakeup(FlightEvent.WOKEN, ConductorCounters.WOKEN, key, nodeIndex, "WOKEN");
    }

    /** A push of a node wakes nobody; the key is null if nobody waits for it. */
    public void onSpuriousPush(LockKey key, int nodeIndex) {
        onWakeup(FlightEvent.SPURIOUS_PUSH, ConductorCounters.SPURIOUS_PUSH, key, nodeIndex, "SPURIOUS");
    }

    /** A waiter tries again because no push came. */
    public void onBackstop(LockKey key) {
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
