package dev.redlock.node;

import dev.redlock.NodeState;

/**
 * Gets the events of a node that belong to no single request.
 *
 * @threading event-loop-confined
 */
public interface NodeListener {

    /**
     * The node has another state.
     *
     * @param node  the node
     * @param state its state now
     */
    void onStateChange(NodeView node, NodeState state);

    /**
     * The node's clock has jumped, so keys may have expired early: the node's votes no longer count.
     *
     * @param node the node
     */
    void onClockJump(NodeView node);

    /**
     * The node has a problem, or has recovered from one. Called at most once a minute for the same line.
     *
     * @param node  the node
     * @param level WARNING if a person has to act, else INFO
     * @param line  what happened; holds no secret
     */
    void onLogLine(NodeView node, System.Logger.Level level, String line);
}
