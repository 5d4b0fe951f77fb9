package dev.redlock.loadtest.nodes;

/**
 * What a restart does to a node's keys.
 *
 * @threading immutable
 */
public enum Data {
    /** The append-only file is read back. */
    KEPT,
    /** The node comes back empty. */
    LOST
}
