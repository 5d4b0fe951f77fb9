package dev.redlock.loadtest.nodes;

/**
 * What a node is doing, as far as we told it.
 *
 * @threading immutable
 */
public enum NodeState {
    /** Started, or given by address. */
    RUNNING,
    /** Frozen: connections stay open and nothing is answered. */
    PAUSED,
    /** Not there: connections are refused. */
    STOPPED
}
