package dev.redlock.loadtest.nodes;

import java.io.IOException;

/** @threading any thread */
interface NodeLauncher {
    /** The source. */
    Source source();

    /** Product and version, such as {@code redis-server 7.0.15}. */
    String product();

    /** Starts one node and returns without waiting for it to answer. */
    NodeProcess launch(NodeSpec spec) throws IOException;
}
