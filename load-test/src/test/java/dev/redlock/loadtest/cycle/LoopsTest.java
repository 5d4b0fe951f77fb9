package dev.redlock.loadtest.cycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.Program;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** It runs and finds its own cycles right. How much quicker two loops are is nobody's concern here. */
@Timeout(60)
class LoopsTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return Program.commandLine(new LoopsCommand())
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--in-process=3", "--loops=3 --commands=scripts --release-batch=1"})
    void loopsWorkAloneAndTogether(String options) {
        String[] more = (options + " --in-flight=4 --warmup=0.5 --seconds=0.3 --repetitions=1").split(" ");
        assertEquals(0, run(more), () -> out.toString() + err);
        assertTrue(out.toString()
                .matches("(?s)n=3 loops=\\d out=4 each  alone \\d+ cycles/s, [0-9.]+ us  together \\d+ cycles/s, .*"
                        + "  apart \\d+ cycles/s, .*medians \\(least - most\\): together [0-9.]+ \\([0-9.]+ - .*"),
                out::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--in-process=0", "--loops=65", "--in-flight=0", "--warmup=-1", "--seconds=0.01",
        "--repetitions=0"})
    void optionsOutOfRangeAreRejected(String option) {
        assertEquals(2, run(option), err::toString);
        assertTrue(err.toString().startsWith(option.substring(0, option.indexOf('=')) + " is "), err::toString);
    }

    @Test
    void helpNamesItsOptions() {
        assertEquals(0, run("--help"));
        assertTrue(out.toString().contains("--loops"), out::toString);
    }
}
