package dev.redlock.loadtest.driver;

/**
 * How a release ended.
 *
 * @threading immutable
 */
public enum ReleaseVerdict {
    /** A majority deleted the lock. */
    RELEASED,
    /** It was gone already. */
    EXPIRED,
    /** Too few nodes answered to tell. */
    UNKNOWN
}
