package dev.redlock.loadtest;

import java.io.PrintWriter;

/**
 * Shows how far a program is. It has a terminal form and a plain one.
 *
 * @threading caller-confined
 */
interface Progress extends AutoCloseable {
    /**
     * The next part begins.
     *
     * @param title what it is
     */
    void onPhase(String title);

    /**
     * Time has passed.
     *
     * @param elapsedMs since the program's first phase, of the total announced
     */
    void onElapsed(long elapsedMs);

    /**
     * Something worth a line happened in this part.
     *
     * @param line what
     */
    void onNews(String line);

    @Override
    void close();

    /** A bar on a terminal, plain lines otherwise; both on standard error, so that standard output is the result. */
    static Progress of(long totalMs, PrintWriter err) {
        return Terminals.isInteractive() ? new BarProgress(totalMs) : new LineProgress(totalMs, err);
    }
}
