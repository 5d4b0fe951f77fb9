package dev.redlock.engine;

/**
 * The times of a ttl under the terms of a client. A caller that locks again and again with the same options computes
 * them once.
 *
 * @threading immutable
 */
final class LeaseTimes {

    /** Of the client. */
    final LeaseTerms terms;
    final long ttlMs;
    /** From t1 to the end of the validity: the ttl minus its clock allowance. */
    final long validityNs;
    /** Validity that a success must have left. */
    final long minValidityNs;
    /** Timeout of a round. */
    final long nodeTimeoutNs;

    LeaseTimes(LeaseTerms terms, long ttlMs, long validityNs, long minValidityNs, long nodeTimeoutNs) {
        this.terms = terms;
        this.ttlMs = ttlMs;
        this.validityNs = validityNs;
        this.minValidityNs = minValidityNs;
        this.nodeTimeoutNs = nodeTimeoutNs;
    }
}
