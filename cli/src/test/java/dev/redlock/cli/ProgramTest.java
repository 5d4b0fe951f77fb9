package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ProgramTest {
    private static final Program PROGRAM = Main.PROGRAM;

    @Test
    void jarIsNamedAsTheUserNamedIt() {
        Path jar = Path.of("target", "redlock.jar").toAbsolutePath();
        assertEquals("java -jar target/redlock.jar", PROGRAM.start("target/redlock.jar", jar));
        assertEquals("java -jar ./target/redlock.jar", PROGRAM.start("./target/redlock.jar", jar));
    }

    @Test
    void classesNameTheJarOfABuild() {
        Path classes = Path.of("target", "classes").toAbsolutePath();
        for (String classPath : List.of("target/classes:lib/a.jar", "booter.jar", "target/classes")) {
            assertEquals("java -jar cli/target/redlock.jar", PROGRAM.start(classPath, classes));
        }
    }

    @Test
    void wordsThatTheShellWouldChangeAreQuoted() {
        assertEquals("a=1,b:2/c 'it'\\''s' '$x' ''", Program.quoted(List.of("a=1,b:2/c", "it's", "$x", "")));
    }

    @Test
    void everyHelpExampleParses() {
        int count = 0;
        for (CommandLine command : Main.commandLine().getSubcommands().values()) {
            count += parseExamples(command);
            count += command.getSubcommands().values().stream().mapToInt(ProgramTest::parseExamples).sum();
        }
        assertTrue(count > 8, "examples found: " + count);
    }

    private static int parseExamples(CommandLine command) {
        int count = 0;
        for (String example : command.getCommandSpec().usageMessage().footer()) {
            assertTrue(example.startsWith("  redlock ") && example.length() < 80, example);
            String[] words = example.strip().split(" ");
            Main.commandLine().parseArgs(List.of(words).subList(1, words.length).toArray(String[]::new));
            count++;
        }
        return count;
    }

    /** The options of the others would take longer to prepare than a command runs. */
    @Test
    void onlyTheNamedCommandIsPrepared() {
        Map<String, CommandLine> named = Main.commandLine("locks", "list", "orders").getSubcommands();
        assertEquals(Set.of("locks"), named.keySet());
        assertEquals(Set.of("list"), named.get("locks").getSubcommands().keySet());
        assertEquals(Set.of("nodes"), Main.commandLine("nodes").getSubcommands().keySet());
        for (String[] args : new String[][]{{}, {"--help"}, {"lock", "list"}}) {
            assertEquals(Set.of("locks", "nodes"), Main.commandLine(args).getSubcommands().keySet());
        }
        assertEquals(4, Main.commandLine("locks", "lst").getSubcommands().get("locks").getSubcommands().size());
    }

    @Test
    void aMisspelledCommandIsSuggested() {
        StringWriter err = new StringWriter();
        assertEquals(2, Main.run(new PrintWriter(err, true), new PrintWriter(err, true), "locks", "lst"));
        assertTrue(err.toString().contains("list"), err::toString);
    }

    @Test
    void helpVersionAndAMissingCommand() {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertEquals(0, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "locks", "break", "--help"));
        assertTrue(out.toString().contains("Exit codes:") && out.toString().contains("alias 'redlock=java -jar "),
                out::toString);
        out.getBuffer().setLength(0);
        assertEquals(0, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "--version"));
        assertTrue(out.toString().startsWith("redlock "), out::toString);
        assertEquals("", err.toString());
        assertEquals(2, Main.run(new PrintWriter(out, true), new PrintWriter(err, true)));
        assertTrue(err.toString().startsWith("a command is missing: write locks or nodes"), err::toString);
    }

    // ---- wrong use --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "nodes --timeout 61s --nodes 127.0.0.1:1|--timeout is 61s: expected at most 1m",
        "nodes --timeout 2h --nodes 127.0.0.1:1|--timeout is 2h: expected at most 1m",
        "nodes --lock a:redlock:fence --nodes 127.0.0.1:1|--lock: resource \"a:redlock:fence\" contains",
        "nodes --nodes redis-sentinel://a:1,b:1/p,redis-sentinel://b:1/p|--nodes: node address redis-sentinel://b:1/p"
                + " is given twice"})
    void wrongOptionsOfNodesReportTheRule(String args, String message) {
        assertRejected(message, args.split(" "));
    }

    @Test
    void aKeyHasTheLengthThatAClientMayAllow() {
        assertRejected("16385 bytes long with its prefix: at most 16384 are allowed", "nodes", "--lock",
                "k".repeat(16_385), "--nodes", "127.0.0.1:1");
        StringWriter out = new StringWriter();
        assertEquals(ExitCodes.NO_NODES, Main.run(new PrintWriter(out, true), new PrintWriter(out, true), "nodes",
                "--timeout", "1m", "--lock", "k".repeat(16_384), "--nodes", "127.0.0.1:1"), out::toString);
        assertTrue(out.toString().contains("Connection refused"), out::toString);
    }

    private static void assertRejected(String message, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertEquals(2, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args), err::toString);
        assertTrue(err.toString().contains(message), err::toString);
        assertTrue(err.toString().lines().count() <= 3, err::toString);
        assertEquals("", out.toString());
    }

    // ---- Sentinels --------------------------------------------------------------------------------------------------

    @Test
    void sentinelsWithoutAnAnswerAreANodeWithAProblem() {
        String group = "redis-sentinel://127.0.0.1:1/orders";
        try (FakeServer server = new FakeServer().reply("SCAN", "*2\r\n$1\r\n0\r\n*0\r\n")) {
            StringWriter out = new StringWriter();
            StringWriter err = new StringWriter();
            assertEquals(0, Main.run(new PrintWriter(out, true), new PrintWriter(err, true), "locks", "list",
                    "--nodes", group + "," + server.address(), "--timeout", "30s"), err::toString);
            assertEquals(List.of("no answer from " + group + ": no Sentinel names the primary of " + group
                    + ": 127.0.0.1:1: cannot connect to 127.0.0.1:1: Connection refused",
                    "No keys on 1 of 2 nodes."), out.toString().lines().toList());
        }
        StringWriter err = new StringWriter();
        assertEquals(ExitCodes.NO_NODES, Main.run(new PrintWriter(err, true), new PrintWriter(err, true), "locks",
                "list", "--nodes", group));
        assertEquals(1, err.toString().lines().count(), err::toString);
    }

    @Test
    void jsonIsEscaped() {
        assertEquals(
                "{\n  \"a\": [\n    1,\n    true,\n    null\n  ],\n  \"b\": [],"
                        + "\n  \"c\": \"\\\"\\\\\\u000a\u00e9\\ud83d\\ude00\"\n}",
                Json.text(
                        new TreeMap<>(Map.of("a", Arrays.asList(1, true, null), "b", List.of(), "c",
                                "\"\\\n\u00e9\ud83d\ude00"))));
    }
}
