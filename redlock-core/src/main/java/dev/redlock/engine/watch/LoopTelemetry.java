package dev.redlock.engine.watch;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.Arrivals;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.quorum.Vote;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.FlightRing;
import dev.redlock.telemetry.Jfr;
import dev.redlock.telemetry.ReleaseEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.time.NanoClock;
import java.util.concurrent.Executor;

/**
 * Receives the events of every lock of one event loop, and passes them to the counters and to the flight recorder of
 * this client. {@link RareEvents} has the other events, and the receivers that are off by default: one branch asks for
 * them. Telemetry decides nothing: without it, every lock works the same.
 *
 * <p>There is no interface for observers: it would cost a megamorphic call for each event of a lock.
 *
 * <p>Times in the flight recorder are those that the engine has read anyway. Only the first reply of a read needs one
 * more reading of the clock, for all replies of that read.
 *
 * @threading event-loop-confined
 */
public final class LoopTelemetry {

    /** The ring refers to the keys of its events, so longer names could fill the heap. */
    private static final int KEPT_NAME_BYTES_MAX = 128;
    private static final Object LONG_NAME = new Object() {
        @Override
        public String toString() {
            return "(a name of more than " + KEPT_NAME_BYTES_MAX + " bytes)";
        }
    };

    public final RareEvents rare;
    /** Null if the flight recorder is off. */
    final FlightRing ring;
    final long slowAcquireNs;
    private final NanoClock clock;
    private final ConductorCounters counters;
    private final Arrivals arrivals;
    long lastNs;
    private int attemptNumber;

    /**
     * @param setup    what it needs of the configuration
     * @param counters gets the counts
     * @param clock    the monotonic clock
     * @param arrivals says when a reply was read
     * @param executor runs reports on the event loop
     */
    public LoopTelemetry(TelemetrySetup setup, ConductorCounters counters, NanoClock clock, Arrivals arrivals,
            Executor executor) {
        TelemetryOptions options = setup.options();
        this.clock = clock;
        this.arrivals = arrivals;
        this.counters = counters;
        this.ring = options.flightEventsMax() == 0 ? null : new FlightRing(options.flightEventsMax());
        this.slowAcquireNs = ring == null ? Long.MAX_VALUE : options.slowAcquireNs();
        this.rare = new RareEvents(this, setup, counters, clock, executor);
    }

    // ---- the flight recorder ----------------------------------------------------------------------------------------

    /** Adds an event of a claim and its key, at a time that the engine has read. */
    private void addAt(long nowNs, FlightEvent event, ClaimView claim, int detail, long value) {
        setTime(nowNs);
        ring.add(nowNs, event.ordinal(), claim.number(), 0, detail, value, kept(claim.key()));
    }

    static Object kept(Object subject) {
        return subject instanceof LockKey key && key.text.nameLength > KEPT_NAME_BYTES_MAX ? LONG_NAME : subject;
    }

    /** For rare events, which need not follow a read. */
    long readTime() {
        setTime(clockNs());
        return lastNs;
    }

    void setTime(long nowNs) {
        lastNs = nowNs;
        arrivals.isTimeOld = false;
    }

    /** A clock that throws, as in tests, must not harm a lock because of a record. */
    public long clockNs() {
        try {
            return clock.nanoTime();
        } catch (RuntimeException | Error e) {
            RareEvents.drop(e);
            return lastNs;
        }
    }

    // ---- acquiring --------------------------------------------------------------------------------------------------

    /** The engine takes an acquisition at a time. Returns what times it for JFR; null if the event is off. */
    public SharedStarts.Start<AcquireEvent> onAcquireStarted(long nowNs) {
        return Jfr.IS_PRESENT && Jfr.ACQUIRE.isEnabled() ? rare.acquireStarts.start(nowNs) : null;
    }

    /** An acquisition ends; its votes are recorded. The flight recorder has a success as that of its attempt. */
    public void onAcquireEnded(AcquisitionView pending, AcquireOutcome.Kind kind, AcquireOutcome.Kind reason) {
        counters.add(ConductorCounters.OUTCOME_FIRST + kind.ordinal(), 1);
        boolean isRecorded = kind == AcquireOutcome.Kind.ACQUIRED
                ? pending.acquiredNs() - pending.startNs() >= slowAcquireNs
                : ring != null;
        if (isRecorded || pending.start() != null || rare.acquireTimes != null || pending.group() != null) {
            rare.onAcquireEnded(pending, kind, reason);
        }
    }

    /** An attempt starts at a time. Returns its number. */
    public int onAttempt(LockKey key, long nowNs, long askedMask) {
        attemptNumber = attemptNumber == Integer.MAX_VALUE ? 1 : attemptNumber + 1;
        if (ring != null) {
            setTime(nowNs);
            ring.add(nowNs, FlightEvent.ATTEMPT.ordinal(), attemptNumber, 0, 0, askedMask, kept(key));
        }
        return attemptNumber;
    }

    /** A node votes on an acquire, maybe after the decision. */
    public void onVote(ClaimView claim, int nodeIndex, Vote vote, VoteFailure failure) {
        if (ring != null) {
            if (arrivals.isTimeOld) {
                readTime();
            }
            // The votes have the order of their events.
            ring.add(lastNs, FlightEvent.GRANTED.ordinal() + vote.ordinal(), claim.number(), nodeIndex,
                    failure.ordinal(),
                    0, null);
        }
    }

    /** An attempt has the lock since a time. */
    public void onAcquired(ClaimView claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.ACQUIRED, claim, 0, claim.validUntilNs() - nowNs);
        }
    }

    // ---- releasing --------------------------------------------------------------------------------------------------

    /** The release of a held lease starts at a time. Returns what times it for JFR; null if the event is off. */
    public SharedStarts.Start<ReleaseEvent> onReleaseStarted(ClaimView claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.RELEASE, claim, 0, 0);
        }
        return Jfr.IS_PRESENT && Jfr.RELEASE.isEnabled() ? rare.releaseStarts.start(nowNs) : null;
    }

    /** The release of a lease has an outcome. */
    public void onReleaseEnded(ClaimView claim, SharedStarts.Start<ReleaseEvent> start, ReleaseOutcome outcome) {
        counters.add(ConductorCounters.RELEASE_FIRST + outcome.ordinal(), 1);
        if (ring == null && start == null) {
            return;
        }
        // A quorum of replies belongs to a read; another outcome may not.
        if (arrivals.isTimeOld || outcome != ReleaseOutcome.RELEASED) {
            readTime();
        }
        if (ring != null) {
            ring.add(lastNs, FlightEvent.RELEASED.ordinal(), claim.number(), 0, outcome.ordinal(), 0, null);
        }
        if (start != null) {
            rare.onTimedRelease(claim, start, outcome, lastNs);
        }
    }

    // ---- held leases ------------------------------------------------------------------------------------------------

    /** An extension starts at a time. */
    public void onExtensionStarted(ClaimView claim, long nowNs) {
        if (ring != null) {
            addAt(nowNs, FlightEvent.EXTENSION, claim, 0, claim.ttlMs());
        }
    }

    /** An extension has ended at a time, and the lease is still held. */
    public void onExtensionEnded(ClaimView claim, ExtendOutcome outcome, long nowNs) {
        if (outcome == ExtendOutcome.EXTENDED) {
            counters.add(ConductorCounters.EXTENDED, 1);
        }
        if (ring != null) {
            addAt(nowNs, FlightEvent.EXTENSION_ENDED, claim, outcome.ordinal(), 0);
        }
    }
}
