package dev.redlock;

/**
 * What an extension achieved.
 *
 * @threading immutable
 */
public enum ExtendOutcome {
    /** A quorum still held the token and renewed it: the lease has a new validity. */
    EXTENDED,
    /**
     * Fewer than a quorum renewed it; the validity that the lease had, or the shorter one that was asked for, goes on
     * until it ends, and another try may succeed.
     */
    NOT_EXTENDED,
    /**
     * A node does not hold the token any more, and the nodes that are known to hold it are fewer than a quorum: the
     * lease is lost.
     */
    LOST,
    /** The validity had ended before a quorum had answered, or before the call. */
    EXPIRED,
    /** The lease is not held: released, being released, or never acquired. */
    NOT_HELD
}
