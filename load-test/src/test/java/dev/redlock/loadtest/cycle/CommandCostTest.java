package dev.redlock.loadtest.cycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.Program;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The cost of each command, in a short form, on a real node. */
class CommandCostTest {

    private final StringWriter out = new StringWriter();

    private int run(String... arguments) {
        CommandLine program = Program.commandLine(new CommandCostCommand());
        program.setOut(new PrintWriter(out));
        program.setErr(new PrintWriter(out));
        return program.execute(arguments);
    }

    @Test
    void everyCommandFormHasTheMeasuredEffect() {
        assertEquals(0, run("--locks", "640", "--repetitions", "1"), out::toString);
        // Servers of later versions add commands of their own to what all of them have.
        long nativeCount = out.toString()
                .lines()
                .filter(line -> line.matches("(DELEX|DELIFEQ|SET IFEQ).*"))
                .count();
        assertEquals(13, out.toString().lines().count() - nativeCount, out::toString);
        assertTrue(nativeCount <= 2, out::toString);
        assertTrue(out.toString().lines().allMatch(line -> line.matches("[\\w ]+ +[\\d.]+ us a lock \\(.*\\)")),
                out::toString);
    }

    @ParameterizedTest
    @CsvSource({"--locks, 100", "--locks, 0", "--locks, 1000064", "--repetitions, 0"})
    void valuesOutOfRangeAreRejected(String option, String value) {
        assertEquals(2, run(option, value), out::toString);
        assertTrue(out.toString().contains(option + " is " + value), out::toString);
    }
}
