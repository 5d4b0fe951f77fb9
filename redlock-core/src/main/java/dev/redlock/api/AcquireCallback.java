package dev.redlock.api;

/**
 * Receives the outcome of an acquisition.
 *
 * @threading event-loop-confined: called on the client's event loop, so it must not block; on another thread if that
 *            loop has ended. Never called inside the call that asked for the acquisition
 */
@FunctionalInterface
public interface AcquireCallback {

    /** The acquisition has ended; called exactly once. */
    void onOutcome(AcquireOutcome outcome);
}
