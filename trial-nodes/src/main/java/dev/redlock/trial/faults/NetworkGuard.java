package dev.redlock.trial.faults;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Removes namespaces, even if the JVM that created them was killed. A small shell holds the other end of a pipe. When
 * the pipe breaks, it kills the processes inside these namespaces by their ids and deletes the namespaces.
 *
 * @threading any thread
 */
final class NetworkGuard implements AutoCloseable {
    private static final long LIMIT_SECONDS = 10;

    /** Ctrl-C reaches every process of a terminal; the guard ignores it and waits for the end of the pipe. */
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            while read -r line; do :; done
            for name in "$@"; do
              for pid in $(ip netns pids "$name" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
              ip netns del "$name" 2>/dev/null
            done
            """;

    private final Process shell;

    private NetworkGuard(Process shell) {
        this.shell = shell;
    }

    /** Starts before the namespaces exist; it skips missing ones. */
    static NetworkGuard start(List<String> namespaces) throws IOException {
        List<String> command = new ArrayList<>(List.of("sh", "-c", SCRIPT, "sh"));
        command.addAll(namespaces);
        return new NetworkGuard(new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
    }

    /** Returns when the namespaces are removed. */
    @Override
    public void close() throws IOException {
        shell.getOutputStream().close();
        try {
            if (!shell.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("the namespaces could not be removed within " + LIMIT_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while removing namespaces", e);
        }
    }
}
