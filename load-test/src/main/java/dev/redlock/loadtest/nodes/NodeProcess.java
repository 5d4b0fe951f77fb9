package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * One running server, whatever it runs in.
 *
 * @threading caller-confined to the {@link RedisNode} that owns it
 */
interface NodeProcess {
    /** The process id on this machine, where there is one. */
    OptionalLong pid();

    boolean isAlive();

    /** Waits until it has ended; false if it has not by then. */
    boolean awaitEnd(Duration limit);

    /** Asks it to end (SIGTERM). */
    void terminate();

    /** Ends it with no chance to tidy up (SIGKILL). */
    void kill();

    /** Freezes it (SIGSTOP) and returns once it is frozen. */
    void pause() throws IOException;

    /** Thaws it (SIGCONT). */
    void resume() throws IOException;

    /** Why it ended, in the server's own last words. */
    String lastWords();

    /** Starts it again with the data it had; the old process has ended. */
    NodeProcess again() throws IOException;

    /** Removes what is left of it, data included. */
    void discard() throws IOException;
}
