package dev.redlock.quorum;

/**
 * The result of a round, given the votes so far.
 *
 * @threading immutable
 */
public enum Decision {
    /** Pending votes can change the result. */
    OPEN,
    /** A quorum granted. */
    WON,
    /** A quorum can no longer grant because of refusals: without them it could. */
    CONTENDED,
    /** A quorum can no longer grant because too many votes are failed or unknown. */
    NO_QUORUM
}
