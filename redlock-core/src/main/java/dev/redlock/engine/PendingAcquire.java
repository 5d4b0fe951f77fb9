package dev.redlock.engine;

import dev.redlock.quorum.Token;
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
final class PendingAcquire {

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
        BACKING_OFF
    }

    /**
     * The purpose of the timer between two attempts.
     *
     * @threading immutable
     */
    enum TimerStep {
        /** Starts the next attempt after a delay. */
        ATTEMPT,
        /** Starts the next attempt for a push. */
        WAKE,
        /** Registers for the pushes of all nodes. */
        WATCH,
        /** Starts the next attempt because no push came. */
        BACKSTOP
    }

    /**
     * The nodes that an attempt asks.
     *
     * @threading immutable
     */
    enum Plan {
        /** All nodes at once, with the cheapest command: the lock is probably free. */
        UNCONTENDED,
        /** The coordinator, then the others. Each refusal registers for a push. */
        COORDINATOR_FIRST,
        /** As {@link #COORDINATOR_FIRST}, but the coordinator refuses a plain lock if another client waits. */
        YIELDING,
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
    PendingAcquire previousInQueue;
    PendingAcquire nextInQueue;
    PendingAcquire previousForPlace;
    PendingAcquire nextForPlace;
    PendingAcquire previousActive;
    PendingAcquire nextActive;
    /** When the engine took the call, monotonic; {@link #NOT_STARTED} before its only attempt. */
    long startNs;
    long deadlineNs;
    /** A lease of this client was released during the attempt: a failed attempt retries without a delay. */
    boolean retryImmediately;
    /** A node that refused the current attempt has pushed a change since: a failed attempt retries without a delay. */
    boolean isWoken;
    /** Contended attempts of this acquisition that were refused. */
    int lossCount;
    /** What the timer does in state {@link State#BACKING_OFF}. */
    TimerStep timerStep = TimerStep.ATTEMPT;
    /** The longest time without a push, nanoseconds. */
    long backstopNs;
    /** When the key of the holder expires, unless it is renewed, monotonic; far away if unknown. */
    long expiryNs;
    /** The plan of the current or next attempt. */
    Plan plan = Plan.UNCONTENDED;
    /** A place of {@link InFlightLimit} is reserved for its next attempt. */
    boolean hasReservedPlace;
    /** Counts attempts and uses: a change during a callback shows that the callback has started or ended an attempt. */
    long generation;

    /** It leaves its {@linkplain Reservations reservation} on nodes that refuse it. */
    boolean isReserving;
    /** The current attempt contains the name of its reservation; stale without a reservation. */
    boolean isReservationSent;
    /** The node that has the reservation of a waiting set, as far as is known; -1 for none. */
    int reservedNode;
    /** When the writer last left its reservation on all nodes, or the set first left its own, monotonic. */
    long reservedNs;
    /** When the set last left its reservation, monotonic. */
    long leftNs;
    /** The name of the reservation of a waiting writer or set; stale if {@link #isReserving} is false. */
    Token reservation;

    // Of an acquisition of a permit; stale for another kind.
    /** The permit that an attempt behind the head of the queue asks for. */
    PermitKey.Permit permit;
    /** The permit of the current attempt comes from a push. */
    boolean isPermitPushed;
    /** The last search has found no free permit, so the node pushes the next change of each permit. */
    boolean hasSearched;
    /** Searches for a free permit since the last one that found none. */
    int searchCount;

    /** Times the acquisition for JFR; null if its event is off. */
    SharedStarts.Start<AcquireEvent> start;

    PendingAcquire(ObjLongConsumer<PendingAcquire> onTimer) {
        this.timer = new DeadlineTimer(nowNs -> onTimer.accept(this, nowNs));
    }

    boolean isStarted() {
        return startNs != NOT_STARTED;
    }

    void reset(LeaseHandle newLease) {
        assert state == State.FREE : "a pending acquire in the pool is free";
        lease = newLease;
        claim = null;
        queue = null;
        retryImmediately = false;
        isWoken = false;
        lossCount = 0;
        timerStep = TimerStep.ATTEMPT;
        expiryNs = 0;
        plan = Plan.UNCONTENDED;
        hasReservedPlace = false;
        isReserving = false;
        reservedNode = -1;
        startNs = NOT_STARTED;
        generation++;
    }

    /** Whether the plan asks the coordinator alone at first. */
    boolean isCoordinatorFirst() {
        return plan == Plan.COORDINATOR_FIRST || plan == Plan.YIELDING;
    }
}
