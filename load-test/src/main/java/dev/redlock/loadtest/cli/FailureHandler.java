package dev.redlock.loadtest.cli;

import dev.redlock.loadtest.nodes.NodesUnavailableException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import picocli.CommandLine;

/**
 * Maps exceptions to exit codes. Prints one sentence for a failure that the user can fix, and a stack trace for a bug.
 *
 * @threading immutable
 */
public final class FailureHandler implements CommandLine.IExecutionExceptionHandler {
    private final BooleanSupplier isEnding;

    /** For the program. */
    public FailureHandler() {
        this(JvmEnd::isNear);
    }

    /** A handler that asks whether the JVM is ending; failures at its end are no bugs. */
    FailureHandler(BooleanSupplier isEnding) {
        this.isEnding = isEnding;
    }

    @Override
    public int handleExecutionException(Exception failure, CommandLine line, CommandLine.ParseResult result)
            throws Exception {
        PrintWriter err = line.getErr();
        if (failure instanceof InterruptedException || isEnding.getAsBoolean()) {
            err.println("load-test: interrupted");
            return ExitCodes.INTERRUPTED;
        }
        if (failure instanceof NodesUnavailableException || failure instanceof IOException
                || failure instanceof UncheckedIOException) {
            err.println("load-test: " + text(failure));
            return ExitCodes.NO_NODES;
        }
        failure.printStackTrace(err);
        return ExitCodes.BUG;
    }

    private static String text(Exception failure) {
        if (failure instanceof UncheckedIOException unchecked) {
            IOException cause = unchecked.getCause();
            boolean isWrapperOnly = cause.toString().equals(unchecked.getMessage());
            return isWrapperOnly ? text(cause) : unchecked.getMessage() + ": " + text(cause);
        }
        if (failure instanceof FileSystemException file && file.getReason() == null) {
            return file.getMessage() + ": " + words(file.getClass().getSimpleName());
        }
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }

    /** The message of such an exception is the path alone: "FileAlreadyExistsException" becomes its reason. */
    private static String words(String className) {
        return className.replaceFirst("Exception$", "").replaceAll("(?<=[a-z])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
    }
}
