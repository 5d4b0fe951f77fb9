package dev.redlock;

/**
 * What became of an acquisition: a value, not an exception, because locks that somebody else holds are nothing
 * exceptional.
 *
 * <p>An outcome lives as long as the lease handle that it belongs to: with a reusable lease its values are those of the
 * last acquisition.
 *
 * @threading any thread may read it once it has been delivered
 */
public interface AcquireOutcome {

    /**
     * The kinds of outcome, each with one sentence of advice.
     *
     * @threading immutable
     */
    enum Kind {
        /** A quorum granted, with enough validity left. */
        ACQUIRED("the lock is held: use lease()"),
        /** A quorum is out of reach because others hold the lock. */
        CONTENDED("somebody else holds the lock: wait longer, or come back after shortestRemainingTtlMs()"),
        /** A quorum is out of reach because nodes are down, in quarantine or silent. */
        NO_QUORUM("too few nodes answer: look at voteText() and at Redlock.nodes()"),
        /** A quorum granted, but so late that less than the minimum validity was left; it was rolled back. */
        TOO_SLOW("the nodes answer too slowly for this ttl: use a longer ttl or a smaller minimum validity"),
        /** The wait budget was used up; {@link AcquireOutcome#lastReason()} says why the last attempt failed. */
        TIMED_OUT("the wait budget ended: wait longer, or find out who holds the lock for so long"),
        /**
         * A limit of this client was reached before anything was sent. As {@link AcquireOutcome#lastReason()}: the wait
         * budget ended while the acquisition waited for others of this client to end.
         */
        OVERLOADED("a limit of this client is reached: shed load, or raise the limit named in RedlockContext"),
        /** The acquisition was cancelled; what it had sent was rolled back. */
        CANCELLED("the acquisition was cancelled by its caller"),
        /** The client is closed or is being closed. */
        CLOSED("the client is closed: connect again");

        private final String advice;

        Kind(final String advice) {
            this.advice = advice;
        }

        /** @return one sentence on what to do */
        public String advice() {
            return advice;
        }
    }

    /** @return the kind of outcome */
    Kind kind();

    /** @return true for {@link Kind#ACQUIRED} */
    boolean isAcquired();

    /**
     * The lease.
     *
     * @return the lease, held when it was acquired
     * @throws IllegalStateException if the lock was not acquired; the message says why
     */
    Lease lease();

    /** @return why the last attempt failed: for {@link Kind#TIMED_OUT} the reason behind it, else {@link #kind()} */
    Kind lastReason();

    /** @return attempts made, each with a token of its own; 0 if nothing was sent */
    int attemptCount();

    /** @return nodes that granted in the last attempt, up to the moment of its decision */
    int grantedCount();

    /** @return nodes that refused in the last attempt because another token stands there */
    int refusedCount();

    /** @return nodes that did not execute the last attempt's command, and of which we know it */
    int failedCount();

    /** @return nodes that did not answer the last attempt; they may have executed it */
    int unknownCount();

    /**
     * The shortest remaining ttl that a refusing node reported: the earliest moment at which another attempt can do
     * better.
     *
     * @return milliseconds; -1 if no node refused; Long.MAX_VALUE if the holder's key never expires
     */
    long shortestRemainingTtlMs();

    /**
     * One node's vote in the last attempt, for people.
     *
     * @param nodeIndex the node, in configured order
     * @return granted, refused, pending, or the reason of a failed or unknown vote
     * @throws IndexOutOfBoundsException if there is no such node
     */
    String voteText(int nodeIndex);
}
