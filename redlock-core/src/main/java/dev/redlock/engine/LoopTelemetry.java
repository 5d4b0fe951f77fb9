package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.Arrivals;
import dev.redlock.node.NodeView;
import dev.redlock.node.VoteFailure;
import dev.redlock.quorum.Round;
import dev.redlock.quorum.Vote;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.AcquireTimes;
import dev.redlock.telemetry.FlightRing;
import dev.redlock.telemetry.Jfr;
import dev.redlock.telemetry.LeaseLostEvent;
import dev.redlock.telemetry.NodeStateEvent;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.telemetry.WakeupEvent;
import dev.redlock.time.NanoClock;
import java.util.Arrays;
import java.util.concurrent.Executor;

/**
 * Receives each event of one event loop once, and passes it to the counters, to the acquire times, to JDK Flight
 * Recorder and to the flight recorder of this client. It decides nothing: without it, every lock works the same.
 *
 * <p>There is no interface for observers: it would cost a megamorphic call for each event of a lock.
 *
 * <p>The hot methods are a counter and a branch for each receiver that is off. A receiver that is on gets objects of
 * the pooled claims and acquisitions, so it allocates nothing for an event below its threshold.
 *
 * <p>Times in the flight recorder are those that the engine has read anyway. Only the first reply of a read needs one
 * more reading of the clock, for all replies of that read.
 *
 * @threading event-loop-confined, except {@link #flightRecord} and {@link #startAcquireTimes}
 */
final class LoopTelemetry {

    /** The ring refers to the keys of its events, so longer names could fill the heap. */
    private static final int KEPT_NAME_BYTES_MAX = 128;
    private static final Object LONG_NAME = new Object() {
        @Override
        public String toString() {
            return "(a name of more than " + KEPT_NAME_BYTES_MAX + " bytes)";
        }
    };

    private final NanoClock clock;
    private final ConductorCounters counters;
    private final String[] addresses;
    private final NodeState[] nodeStates;
    /** Null if the flight recorder is off. */
    private final FlightRing ring;
    private final FlightReports reports;
    private final long slowAcquireNs;
    /** Null without JFR. */
    private final SharedStarts<AcquireEvent> acquireStarts;
    private final SharedStarts<ReleaseEvent> releaseStarts;
    /** Null until somebody wants to read them. */
    private volatile AcquireTimes acquireTimes;
    private long lastNs;
    private final Arrivals arrivals;
    private int attemptNumber;

    LoopTelemetry(ClientConfig config, ConductorCounters counters, NanoClock clock, Arrivals arrivals,
            Executor executor) {
        this.clock = clock;
        this.arrivals = arrivals;
        this.counters = counters;
        this.addresses = config.nodes().addresses().stream().map(Object::toString).toArray(String[]::new);
        this.nodeStates = new NodeState[addresses.length];
        Arrays.fill(nodeStates, NodeState.WAITING);
        TelemetryOptions options = config.loops().telemetry();
        this.ring = options.flightEventsMax() == 0 ? null : new FlightRing(options.flightEventsMax());
        this.slowAcquireNs = ring == null ? Long.MAX_VALUE : options.slowAcquireNs();
        this.acquireStarts = Jfr.IS_PRESENT ? new SharedStarts<>(AcquireEvent::new) : null;
        this.releaseStarts = Jfr.IS_PRESENT ? new SharedStarts<>(ReleaseEvent::new) : null;
        this.reports = new FlightReports(executor, this::flightRecord,
                options.flightRecordListener());
    }

    // ---- the flight recorder ----------------------------------------------------------------------------------------

    private void add(FlightEvent event, int number, int nodeIndex, int detail, long value, Object subject) {
        ring.add(lastNs, event.ordinal(), number, nodeIndex, detail, value, kept(subject));
    }

    /** Adds an event of a claim and its key, at a time that the engine has read. */
    private void addAt(long nowNs, FlightEvent event, Claim claim, int detail, long value) {
        lastNs = nowNs;
        arrivals.isTimeOld = false;
        ring.add(nowNs, event.ordinal(), claim.number, 0, detail, value, kept(claim.key));
    }

    private static Object kept(Object subject) {
        return subject instanceof LockKey key && key.nameLength() > KEPT_NAME_BYTES_MAX ? LONG_NAME : subject;
    }

    /** For rare events, which need not follow a read. */
    private void readTime() {
        lastNs = clockNs();
        arrivals.isTimeOld = false;
    }

    /** A clock that throws, as in tests, must not harm a lock because of a record. */
    private long clockNs() {
        try {
            return clock.nanoTime();
        } catch (RuntimeException | Error e) {
            drop(e);
            return lastNs;
        }
    }

    /** Takes a copy of the last events, on any thread; null if the flight recorder is off. */
    FlightRecord flightRecord() {
        return ring == null ? null : new FlightRecord(ring.copy(), addresses, clock.nanoTime());
    }

    private void reportSlow(LockKey key, AcquireOutcome.Kind outcome, long durationNs, long nowNs) {
        try {
            reports.onSlowAcquire(key, outcome, durationNs, nowNs);
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    private void reportLost(LockKey key, int number, LossCause cause) {
        try {
            reports.onLost(key, number, cause, lastNs);
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    // ---- acquire times ----------------------------------------------------------------------------------------------

    /** Starts to record acquire times, unless they are recorded already; on any thread. */
    synchronized AcquireTimes startAcquireTimes() {
        if (acquireTimes == null) {
            acquireTimes = new AcquireTimes(AcquireOutcome.Kind.values().length);
        }
        return acquireTimes;
    }

    private void addTime(AcquireOutcome.Kind kind, long durationNs) {
        AcquireTimes times = acquireTimes;
        if (times != null) {
            times.add(kind.ordinal(), durationNs);
        }
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    /** The engine takes an acquisition at a time. */
    void onAcquireStarted(PendingAcquire pending, long nowNs) {
        pending.startNs = nowNs;
        if (Jfr.IS_PRESENT && Jfr.isAcquireEnabled()) {
            pending.start = acquireStarts.start(nowNs);
        }
    }

    /** An acquisition ends; its votes are recorded. */
    void onAcquireEnded(PendingAcquire pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        counters.onOutcome(kind);
        if (ring != null || pending.start != null || acquireTimes != null) {
            recordEnd(pending, kind, reason);
        }
    }

    private void recordEnd(PendingAcquire pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        LeaseHandle lease = pending.lease;
        boolean isAcquired = kind == AcquireOutcome.Kind.ACQUIRED;
        long endNs = isAcquired ? lease.acquiredNs : clockNs();
        long durationNs = pending.isStarted() ? endNs - pending.startNs : 0;
        addTime(kind, durationNs);
        if (ring != null && !isAcquired) {
            lastNs = endNs;
            arrivals.isTimeOld = false;
            add(FlightEvent.NOT_ACQUIRED, 0, 0, kind.ordinal(), durationNs, lease.key);
        }
        if (durationNs >= slowAcquireNs) {
            reportSlow(lease.key, kind, durationNs, endNs);
        }
        if (pending.start != null) {
            if (acquireStarts.isDue(pending.start, endNs)) {
                commit(pending.start.event(), lease, kind, reason);
            }
            acquireStarts.release(pending.start);
            pending.start = null;
        }
    }

    /** An acquisition ends before it starts, because a limit is reached. */
    void onAcquireRejected(LeaseHandle lease, AcquireOutcome.Kind kind) {
        counters.onOutcome(kind);
        addTime(kind, 0);
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
            event.fenced = lease.spec.isFenced;
            event.validity = isAcquired ? lease.validUntilNs() - lease.acquiredNs : 0;
            event.commit();
            event.resource = null;
        } catch (RuntimeException | Error e) {
            drop(e);
        }
    }

    /** An attempt starts at a time. */
    void onAttempt(Claim claim, long nowNs, long askedMask) {
        attemptNumber = attemptNumber == Integer.MAX_VALUE ? 1 : attemptNumber + 1;
        claim.number = attemptNumber;
        if (ring != null) {
            addAt(nowNs, FlightEvent.ATTEMPT, claim, 0, askedMask);
        }
    }

    /** An attempt asks more nodes. */
    void onAskedOthers(Claim claim, long askedMask) {
        if (ring != null) {
            readTime();
            add(FlightEvent.ASKED_OTHERS, claim.number, 0, 0, askedMask, null);
        }
    }

    /** A node votes on an acquire, maybe after the decision. */
    void onVote(Claim claim, int nodeIndex, Vote vote, VoteFailure failure) {
        if (ring != null) {
            if (arrivals.isTimeOld) {
                readTime();
            }
            FlightEvent event = switch (vote) {
                case GRANTED -> FlightEvent.GRANTED;
                case REFUSED -> FlightEvent.REFUSED;
                case FAILED -> FlightEvent.FAILED;
                case UNKNOWN -> FlightEvent.UNKNOWN;
            };
            ring.add(lastNs, event.ordinal(), claim.number, nodeIndex, failure.ordinal(), 0, null);
        }
    }

    /** The node timeout of an attempt has passed. */
    void onSilent(Claim claim, long silentMask) {
        if (ring != null && silentMask != 0) {
            readTime();
            add(FlightEvent.SILENT, claim.number, 0, 0, silentMask, null);
        }
    }

    /** An attempt has the lock since a time. */
    void onAcquired(Claim claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.ACQUIRED, claim, 0, claim.validUntilNs - nowNs);
        }
    }

    /** An attempt fails; its rollback follows. */
    void onAttemptFailing(Claim claim, AcquireOutcome.Kind reason) {
        if (ring != null) {
            readTime();
            add(FlightEvent.ATTEMPT_FAILED, claim.number, 0, reason.ordinal(), 0, claim.key);
        }
    }

    /** An attempt has failed. */
    void onAttemptFailed(AcquireOutcome.Kind reason) {
        counters.onAttemptFailed(reason);
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    /** The release of a held lease starts at a time. */
    void onReleaseStarted(Claim claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.RELEASE, claim, 0, 0);
        }
        if (Jfr.IS_PRESENT && Jfr.isReleaseEnabled()) {
            claim.releaseStart = releaseStarts.start(nowNs);
        }
    }

    /** A node has not deleted the key of a lease: it had another token or none, or it did not answer. */
    void onNotDeleted(Claim claim, int nodeIndex, Vote vote) {
        if (ring != null) {
            readTime();
            add(vote == Vote.REFUSED ? FlightEvent.NOT_DELETED : FlightEvent.RELEASE_UNANSWERED, claim.number,
                    nodeIndex, 0, 0, null);
        }
    }

    /** The release of a lease has an outcome. */
    void onReleaseEnded(Claim claim, ReleaseOutcome outcome) {
        counters.onReleased(outcome);
        if (ring != null || claim.releaseStart != null) {
            recordEnd(claim, outcome);
        }
    }

    /** A lease is released, and its lock stays for now: no node is asked. */
    void onKept(Claim claim) {
        onReleaseStarted(claim, clockNs());
        onReleaseEnded(claim, ReleaseOutcome.KEPT);
    }

    private void recordEnd(Claim claim, ReleaseOutcome outcome) {
        // A quorum of replies belongs to a read; another outcome may not.
        if (arrivals.isTimeOld || outcome != ReleaseOutcome.RELEASED) {
            readTime();
        }
        if (ring != null) {
            ring.add(lastNs, FlightEvent.RELEASED.ordinal(), claim.number, 0, outcome.ordinal(), 0, null);
        }
        if (claim.releaseStart != null) {
            if (releaseStarts.isDue(claim.releaseStart, lastNs)) {
                commit(claim.releaseStart.event(), claim, outcome);
            }
            releaseStarts.release(claim.releaseStart);
            claim.releaseStart = null;
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

    /** An extension starts at a time. */
    void onExtensionStarted(Claim claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.EXTENSION, claim, 0, claim.ttlMs);
        }
    }

    /** An extension has ended at a time, and the lease is still held. */
    void onExtensionEnded(Claim claim, ExtendOutcome outcome, long nowNs) {
        if (outcome == ExtendOutcome.EXTENDED) {
            counters.onExtended();
        }
        if (ring != null) {
            addAt(nowNs, FlightEvent.EXTENSION_ENDED, claim, outcome.ordinal(), 0);
        }
    }

    /** A node is no holder of a lease any more. */
    void onHolderDropped(Claim claim, int nodeIndex, LossCause cause) {
        if (ring != null) {
            readTime();
            add(FlightEvent.HOLDER_DROPPED, claim.number, nodeIndex, cause.ordinal(), 0, claim.key);
        }
    }

    /** A held lease is lost or expired. */
    void onLeaseLost(LeaseHandle lease, LockKey key, int number, LeaseState state, LossCause cause,
            int nodeIndex) {
        counters.onLost(state);
        if (ring != null) {
            readTime();
            add(FlightEvent.LEASE_ENDED, number, 0, state.ordinal(), lastNs - lease.acquiredNs, key);
            if (state == LeaseState.LOST && cause != LossCause.LOOP_ENDED) {
                reportLost(key, number, cause);
            }
        }
        if (Jfr.IS_PRESENT && Jfr.isLeaseLostEnabled()) {
            commit(key, state, cause, nodeIndex, clockNs() - lease.acquiredNs);
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
        if (ring != null) {
            readTime();
            add(FlightEvent.NODE_STATE, 0, node.index(), state.ordinal(), before.ordinal(),
                    state == NodeState.READY ? null : node.problem());
        }
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
        addWakeup(FlightEvent.WOKEN, nodeIndex, key);
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, addresses[nodeIndex], "WOKEN");
        }
    }

    /** A push of a node wakes nobody; the key is null if nobody waits for it. */
    void onSpuriousPush(LockKey key, int nodeIndex) {
        counters.onSpuriousPush();
        addWakeup(FlightEvent.SPURIOUS_PUSH, nodeIndex, key);
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, addresses[nodeIndex], "SPURIOUS");
        }
    }

    /** A waiter tries again because no push came. */
    void onBackstop(LockKey key) {
        counters.onBackstop();
        addWakeup(FlightEvent.BACKSTOP, 0, key);
        if (Jfr.IS_PRESENT && Jfr.isWakeupEnabled()) {
            commitWakeup(key, null, "BACKSTOP");
        }
    }

    private void addWakeup(FlightEvent event, int nodeIndex, LockKey key) {
        if (ring != null) {
            readTime();
            add(event, 0, nodeIndex, 0, 0, key);
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
