package dev.redlock.trial.nodes;

/**
 * The state of a node after the last call on it.
 *
 * @threading immutable
 */
public enum NodeState {
    /** Started, or given by address. */
    RUNNING,
    /** Frozen: connections stay open and no command is answered. */
    PAUSED,
    /** Stopped: connections are refused. */
    STOPPED
}
