package dev.redlock.loadtest.cli;

import dev.redlock.loadtest.nodes.NodesUnavailableException;
import java.io.IOException;
import java.io.PrintWriter;
import picocli.CommandLine;

/**
 * Maps exceptions to exit codes. Prints one sentence for a failure that the user can fix, and a stack trace for a bug.
 *
 * @threading immutable
 */
public final class FailureHandler implements CommandLine.IExecutionExceptionHandler {
    @Override
    public int handleExecutionException(Exception failure, CommandLine line, CommandLine.ParseResult result)
            throws Exception {
        PrintWriter err = line.getErr();
        if (failure instanceof NodesUnavailableException || failure instanceof IOException) {
            err.println("load-test: " + failure.getMessage());
            return ExitCodes.NO_NODES;
        }
        if (failure instanceof InterruptedException) {
            err.println("load-test: interrupted");
            return ExitCodes.INTERRUPTED;
        }
        failure.printStackTrace(err);
        return ExitCodes.BUG;
    }
}
