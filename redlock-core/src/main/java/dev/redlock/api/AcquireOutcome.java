package dev.redlock.api;

/**
 * The outcome of an acquisition: a value and not an exception, because a lock that another client holds is no
 * exception.
 *
 * <p>An acquisition that ends behind others of its client has the reason and the votes of the first of them, whose
 * attempts are for all. Its text says so.
 *
 * <p>An outcome lives as long as its lease handle: with a reusable lease its values are those of the last acquisition.
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
        /** A quorum is out of reach because another holder has the lock. */
        CONTENDED("another holder has the lock: wait longer, or retry after shortestRemainingTtlMs()"),
        /** A quorum is out of reach because nodes are down, in quarantine or silent. */
        NO_QUORUM("too few nodes vote: see voteText() and Redlock.nodes()"),
        /** A quorum granted so late that less than the minimum validity was left; the attempt was rolled back. */
        TOO_SLOW("the nodes answer too slowly for this ttl: use a longer ttl or a smaller minimum validity"),
        /** The wait budget ended; {@link AcquireOutcome#lastReason()} is the reason of the last failed attempt. */
        TIMED_OUT("the wait budget ended: see lastReason()"),
        /**
         * A limit of this client was reached before anything was sent. As {@link AcquireOutcome#lastReason()}: the wait
         * budget ended while the acquisition waited for others of this client to end.
         */
        OVERLOADED("a limit of this client is reached: shed load, or raise the limit named in RedlockContext"),
        /** The acquisition was cancelled and rolled back. */
        CANCELLED("the acquisition was cancelled by its caller"),
        /** The client is closed or is being closed, or its event loop, a given one, was shut down before it. */
        CLOSED("the client is closed, or its event loop has ended: connect again");

        private final String advice;

        Kind(String advice) {
            this.advice = advice;
        }

        /** @return one sentence on what to do */
        public String advice() {
            return advice;
        }
    }

    /** @return the kind of outcome */
    Kind kind();

    /**
     * Advice for this outcome: that of its kind, or that of {@link #lastReason} if the wait budget ended. If too few
     * nodes vote because of quarantines, it has the time after which a quorum may vote, if that is known.
     *
     * @return one sentence on what to do. Allocates.
     */
    String advice();

    /** @return true for {@link Kind#ACQUIRED} */
    boolean isAcquired();

    /**
     * The lease.
     *
     * @return the lease, held when it was acquired
     * @throws LockNotAcquiredException if the lock was not acquired; the message has the outcome and the advice
     */
    Lease lease();

    /**
     * The reason of the last failed attempt for {@link Kind#TIMED_OUT}, else {@link #kind()}. If there was none, it is
     * {@link Kind#CONTENDED}: another acquisition of this client had precedence.
     *
     * @return the reason
     */
    Kind lastReason();

    /** @return attempts of this acquisition, each with a token of its own; 0 if it has sent nothing */
    int attemptCount();

    /** @return nodes that granted in the last attempt before it was decided */
    int grantedCount();

    /** @return nodes that refused in the last attempt because they hold another token */
    int refusedCount();

    /** @return nodes that certainly did not execute the command of the last attempt */
    int failedCount();

    /** @return nodes that did not answer the last attempt; they may have executed its command */
    int unknownCount();

    /**
     * The shortest remaining ttl that a refusing node reported: the earliest time at which another attempt can succeed.
     *
     * @return milliseconds; -1 if no node refused; Long.MAX_VALUE if the holder's key never expires
     */
    long shortestRemainingTtlMs();

    /**
     * The vote of one node in the last attempt, as text.
     *
     * @param nodeIndex the node, in configured order
     * @return granted, refused, pending (also if it was not asked), or the reason of a failed or unknown vote
     * @throws IndexOutOfBoundsException if there is no such node
     */
    String voteText(int nodeIndex);
}
