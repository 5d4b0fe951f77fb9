package dev.redlock.engine;

/**
 * A resource of a held lease, whose keys the nodes watch.
 *
 * @threading event-loop-confined
 */
final class WatchedLease extends Keyed {

    final Claim claim;
    /** The next resource of the lease; null if there is none. */
    final WatchedLease next;
    /** Another lease with this resource: this client has acquired the lock again before it knew of a loss. */
    WatchedLease nextOfKey;
    /** The nodes whose checks are due, on the first resource of the lease. */
    long dueMask;
    WatchedLease nextDue;

    WatchedLease(Claim claim, LockKey key, WatchedLease next) {
        this.claim = claim;
        this.key = key;
        this.next = next;
    }
}
