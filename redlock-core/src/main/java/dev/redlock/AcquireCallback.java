package dev.redlock;

/**
 * Gets the outcome of an acquisition.
 *
 * @threading event-loop-confined: called on the client's event loop, so it must not block; on another thread if that
 *            loop has ended. Never called from inside of the call that asked for the acquisition
 */
@FunctionalInterface
public interface AcquireCallback {

    /**
     * The acquisition has ended, in whatever way; called exactly once.
     *
     * @param outcome what became of it
     */
    void onOutcome(AcquireOutcome outcome);
}
