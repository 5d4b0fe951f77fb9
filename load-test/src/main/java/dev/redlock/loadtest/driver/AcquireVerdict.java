package dev.redlock.loadtest.driver;

/**
 * The outcome of an acquire in the terms of the algorithm. The outcomes of other clients are mapped to these.
 *
 * @threading immutable
 */
public enum AcquireVerdict {
    /** A majority granted in time. */
    ACQUIRED,
    /** Another client holds the lock. */
    CONTENDED,
    /** Nodes are down, quarantined or silent. */
    NO_QUORUM,
    /** A majority granted too late. */
    TOO_SLOW,
    /** The wait budget is used up. */
    TIMED_OUT,
    /** A limit was reached before the command was sent. */
    OVERLOADED,
    /** The client is closed, or failed for another reason. */
    CLOSED
}
