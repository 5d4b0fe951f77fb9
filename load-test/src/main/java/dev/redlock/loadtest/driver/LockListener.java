package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;

/**
 * Gets the outcome of each call of a {@link LockHandle}; exactly one event per call.
 *
 * @threading any thread, one event at a time per handle
 */
public interface LockListener {
    /** An acquire ended. The validity counts from now, and is 0 unless acquired. */
    void onAcquire(AcquireOutcome.Kind verdict, long validityNs);

    void onRelease(ReleaseOutcome verdict);
}
