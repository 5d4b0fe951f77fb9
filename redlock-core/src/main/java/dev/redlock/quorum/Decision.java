package dev.redlock.quorum;

/**
 * What the votes of a round say so far.
 *
 * @threading immutable
 */
public enum Decision {
    /** Votes that are still out can change the answer. */
    OPEN,
    /** A quorum granted. */
    WON,
    /** A quorum can no longer grant, and nodes that refused are the reason: without them it still could. */
    CONTENDED,
    /** A quorum can no longer grant because too many nodes failed or stayed silent. */
    NO_QUORUM
}
