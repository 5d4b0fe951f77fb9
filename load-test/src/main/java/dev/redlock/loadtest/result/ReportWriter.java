package dev.redlock.loadtest.result;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Makes one more file of a finished run.
 *
 * @threading any thread
 */
public interface ReportWriter {
    /**
     * The name of the file, before FAIL is put into it.
     *
     * @return such as {@code report.html}
     */
    String fileName();

    /**
     * Writes the file.
     *
     * @param result the whole run
     * @param file   where to, in a folder that exists
     * @throws IOException if it cannot be written
     */
    void write(RunResult result, Path file) throws IOException;
}
