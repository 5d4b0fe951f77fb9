package dev.redlock.trial.nodes;

/**
 * The fate of a node's keys in a restart.
 *
 * @threading immutable
 */
public enum Data {
    /** The append-only file is read back. */
    KEPT,
    /** The node comes back empty. */
    LOST
}
