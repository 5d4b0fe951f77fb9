package dev.redlock.loadtest.cli;

import dev.redlock.cli.Terminals;
import java.io.PrintWriter;

/**
 * Shows the progress of a program, as a bar on a terminal or as plain lines.
 *
 * @threading caller-confined
 */
public interface Progress extends AutoCloseable {
    /** The next phase starts. */
    void onPhase(String title);

    /** Time has passed, since the start of the first phase. */
    void onElapsed(long elapsedMs);

    /** Shows an event of this phase. */
    void onNews(String line);

    @Override
    void close();

    /**
     * A bar on a terminal, otherwise plain lines; both on standard error, so that standard output has the result only.
     */
    static Progress of(long totalMs, PrintWriter err) {
        return Terminals.isInteractive() ? new BarProgress(totalMs) : new LineProgress(totalMs, err);
    }
}
