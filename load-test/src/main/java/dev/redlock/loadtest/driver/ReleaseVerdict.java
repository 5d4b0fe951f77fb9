package dev.redlock.loadtest.driver;

/**
 * The outcome of a release.
 *
 * @threading immutable
 */
public enum ReleaseVerdict {
    /** A majority deleted the lock. */
    RELEASED,
    /** The lock had expired already. */
    EXPIRED,
    /** Too few nodes replied to decide. */
    UNKNOWN
}
