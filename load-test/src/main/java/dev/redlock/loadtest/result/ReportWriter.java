package dev.redlock.loadtest.result;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Writes a report of a finished run.
 *
 * @threading any thread
 */
public interface ReportWriter {
    /** The name of the file without FAIL, such as {@code report.html}. */
    String fileName();

    void write(RunResult result, Path file) throws IOException;
}
