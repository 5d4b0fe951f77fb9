package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.key.LockKey;
import dev.redlock.telemetry.Log;

/**
 * Logs why acquisitions fail that are repeated without an end, and whose outcomes no caller gets: once for each reason,
 * and again when it changes. The event loop logs why one waits until its wait budget ends.
 *
 * @threading caller-confined: one thread at a time
 */
final class RepeatLog {

    /** Limits that end an acquisition with a wait budget. */
    private static final String LIMITS = " (autoExtendedLeasesMax or waitersMax)";

    private final String caller;
    private final LockKey key;
    private final long dueNs;
    private AcquireOutcome.Kind logged;

    /**
     * Creates one that has logged nothing.
     *
     * @param caller a noun phrase
     * @param dueNs  monotonic time from which on it logs
     */
    RepeatLog(String caller, LockKey key, long dueNs) {
        this.caller = caller;
        this.key = key;
        this.dueNs = dueNs;
    }

    void onFailed(AcquireOutcome outcome, long nowNs) {
        AcquireOutcome.Kind reason = outcome.kind();
        if (reason == AcquireOutcome.Kind.TIMED_OUT || reason == AcquireOutcome.Kind.CANCELLED) {
            logged = null;
        } else if (reason != logged && nowNs - dueNs >= 0) {
            logged = reason;
            Log.log(System.Logger.Level.WARNING, "{0} for \"{1}\" cannot get the lock and tries again: {2}{3}", caller,
                    key, outcome.advice(), reason == AcquireOutcome.Kind.OVERLOADED ? LIMITS : "");
        }
    }

    void onAcquired() {
        logged = null;
    }
}
