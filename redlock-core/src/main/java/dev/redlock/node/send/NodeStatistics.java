package dev.redlock.node.send;

import dev.redlock.telemetry.Counters;

/**
 * What the replies of one node show. The event loop writes it, any thread reads it.
 *
 * @param index    the node's place in configured order
 * @param counters by {@link NodeCounter}
 * @param health   the kinds of commands that fail
 * @threading any thread may read
 */
public record NodeStatistics(int index, Counters counters, NodeHealth health) {

    /** A node without replies. */
    public NodeStatistics(int index) {
        this(index, new Counters(NodeCounter.values().length), new NodeHealth());
    }
}
