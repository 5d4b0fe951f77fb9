package dev.redlock.trial.nodes;

import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * One running server, as a process or in a container.
 *
 * @threading caller-confined to the {@link RedisNode} that owns it
 */
interface NodeProcess {
    /** The process id on this machine, if there is one. */
    OptionalLong pid();

    boolean isAlive();

    /** Waits until the server has ended; false if the limit passes first. */
    boolean awaitEnd(Duration limit);

    /** Requests its end (SIGTERM). */
    void terminate();

    /** Kills it (SIGKILL). */
    void kill();

    /** Freezes it (SIGSTOP) and returns once it is frozen. */
    void pause() throws IOException;

    /** Thaws it (SIGCONT). */
    void resume() throws IOException;

    String lastWords();

    /** Starts it again with the data it had; the old process has ended. */
    NodeProcess again() throws IOException;

    /** Removes its files, data included. */
    void discard() throws IOException;

    /**
     * Starts nodes from one source.
     *
     * @param product the product and its version, such as {@code redis-server 7.0.15}
     * @threading any thread
     */
    record Launcher(String product, Start start) {
        /** @threading any thread */
        @FunctionalInterface
        interface Start {
            /** Returns without waiting for the node to answer. */
            NodeProcess launch(NodeSpec spec) throws IOException;
        }
    }
}
