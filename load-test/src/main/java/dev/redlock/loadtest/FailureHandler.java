package dev.redlock.loadtest;

import dev.redlock.loadtest.nodes.NodesUnavailableException;
import java.io.IOException;
import java.io.PrintWriter;
import picocli.CommandLine;

/**
 * Turns exceptions into exit codes: a sentence for what the user can mend, a stack trace for a bug.
 *
 * @threading immutable
 */
final class FailureHandler implements CommandLine.IExecutionExceptionHandler {
    @Override
    public int handleExecutionException(Exception failure, CommandLine line, CommandLine.ParseResult result)
            throws Exception {
        PrintWriter err = line.getErr();
        if (failure instanceof NodesUnavailableException || failure instanceof IOException) {
            err.println("load-test: " + failure.getMessage());
            return Main.EXIT_NO_NODES;
        }
        if (failure instanceof InterruptedException) {
            err.println("load-test: interrupted");
            return Main.EXIT_INTERRUPTED;
        }
        failure.printStackTrace(err);
        return Main.EXIT_BUG;
    }
}
