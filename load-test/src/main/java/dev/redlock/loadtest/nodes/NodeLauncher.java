package dev.redlock.loadtest.nodes;

import java.io.IOException;

/**
 * One source of nodes that are ours to start.
 *
 * @threading any thread
 */
interface NodeLauncher {
    /** Which source this is. */
    Source source();

    /** Product and version, such as {@code redis-server 7.0.15}. */
    String product();

    /** Starts one node and returns without waiting for it to answer. */
    NodeProcess launch(NodeSpec spec) throws IOException;
}
