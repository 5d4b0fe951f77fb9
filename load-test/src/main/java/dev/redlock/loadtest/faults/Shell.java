package dev.redlock.loadtest.faults;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Runs one command of the system to its end.
 *
 * @threading any thread
 */
final class Shell {
    private Shell() {
    }

    /**
     * Returns the output of the command.
     *
     * @throws IOException if the command is missing or ends with another code than 0; the message has its output
     */
    static String run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        try {
            if (process.waitFor() != 0) {
                throw new IOException(String.join(" ", command) + ": " + said);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while running " + String.join(" ", command), e);
        }
        return said;
    }

    static String run(String... command) throws IOException {
        return run(List.of(command));
    }
}
