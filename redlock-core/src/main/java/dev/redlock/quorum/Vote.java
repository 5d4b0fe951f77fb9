package dev.redlock.quorum;

/**
 * The vote of one node in one round.
 *
 * @threading immutable
 */
public enum Vote {
    /** The node executed the command. */
    GRANTED,
    /** The node refused: the key has another token, or is missing. */
    REFUSED,
    /** The node did not execute the command: nothing was sent, or the reply is an error. */
    FAILED,
    /** There is no reply: the node may or may not have executed the command. */
    UNKNOWN
}
