package dev.redlock.engine.watch;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetentionEnd;
import dev.redlock.telemetry.Counters;

/**
 * Counts the outcomes, held locks and running acquisitions of one conductor.
 *
 * @threading any thread may read
 */
public final class ConductorCounters extends Counters {

    /** Index of the first acquire outcome; the others follow by ordinal. The constants below are indexes too. */
    public static final int OUTCOME_FIRST = 0;
    public static final int ATTEMPT_CONTENDED = AcquireOutcome.Kind.values().length;
    public static final int ATTEMPT_NO_QUORUM = ATTEMPT_CONTENDED + 1;
    public static final int ATTEMPT_TOO_SLOW = ATTEMPT_CONTENDED + 2;
    public static final int ROLLED_BACK = ATTEMPT_CONTENDED + 3;
    /** Index of the first release outcome; the others follow by ordinal. */
    public static final int RELEASE_FIRST = ATTEMPT_CONTENDED + 4;
    public static final int EXTENDED = RELEASE_FIRST + ReleaseOutcome.values().length;
    public static final int LOST = EXTENDED + 1;
    public static final int EXPIRED = EXTENDED + 2;
    public static final int RAISED = EXTENDED + 3;
    public static final int WOKEN = EXTENDED + 4;
    public static final int SPURIOUS_PUSH = EXTENDED + 5;
    public static final int BACKSTOP = EXTENDED + 6;
    /** Current numbers. */
    public static final int HELD = EXTENDED + 7;
    public static final int WAITING = EXTENDED + 8;
    public static final int HEDGED = EXTENDED + 9;
    public static final int COMMANDS = EXTENDED + 10;
    /** Locks that are retained now. */
    public static final int RETAINED = COMMANDS + 1;
    /** Local leases of locks that are retained no longer. */
    public static final int LOCAL_GRANTS = COMMANDS + 2;
    /** Releases of locks that another client wanted and no local lease had, and their time in ns. */
    public static final int REVOCATIONS = COMMANDS + 3;
    public static final int REVOCATION_NS = COMMANDS + 4;
    /** Times at which the clock of this machine had stood still. */
    public static final int STOOD_STILL = COMMANDS + 5;
    /** Index of the first reason why a lock is retained no longer; the others follow by ordinal. */
    public static final int RETENTION_END_FIRST = COMMANDS + 6;

    public ConductorCounters() {
        super(RETENTION_END_FIRST + RetentionEnd.values().length);
    }

    public void onAttemptFailed(AcquireOutcome.Kind reason) {
        switch (reason) {
            case CONTENDED -> add(ATTEMPT_CONTENDED, 1);
            case NO_QUORUM -> add(ATTEMPT_NO_QUORUM, 1);
            default -> add(ATTEMPT_TOO_SLOW, 1);
        }
    }
}
