package dev.redlock.node.send;

/**
 * The counts of one node.
 *
 * @threading immutable
 */
public enum NodeCounter {
    /** Acquires that the node granted. */
    GRANTED,
    /** Acquires that the node refused. */
    REFUSED,
    /** Error replies to lock commands. */
    ERRORS,
    /** Connections that were lost. */
    DISCONNECTS,
    /** Jumps of the node's clock. */
    CLOCK_JUMPS,
    /** Undelivered releases now. */
    UNDELIVERED,
    /** Undelivered releases that were dropped because there were too many; their keys expire. */
    UNDELIVERED_DROPPED,
    /** Undelivered releases that were sent later and executed. */
    UNDELIVERED_DELIVERED,
    /** Undelivered releases that were sent later and failed with an error that is not temporary; their keys expire. */
    UNDELIVERED_REFUSED
}
