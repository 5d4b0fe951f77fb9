package dev.redlock.node;

import dev.redlock.NodeState;

/**
 * Told what happens to a node outside of single requests.
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
    void onStateChange(Node node, NodeState state);

    /**
     * The node's clock has jumped, so keys on it may have expired early: votes it gave are worth nothing any more.
     *
     * @param node the node
     */
    void onClockJump(Node node);

    /**
     * Something that a person should know, said once for each change.
     *
     * @param node    the node
     * @param problem one sentence; holds no secret
     */
    void onProblem(Node node, String problem);
}
