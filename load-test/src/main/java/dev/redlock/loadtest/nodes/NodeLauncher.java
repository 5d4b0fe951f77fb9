package dev.redlock.loadtest.nodes;

import java.io.IOException;

/**
 * Starts nodes from one source.
 *
 * @param product the product and its version, such as {@code redis-server 7.0.15}
 * @threading any thread
 */
record NodeLauncher(String product, Start start) {
    /** @threading any thread */
    @FunctionalInterface
    interface Start {
        /** Returns without waiting for the node to answer. */
        NodeProcess launch(NodeSpec spec) throws IOException;
    }
}
