package dev.redlock.api;

/**
 * Receives the loss and the automatic extensions of a held lease.
 *
 * @threading any thread: called by {@link dev.redlock.RedlockContext#callbackExecutor}, for one lease in order and one
 *            event at a time
 */
public interface LeaseListener {

    /**
     * The lease ended without a release: stop using the resource. Called at most once for each acquisition, when the
     * state is {@link LeaseState#EXPIRED} or {@link LeaseState#LOST}.
     */
    void onLost(Lease lease, LeaseState state);

    /**
     * The lease was extended automatically.
     *
     * @param extensionCount automatic extensions since it was acquired
     */
    default void onExtended(Lease lease, int extensionCount) {
        // most holders need the loss alone
    }
}
