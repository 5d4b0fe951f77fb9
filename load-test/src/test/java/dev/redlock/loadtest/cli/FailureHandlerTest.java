package dev.redlock.loadtest.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Command;

class FailureHandlerTest {
    private final StringWriter err = new StringWriter();

    @Test
    void userErrorPrintsOneSentence() throws Exception {
        assertEquals(3, handle(new IOException("the disk is full")));
        assertEquals("load-test: the disk is full", err.toString().strip());
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
        return new FailureHandler().handleExecutionException(failure, line, null);
    }

    @Command
    private static final class Nothing {
        Nothing() {
            // picocli wants an object.
        }
    }
}
