package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;

class FailureHandlerTest {
    private final StringWriter err = new StringWriter();
    private boolean isEnding;

    @Test
    void userErrorPrintsOneSentence() throws Exception {
        assertEquals(3, handle(new IOException("the disk is full")));
        assertEquals("redlock: the disk is full", err.toString().strip());
        err.getBuffer().setLength(0);
        assertEquals(3, handle(new IllegalArgumentException("expected of this program")));
        assertEquals("redlock: expected of this program", err.toString().strip());
    }

    @Test
    void uncheckedFailureOfIoIsNoBug() throws Exception {
        assertEquals(3, handle(new UncheckedIOException("cannot connect to node 1", new IOException("it is down"))));
        assertEquals("redlock: cannot connect to node 1: it is down", err.toString().strip());
        err.getBuffer().setLength(0);
        assertEquals(3, handle(new UncheckedIOException(new IOException("Is a directory"))));
        assertEquals("redlock: Is a directory", err.toString().strip());
    }

    /** The message of such an exception is the path. */
    @Test
    void failureOfAFileHasItsReason() throws Exception {
        assertEquals(3, handle(new FileAlreadyExistsException("results")));
        assertEquals("redlock: results: file already exists", err.toString().strip());
    }

    /** A signal to the process group ends the servers too. */
    @Test
    void failureAtTheEndOfTheJvmIsAnInterruption() throws Exception {
        isEnding = true;
        assertEquals(130, handle(new IllegalStateException("node 1 was ended while it started")));
        assertEquals("redlock: interrupted", err.toString().strip());
    }

    @Test
    void interruptionReturnsTheCtrlCExitCode() throws Exception {
        assertEquals(130, handle(new InterruptedException("cancelled")));
        assertFalse(err.toString().contains("\tat "), err::toString);
    }

    @Test
    void bugPrintsItsStackTrace() throws Exception {
        assertEquals(70, handle(new IllegalStateException("impossible")));
        assertTrue(err.toString().contains("impossible") && err.toString().contains("\tat "), err::toString);
    }

    private int handle(Exception failure) throws Exception {
        CommandLine line = new CommandLine(new Nothing()).setErr(new PrintWriter(err, true));
        return new FailureHandler(Main.PROGRAM, IllegalArgumentException.class, () -> isEnding)
                .handleExecutionException(failure, line, null);
    }

    @Command
    private static final class Nothing {
        Nothing() {
            // picocli wants an object.
        }
    }
}
