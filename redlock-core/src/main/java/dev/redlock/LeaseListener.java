package dev.redlock;

/**
 * Told what happens to a held lease without its holder's doing.
 *
 * @threading event-loop-confined: called on the client's event loop, so it must not block
 */
public interface LeaseListener {

    /**
     * The lease is not held any more although nobody released it: stop using the resource. Called at most once for each
     * acquisition, when the state is {@link LeaseState#EXPIRED} or {@link LeaseState#LOST}.
     *
     * @param lease the lease
     * @param state which of the two
     */
    void onLost(Lease lease, LeaseState state);

    /**
     * The lease was extended automatically.
     *
     * @param lease          the lease
     * @param extensionCount how often it has been extended since it was acquired
     */
    default void onExtended(final Lease lease, final int extensionCount) {
        // most holders only need to know of the loss
    }
}
