package dev.redlock.loadtest.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.Program;
import dev.redlock.loadtest.cli.ChildJvm;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class FirstSecondCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        CommandLine line = Program.commandLine(new FirstSecondCommand());
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    @Test
    void aColdProcessTellsItsFirstSecond() {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        assertEquals(0, run("--forms", "COLD", "--nodes", "1", "--rate", "50", "--threads", "2", "--rounds", "2"),
                () -> out + "" + err);
        String cell = " [\\d.]+ \\([\\d.]+ - [\\d.]+\\) \\|";
        assertTrue(out.toString().matches("(?s).*\\| COLD \\|(" + cell + "){7}\\s*"), out::toString);
        assertTrue(out.toString().contains("1 nodes, 50 requests in the first second on 2 threads, 2 processes"),
                out::toString);
    }

    /** A lock that another client has: the request does not count as one of 0 us. */
    @Test
    void aRequestWithoutItsLockFailsTheTurn() {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            nodes.node(0).call("SET", "request-7", "held");
            RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                    .restartGuard(RestartGuardMode.OFF)
                    .defaultWait(Duration.ofMillis(50));
            Exception failure = assertThrows(IllegalStateException.class,
                    () -> FirstSecond.measure(context, System.nanoTime(), 20, 2));
            assertTrue(failure.getMessage().startsWith("a request failed: "), failure::getMessage);
        }
    }

    /** The process waits for a lock, for much longer. */
    @Test
    void aProcessEndsWithItsStandardInput() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            nodes.node(0).call("SET", "first", "held");
            Process process = new ProcessBuilder(ChildJvm.command(List.of(), System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")), FirstSecond.class.getName(),
                    List.of(Long.toString(System.nanoTime()), "1", "1", nodes.addresses()[0])))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            process.getOutputStream().close();
            assertEquals(FirstSecond.END_OF_INPUT, process.waitFor());
        }
    }

    @Test
    void theCacheNeedsAJdkThatHasIt() {
        assumeTrue(Runtime.version().feature() < 25);
        assertEquals(2, run("--forms", "AOT"));
        assertTrue(err.toString().contains("--forms leaves none: AOT needs JDK 25, this is "), err::toString);
    }

    @Test
    void wrongOptionsReportTheRule() {
        assertEquals(2, run("--rate", "0"));
        assertTrue(err.toString().contains("--rate is 0: expected 1 to 100000"), err::toString);
    }
}
