package dev.redlock.engine;

/**
 * A held lease whose keys the nodes watch.
 *
 * @threading event-loop-confined
 */
final class WatchedLease extends Keyed {

    final Claim claim;

    WatchedLease(Claim claim) {
        this.claim = claim;
        this.key = claim.key;
    }
}
