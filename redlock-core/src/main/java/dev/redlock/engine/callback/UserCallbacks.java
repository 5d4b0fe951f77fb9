package dev.redlock.engine.callback;

import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.telemetry.Log;

/**
 * Runs the callbacks and listeners of users. They may throw, which it logs: anything, because other languages than Java
 * do not declare checked exceptions. They may re-enter the client, so the state change is complete before they run.
 *
 * @threading any thread
 */
public final class UserCallbacks {

    private UserCallbacks() {
    }

    public static void run(AcquireCallback callback, AcquireOutcome outcome) {
        try {
            callback.onOutcome(outcome);
        } catch (Throwable e) {
            logThrown("acquire callback", e);
        }
    }

    public static void run(ReleaseCallback callback, Lease lease, ReleaseOutcome outcome) {
        try {
            callback.onReleased(lease, outcome);
        } catch (Throwable e) {
            logThrown("release callback", e);
        }
    }

    public static void run(ExtendCallback callback, Lease lease, ExtendOutcome outcome) {
        try {
            callback.onExtended(lease, outcome);
        } catch (Throwable e) {
            logThrown("extend callback", e);
        }
    }

    static void notifyLost(LeaseListener listener, Lease lease, LeaseState state) {
        if (listener != null) {
            try {
                listener.onLost(lease, state);
            } catch (Throwable e) {
                logThrown("lease listener", e);
            }
        }
    }

    static void notifyExtended(LeaseListener listener, Lease lease, int extensionCount) {
        try {
            listener.onExtended(lease, extensionCount);
        } catch (Throwable e) {
            logThrown("lease listener", e);
        }
    }

    /** Logs a bug of the client, or an {@code OutOfMemoryError}. The caller of the request has its outcome already. */
    public static void logRequestThrown(Throwable thrown) {
        Log.error("a request threw; it has ended, and the client continues", thrown);
    }

    public static void logThrown(String source, Throwable thrown) {
        Log.error("the " + source + " threw; the client continues", thrown);
    }
}
