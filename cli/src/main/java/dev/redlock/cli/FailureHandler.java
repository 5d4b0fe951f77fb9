package dev.redlock.cli;

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
    private final Program program;
    private final Class<? extends Exception> expected;
    private final BooleanSupplier isEnding;

    /**
     * For a program.
     *
     * @param program  its name precedes each message
     * @param expected exceptions that are no bugs, beside those of I/O
     */
    public FailureHandler(Program program, Class<? extends Exception> expected) {
        this(program, expected, JvmEnd::isNear);
    }

    /** A handler that asks whether the JVM is ending; failures at its end are no bugs. */
    FailureHandler(Program program, Class<? extends Exception> expected, BooleanSupplier isEnding) {
        this.program = program;
        this.expected = expected;
        this.isEnding = isEnding;
    }

    @Override
    public int handleExecutionException(Exception failure, CommandLine line, CommandLine.ParseResult result)
            throws Exception {
        PrintWriter err = line.getErr();
        if (failure instanceof InterruptedException || isEnding.getAsBoolean()) {
            err.println(program.name() + ": interrupted");
            return ExitCodes.INTERRUPTED;
        }
        if (failure instanceof IOException || failure instanceof UncheckedIOException || expected.isInstance(failure)) {
            err.println(program.name() + ": " + text(failure));
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
