package dev.redlock.quorum;

/**
 * One node's answer to one round.
 *
 * @threading immutable
 */
public enum Vote {
    /** The node did what was asked. */
    GRANTED,
    /** The node answered that it did not: somebody else's key stands there, or ours is gone. */
    REFUSED,
    /** The node did not execute the command, and we know it: nothing was sent, or it answered with an error. */
    FAILED,
    /** No answer: the node may or may not have executed the command. */
    UNKNOWN
}
