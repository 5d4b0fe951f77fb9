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
     * Fewer than a quorum answered; the validity that the lease had stands until it ends, and another try may succeed.
     */
    NOT_EXTENDED,
    /** A quorum does not hold the token any more: the lease is lost. */
    LOST,
    /** The validity had ended before a quorum had answered, or before the call. */
    EXPIRED,
    /** The lease is not held: released, being released, or never acquired. */
    NOT_HELD
}
