package dev.redlock.api;

/**
 * Why the client retains a lock no longer.
 *
 * @threading immutable
 */
public enum RetentionEnd {
    /** Another client wants the lock. */
    REVOKED,
    /** Another acquisition of this client wants the lock, or one of a set with its resource. */
    WANTED_LOCALLY,
    /** Its time is over, or too little validity is left. */
    EXPIRED,
    /** The connection to a node was lost, or a node may have lost keys. */
    NODE_LOST,
    /** The client retains too many others. */
    LIMIT,
    /** The client closes. */
    CLOSED
}
