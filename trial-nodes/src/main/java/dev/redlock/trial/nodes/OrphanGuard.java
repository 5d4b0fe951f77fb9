package dev.redlock.trial.nodes;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/**
 * Kills servers whose JVM was killed before any shutdown hook could run. A small shell holds the other end of a pipe
 * and reads from it each process id that starts and ends. When the pipe breaks, it kills the remaining processes.
 *
 * @threading any thread
 */
public final class OrphanGuard implements AutoCloseable {
    /** Ctrl-C reaches every process of a terminal; the guard ignores it and waits for the end of the pipe. */
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

    /** A guard; on a system without a shell it does nothing. */
    public static OrphanGuard start() {
        try {
            Process shell = new ProcessBuilder("sh", "-c", SCRIPT).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new OrphanGuard(new PrintStream(shell.getOutputStream(), true, StandardCharsets.US_ASCII));
        } catch (IOException e) {
            return new OrphanGuard(null);
        }
    }

    /** Called after the start of a process; the id is empty if it has none on this machine. */
    public void onStarted(OptionalLong pid) {
        send("started", pid);
    }

    /** Called after the process has been reaped, and before the system can reuse its id. */
    public void onEnded(OptionalLong pid) {
        send("ended", pid);
    }

    private void send(String event, OptionalLong pid) {
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
