package dev.redlock.engine;

/**
 * The times of options under the terms of a client, which computes them once for all calls with the same ttl.
 *
 * @threading immutable
 */
final class LeaseTimes {

    /** What the client has set. */
    final LeaseTerms terms;
    final long ttlMs;
    /** The minimum validity of the options, or {@link AcquireSpec#UNSET}. */
    final long ownMinValidityNs;
    /** From t1 to the end of the validity: the ttl minus its clock allowance. */
    final long validityNs;
    /** Validity that a success must have left. */
    final long minValidityNs;
    /** Timeout of a round. */
    final long nodeTimeoutNs;

    LeaseTimes(LeaseTerms terms, long ttlMs, long ownMinValidityNs) {
        this.terms = terms;
        this.ttlMs = ttlMs;
        this.ownMinValidityNs = ownMinValidityNs;
        this.validityNs = terms.validUntilNs(0, ttlMs);
        this.minValidityNs = terms.minValidityNs(ttlMs, ownMinValidityNs);
        this.nodeTimeoutNs = terms.nodeTimeoutNs(ttlMs);
    }
}
