package dev.redlock.api;

/**
 * The outcome of an extension.
 *
 * @threading immutable
 */
public enum ExtendOutcome {
    /** A quorum still held the token and renewed it: the lease has a new validity. */
    EXTENDED,
    /**
     * Fewer than a quorum renewed it. The validity that the lease had, or the shorter one that was asked for, remains,
     * and another try may succeed.
     */
    NOT_EXTENDED,
    /** A node no longer holds the token, and fewer than a quorum of nodes are known to hold it: the lease is lost. */
    LOST,
    /** The validity had ended before a quorum had answered, or before the call. */
    EXPIRED,
    /** The lease is not held: released, being released, or never acquired. */
    NOT_HELD
}
