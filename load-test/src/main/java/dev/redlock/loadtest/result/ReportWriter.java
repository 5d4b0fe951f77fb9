package dev.redlock.loadtest.result;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Writes a report of a finished run.
 *
 * @threading any thread
 */
public interface ReportWriter {
    /**
     * The name of the file, without FAIL.
     *
     * @return such as {@code report.html}
     */
    String fileName();

    /**
     * Writes the file.
     *
     * @throws IOException if it cannot be written
     */
    void write(RunResult result, Path file) throws IOException;
}
