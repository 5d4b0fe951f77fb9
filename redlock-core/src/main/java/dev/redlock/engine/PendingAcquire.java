package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.watch.AcquisitionView;
import dev.redlock.node.send.LockKind;
import dev.redlock.telemetry.AcquireEvent;
import dev.redlock.telemetry.SharedStarts;
import dev.redlock.time.DeadlineTimer;
import java.util.function.ObjLongConsumer;

/**
 * Tracks one acquisition from the call to its outcome: its queue, its attempts, and the delays between them. Pooled by
 * the scheduler.
 *
 * @threading event-loop-confined
 */
final class PendingAcquire implements AcquisitionView {

    /**
     * The state of an acquisition, which refines {@link dev.redlock.api.LeaseState#ACQUIRING}.
     *
     * @threading immutable
     */
    enum State {
        /** In the pool. */
        FREE,
        /** Waits in the local queue of its resource, not as the head. */
        QUEUED,
        /** An attempt is in progress. */
        ATTEMPTING,
        /** Waits for a place of {@link InFlightLimit}. */
        AWAITING_PLACE,
        /** Waits for its timer, which starts the next attempt. */
        BACKING_OFF;

        boolean mayBecome(State next) {
            return switch (this) {
                case FREE, BACKING_OFF -> true;
                case QUEUED -> next != QUEUED;
                case ATTEMPTING -> next == BACKING_OFF || next == FREE;
                case AWAITING_PLACE -> next == BACKING_OFF || next == FREE;
            };
        }
    }

    /**
     * The nodes that an attempt asks.
     *
     * @threading immutable
     */
    enum Plan {
        /** All nodes at once, with the cheapest command: the lock is probably free. */
        UNCONTENDED,
        /** The coordinator, then the others. A plain lock asks it in order; other refusals register for a push. */
        COORDINATOR_FIRST,
        /** As {@link #COORDINATOR_FIRST}, of a client that has given way: if it wins, nobody else waits any more. */
        YIELDING,
        /** As {@link #COORDINATOR_FIRST}, of a client whose turn is not over: nobody precedes it. For plain locks. */
        PASSING,
        /** All nodes at once. Each refusal registers for a push. */
        ALL
    }

    private static final long NOT_STARTED = Long.MIN_VALUE;

    final DeadlineTimer timer;
    State state = State.FREE;
    LeaseHandle lease;
    Claim claim;
    /** The queue of its resource; null without a wait budget, and until the first refusal of a plain lock. */
    WaitQueue queue;
    PendingAcquire previousActive;
    PendingAcquire nextActive;
    /** When the engine took the call, monotonic; {@link #NOT_STARTED} before its only attempt. */
    long startNs;
    long deadlineNs;
    /** The plan of the current or next attempt. */
    private Plan plan = Plan.UNCONTENDED;
    /** Counts attempts and uses: a change during a callback shows that the callback has started or ended an attempt. */
    long generation;
    // Null before the first use by this object, which keeps them in the pool.
    /** What an acquisition that waits, or one of a permit, has beside. */
    Waiting waiting;
    /** What a writer or a set that waits has reserved. */
    Reservation reservation;

    /** Times the acquisition for JFR; null if its event is off. */
    SharedStarts.Start<AcquireEvent> start;

    PendingAcquire(ObjLongConsumer<PendingAcquire> onTimer) {
        this.timer = new DeadlineTimer(nowNs -> onTimer.accept(this, nowNs));
    }

    /** The engine has taken the call. */
    void start(long nowNs, SharedStarts.Start<AcquireEvent> timed) {
        startNs = nowNs;
        start = timed;
    }

    void reset(LeaseHandle newLease) {
        assert state == State.FREE : "a pending acquire in the pool is free";
        lease = newLease;
        claim = null;
        queue = null;
        plan = Plan.UNCONTENDED;
        if (waiting != null) {
            waiting.reset();
        }
        if (reservation != null) {
            reservation.reset();
        }
        startNs = NOT_STARTED;
        generation++;
    }

    // ---- transitions ------------------------------------------------------------------------------------------------

    private void enter(State next) {
        assert state.mayBecome(next) : state + " never becomes " + next;
        state = next;
    }

    /** It follows others of this client. */
    void queue() {
        enter(State.QUEUED);
    }

    void awaitPlace() {
        enter(State.AWAITING_PLACE);
    }

    /** It makes no attempt until its timer fires, or until it is woken. */
    void backOff() {
        enter(State.BACKING_OFF);
    }

    void attempt() {
        enter(State.ATTEMPTING);
        generation++;
    }

    /** A search has ended, and another step of the same attempt follows. */
    void continueAttempt() {
        assert state == State.ATTEMPTING : "only an attempt continues: " + state;
        generation++;
    }

    /** Sets the plan of its next attempt, or of the next step of this one. Only one that waits registers for a push. */
    void planNext(Plan next) {
        assert next == Plan.UNCONTENDED || lease.waitNs > 0 || waiting != null
                : next + " without a wait budget";
        plan = next;
    }

    /** It returns to its pool. */
    void free() {
        enter(State.FREE);
        start = null;
        lease = null;
        generation++;
    }

    // ---- telemetry --------------------------------------------------------------------------------------------------

    @Override
    public LockKey key() {
        return lease.key;
    }

    @Override
    public AcquireOutcome outcome() {
        return lease;
    }

    @Override
    public boolean isFenced() {
        return lease.spec.isFenced;
    }

    @Override
    public String group() {
        return lease.spec.group;
    }

    @Override
    public long startNs() {
        return startNs;
    }

    @Override
    public boolean isStarted() {
        return startNs != NOT_STARTED;
    }

    @Override
    public SharedStarts.Start<AcquireEvent> start() {
        return start;
    }

    @Override
    public long acquiredNs() {
        return lease.acquiredNs;
    }

    @Override
    public long validUntilNs() {
        return lease.validUntilNs;
    }

    // ---- questions --------------------------------------------------------------------------------------------------

    LockKind kind() {
        return lease.key.kind;
    }

    Plan plan() {
        return plan;
    }

    /** Whether the plan asks the coordinator alone at first. */
    boolean isCoordinatorFirst() {
        return plan == Plan.COORDINATOR_FIRST || plan == Plan.YIELDING || plan == Plan.PASSING;
    }

    Waiting waiting() {
        if (waiting == null) {
            waiting = new Waiting();
        }
        return waiting;
    }

    boolean hasPlace() {
        return waiting != null && waiting.hasPlace;
    }

    /** Whether a failed attempt retries without a delay. */
    boolean isNextDue() {
        return waiting != null && (waiting.retryImmediately || waiting.isWoken());
    }

    /** Whether it leaves its {@linkplain Reservations reservation} on nodes that refuse it. */
    boolean isReserving() {
        return reservation != null && reservation.isActive;
    }

    /**
     * Whether a node has the reservation of a waiting set, as far as is known. It must see the next grant, or others
     * would give way to the reservation.
     */
    boolean hasReservedNode() {
        return reservation != null && reservation.node >= 0;
    }
}
