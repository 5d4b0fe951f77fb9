package dev.redlock.loadtest.driver;

/**
 * How an acquire ended, in the words of the algorithm; peers' outcomes are mapped onto these.
 *
 * @threading immutable
 */
public enum AcquireVerdict {
    /** A majority granted in time. */
    ACQUIRED,
    /** Others hold it. */
    CONTENDED,
    /** Nodes are down, quarantined or silent. */
    NO_QUORUM,
    /** A majority granted, too late to be of use. */
    TOO_SLOW,
    /** The wait budget is used up. */
    TIMED_OUT,
    /** A limit was reached before anything was sent. */
    OVERLOADED,
    /** The client is closed, or gave up for a reason of its own. */
    CLOSED
}
