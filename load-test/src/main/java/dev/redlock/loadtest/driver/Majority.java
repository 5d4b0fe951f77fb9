package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ExecutionException;

/**
 * Decides whether a session that opens has enough nodes.
 *
 * @threading any thread
 */
final class Majority {
    /** @threading caller-confined */
    @FunctionalInterface
    interface Probe<T> {
        /** Throws unless the node is ready. */
        void run(T node) throws Exception;
    }

    /** Returns the session if most nodes are ready; otherwise closes it and throws the last problem. */
    static <T> LockSession of(LockSession session, List<T> nodes, Probe<T> probe)
            throws IOException, InterruptedException {
        int ready = 0;
        String problem = null;
        for (T node : nodes) {
            try {
                probe.run(node);
                ready++;
            } catch (InterruptedException e) {
                session.close();
                throw e;
            } catch (Exception e) {
                // Each library has exceptions of its own.
                Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
                problem = cause.getMessage() == null ? cause.toString() : cause.getMessage();
            }
        }
        if (ready < nodes.size() / 2 + 1) {
            session.close();
            throw new IOException("only " + ready + " of " + nodes.size() + " nodes are ready: " + problem);
        }
        return session;
    }
}
