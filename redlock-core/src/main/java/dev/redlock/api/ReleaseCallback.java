package dev.redlock.api;

/**
 * Gets the outcome of a release.
 *
 * @threading event-loop-confined: called on the client's event loop, so it must not block; on another thread if that
 *            loop has ended. Never called from inside of the call that asked for the release
 */
@FunctionalInterface
public interface ReleaseCallback {

    /**
     * The release has ended; called exactly once. A reusable lease may be used again from here.
     *
     * @param lease   the lease that was released
     * @param outcome what happened
     */
    void onReleased(Lease lease, ReleaseOutcome outcome);
}
