package dev.redlock.api;

/**
 * Gets the outcome of an extension.
 *
 * @threading event-loop-confined: called on the client's event loop, so it must not block; on another thread if that
 *            loop has ended. Never called from inside of the call that asked for the extension
 */
@FunctionalInterface
public interface ExtendCallback {

    /**
     * The extension has ended; called exactly once.
     *
     * @param lease   the lease that was to be extended
     * @param outcome what happened
     */
    void onExtended(Lease lease, ExtendOutcome outcome);
}
