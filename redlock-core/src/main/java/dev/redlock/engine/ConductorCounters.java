package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts the outcomes, held locks and running acquisitions of one conductor. One thread writes, any thread reads;
 * neither allocates nor blocks.
 *
 * @threading any thread may read
 */
public final class ConductorCounters {

    /** Index of the first acquire outcome; the others follow by ordinal. The constants below are indexes too. */
    public static final int OUTCOME_FIRST = 0;
    public static final int ATTEMPT_CONTENDED = AcquireOutcome.Kind.values().length;
    public static final int ATTEMPT_NO_QUORUM = ATTEMPT_CONTENDED + 1;
    public static final int ATTEMPT_TOO_SLOW = ATTEMPT_CONTENDED + 2;
    public static final int ROLLED_BACK = ATTEMPT_CONTENDED + 3;
    public static final int RELEASED = ATTEMPT_CONTENDED + 4;
    public static final int RELEASE_EXPIRED = ATTEMPT_CONTENDED + 5;
    public static final int RELEASE_UNKNOWN = ATTEMPT_CONTENDED + 6;
    public static final int EXTENDED = ATTEMPT_CONTENDED + 7;
    public static final int LOST = ATTEMPT_CONTENDED + 8;
    public static final int EXPIRED = ATTEMPT_CONTENDED + 9;
    public static final int RAISED = ATTEMPT_CONTENDED + 10;
    public static final int WOKEN = ATTEMPT_CONTENDED + 11;
    public static final int SPURIOUS_PUSH = ATTEMPT_CONTENDED + 12;
    public static final int BACKSTOP = ATTEMPT_CONTENDED + 13;
    public static final int RELEASE_KEPT = ATTEMPT_CONTENDED + 14;
    /** Current numbers. */
    public static final int HELD = ATTEMPT_CONTENDED + 15;
    public static final int WAITING = ATTEMPT_CONTENDED + 16;
    public static final int HEDGED = ATTEMPT_CONTENDED + 17;
    public static final int COMMANDS = ATTEMPT_CONTENDED + 18;

    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts = new long[COMMANDS + 1];

    private void add(int counter, int change) {
        COUNTS.setOpaque(counts, counter, counts[counter] + change);
    }

    long read(int counter) {
        return (long) COUNTS.getOpaque(counts, counter);
    }

    void onOutcome(AcquireOutcome.Kind kind) {
        add(OUTCOME_FIRST + kind.ordinal(), 1);
    }

    /** Acquisitions have started, or ended with a negative change. */
    void onWaiting(int change) {
        add(WAITING, change);
    }

    /** Locks are held, or no longer held with a negative change. */
    void onHeld(int change) {
        add(HELD, change);
    }

    void onAttemptFailed(AcquireOutcome.Kind reason) {
        switch (reason) {
            case CONTENDED -> add(ATTEMPT_CONTENDED, 1);
            case NO_QUORUM -> add(ATTEMPT_NO_QUORUM, 1);
            default -> add(ATTEMPT_TOO_SLOW, 1);
        }
    }

    void onRolledBack() {
        add(ROLLED_BACK, 1);
    }

    void onReleased(ReleaseOutcome outcome) {
        switch (outcome) {
            case RELEASED -> add(RELEASED, 1);
            case EXPIRED -> add(RELEASE_EXPIRED, 1);
            case KEPT -> add(RELEASE_KEPT, 1);
            case UNKNOWN -> add(RELEASE_UNKNOWN, 1);
        }
    }

    void onExtended() {
        add(EXTENDED, 1);
    }

    void onHedged() {
        add(HEDGED, 1);
    }

    void onCommands(int count) {
        add(COMMANDS, count);
    }

    void onRaised() {
        add(RAISED, 1);
    }

    void onWoken() {
        add(WOKEN, 1);
    }

    void onSpuriousPush() {
        add(SPURIOUS_PUSH, 1);
    }

    void onBackstop() {
        add(BACKSTOP, 1);
    }

    void onLost(LeaseState state) {
        add(state == LeaseState.LOST ? LOST : EXPIRED, 1);
    }
}
