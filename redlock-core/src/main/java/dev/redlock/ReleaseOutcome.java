package dev.redlock;

/**
 * What a release found.
 *
 * @threading immutable
 */
public enum ReleaseOutcome {
    /** A quorum of nodes deleted the lock: it was held until now and is free. */
    RELEASED,
    /** The lock was not held any more: its validity had ended, or a quorum no longer had the token. */
    EXPIRED,
    /** Too few nodes answered to say. What may still stand is deleted when the nodes come back, or expires. */
    UNKNOWN
}
