package dev.redlock.engine;

/**
 * A resource of a held lease, whose keys the nodes watch.
 *
 * @threading event-loop-confined
 */
final class WatchedLease extends Keyed {

    final Claim claim;
    /** The first resource of the lease, which knows what is due for all of them. */
    final WatchedLease first;
    /** Another lease with this resource: this client has acquired the lock again before it knew of a loss. */
    WatchedLease nextOfKey;
    /** The nodes whose checks are due, on the first resource of the lease. */
    long dueMask;
    WatchedLease nextDue;
    /** The lease has ended. */
    boolean isStopped;

    WatchedLease(Claim claim, LockKey key, WatchedLease first) {
        this.claim = claim;
        this.key = key;
        this.first = first == null ? this : first;
    }
}
