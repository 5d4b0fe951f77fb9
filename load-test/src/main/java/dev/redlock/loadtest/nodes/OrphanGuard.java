package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/**
 * Ends servers whose JVM was killed before any shutdown hook could run. A small shell holds the other end of a pipe: it
 * is told each process id that starts and ends, and when the pipe breaks it kills what is left.
 *
 * @threading any thread
 */
final class OrphanGuard implements AutoCloseable {
    /** Ctrl-C reaches every process of a terminal; the guard outlives it to see the pipe break. */
    private static final String SCRIPT = """
            trap '' INT TERM HUP
            pids=' '
            while read -r event pid; do
              case $event in
                started) pids="$pids$pid " ;;
                ended) case $pids in *" $pid "*) pids="${pids%% $pid *} ${pids#* $pid }" ;; esac ;;
              esac
            done
            for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
            """;

    private final PrintStream pipe;

    private OrphanGuard(PrintStream pipe) {
        this.pipe = pipe;
    }

    /** A guard; where there is no shell, one that does nothing. */
    static OrphanGuard start() {
        try {
            Process shell = new ProcessBuilder("sh", "-c", SCRIPT).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new OrphanGuard(new PrintStream(shell.getOutputStream(), true, StandardCharsets.US_ASCII));
        } catch (IOException e) {
            return new OrphanGuard(null);
        }
    }

    void onStarted(OptionalLong pid) {
        tell("started", pid);
    }

    /** To be told once the process has been reaped, and before its id can be given to another. */
    void onEnded(OptionalLong pid) {
        tell("ended", pid);
    }

    private void tell(String event, OptionalLong pid) {
        if (pipe != null && pid.isPresent()) {
            pipe.println(event + " " + pid.getAsLong());
        }
    }

    @Override
    public void close() {
        if (pipe != null) {
            pipe.close();
        }
    }
}
