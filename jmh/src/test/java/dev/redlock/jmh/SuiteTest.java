package dev.redlock.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jmh.runner.options.CommandLineOptions;

/** The options of the suite, and its table. */
class SuiteTest {

    @TempDir
    Path folder;

    private static String text(ByteArrayOutputStream bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aWrongOptionIsOneSentence() throws Exception {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        assertEquals(2, Suite.run(new PrintStream(err, true, StandardCharsets.UTF_8), "--nosuch"));
        assertTrue(text(err).startsWith("Suite: ") && text(err).contains("nosuch"), text(err));
        assertEquals(1, text(err).lines().count(), text(err));
    }

    /** Each of them prints, and measures nothing. */
    @ParameterizedTest
    @CsvSource({"-h, Usage: java -jar", "-l, CallbackCycleBenchmark", "-lp, nodeCount", "-lprof, gc",
        "-lrf, Available formats"})
    void optionsThatAskForATextAreThoseOfJmh(String option, String expected) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            assertEquals(0, Suite.run(before, option));
        } finally {
            System.setOut(before);
        }
        assertTrue(text(out).contains(expected), text(out));
    }

    @Test
    void unitsFileAndFormatAreThoseOfTheOptions() throws Exception {
        System.setProperty("jmh.ignoreLock", "true");
        Path file = folder.resolve("result.csv");
        List<String> table = Suite.tableOf(Suite.measure(new CommandLineOptions("RequestRingBenchmark.ring", "-f", "0",
                "-wi",
                "0", "-i", "1", "-r", "20ms", "-bm", "thrpt", "-tu", "us", "-rf", "csv", "-rff", file.toString(), "-v",
                "SILENT"))).lines().toList();
        assertEquals("| benchmark | parameters | score | error | unit | B/op |", table.get(0));
        assertTrue(table.get(2).contains("| ops/us |"), table.get(2));
        assertTrue(Files.readString(file).startsWith("\"Benchmark\","), Files.readString(file));
    }
}
