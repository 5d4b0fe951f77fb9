package dev.redlock.loadtest.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.Program;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The comparison of callers that block, in a short form, on real nodes. */
@Timeout(300)
class CallersTest {

    private static final String CLASS_PATH = System.getProperty("java.class.path");
    private static final String CELL = "\\d+, \\d+\\.\\d, \\d+/\\d+";

    @TempDir
    private Path folder;
    private final StringWriter out = new StringWriter();

    private int run(String commitClassPath, String... more) {
        Map<String, String> classPaths = new LinkedHashMap<>();
        classPaths.put(VersusCommitCommand.TREE, CLASS_PATH);
        classPaths.put("commit", commitClassPath);
        String[] arguments = Stream.concat(Stream.of("--seconds=0.3", "--warmup=0.6", "--rounds=2",
                "--csv=" + folder.resolve("turns.csv")), Stream.of(more)).toArray(String[]::new);
        int code = execute(classPaths, arguments);
        // Again, if this machine had no time for a server: a vote that comes too late is lost.
        while (code == 1 && out.toString().contains(" votes lost")) {
            out.getBuffer().setLength(0);
            code = execute(classPaths, arguments);
        }
        return code;
    }

    private int execute(Map<String, String> classPaths, String... arguments) {
        return Program.commandLine(new CallersCommand(classPaths))
                .setOut(new PrintWriter(out, true))
                .execute(arguments);
    }

    private List<String> cells(String callers) {
        String row = out.toString().lines().filter(line -> line.startsWith("| " + callers + " |")).findFirst().get();
        return Arrays.stream(row.split("\\|")).map(String::strip).skip(2).toList();
    }

    @Test
    void clientsTakeTurnsAndShareATable() throws IOException {
        assertEquals(0, run(CLASS_PATH, "--platform=1,4", "--virtual=4"), out::toString);
        assertTrue(out.toString().contains("| callers | working tree | commit | jedis | redisson-single | lettuce |"),
                out::toString);
        for (String callers : List.of("platform 1", "platform 4")) {
            assertEquals(5, cells(callers).size(), out::toString);
            cells(callers).forEach(cell -> assertTrue(cell.matches(CELL), out::toString));
        }
        boolean hasVirtual = Runtime.version().feature() >= 21;
        assertEquals(hasVirtual, out.toString().contains("| virtual 4 |"), out::toString);
        assertEquals(!hasVirtual, out.toString().contains("No rows of virtual threads"), out::toString);
        List<String> turns = Files.readAllLines(folder.resolve("turns.csv"));
        assertEquals(1 + (hasVirtual ? 3 : 2) * 5 * 2, turns.size(), () -> String.join("\n", turns));
        assertTrue(turns.stream().anyMatch(turn -> turn.matches("1,AUTO/64,4 platform,lettuce,turn,2,[\\d.,-]+")),
                () -> String.join("\n", turns));
    }

    /** Each needs a majority of three nodes. */
    @Test
    void clientsLockOverSeveralNodes() {
        assertEquals(0, run(CLASS_PATH, "--nodes=3", "--platform=2", "--virtual=0", "--peers=jedis,redlock-blocking"),
                out::toString);
        assertTrue(out.toString().contains("N = 3: "), out::toString);
        cells("platform 2").forEach(cell -> assertTrue(cell.matches(CELL), out::toString));
    }

    /** A program in the place of the driver that connects to nothing and never prints a line. */
    private String stuckClassPath() throws IOException {
        Path source = folder.resolve("CommitDriver.java");
        Files.writeString(source, """
                package dev.redlock.loadtest.commit;

                public final class CommitDriver {
                    public static void main(String[] args) throws InterruptedException {
                        new java.util.concurrent.CountDownLatch(1).await();
                    }
                }
                """);
        Path classes = Files.createDirectory(folder.resolve("classes"));
        assertEquals(0, ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-proc:none", "-d", classes.toString(), source.toString()));
        return classes.toString();
    }

    @Test
    void clientThatIsStuckIsKilledAndTheOthersGoOn() throws IOException {
        assertEquals(1, run(stuckClassPath(), "--platform=1", "--virtual=0", "--peers=jedis", "--limit=15"),
                out::toString);
        assertEquals("no figures", cells("platform 1").get(1), out::toString);
        assertTrue(cells("platform 1").get(0).matches(CELL) && cells("platform 1").get(2).matches(CELL), out::toString);
        assertTrue(out.toString()
                .contains(
                        "FAIL: platform 1: commit: no figures within 15.6 s, so its process was killed"),
                out::toString);
    }

    @Test
    void clientThatFailsIsStartedAgainOnce() {
        assertEquals(1, run(folder.toString(), "--platform=1,2,3", "--virtual=0", "--peers=jedis"), out::toString);
        for (String callers : List.of("platform 1", "platform 2", "platform 3")) {
            assertEquals("no figures", cells(callers).get(1), out::toString);
            assertTrue(cells(callers).get(0).matches(CELL) && cells(callers).get(2).matches(CELL), out::toString);
        }
        assertEquals(List.of("platform 1", "platform 2"), out.toString()
                .lines()
                .filter(line -> line.matches("FAIL: .*: commit: the process has ended"))
                .map(line -> line.split(": ")[1])
                .toList(), out::toString);
    }

    @Test
    void clientThatFailsHasNoFigures() throws Exception {
        Process process = new ProcessBuilder("echo", "FAIL: an acquire ended with NO_QUORUM").start();
        try (Contender client = new Contender.Client("peer", process, 30)) {
            Exception failure = assertThrows(IllegalStateException.class, () -> client.measure("platform", 1, 0.1));
            assertTrue(failure.getMessage().matches("peer: (FAIL: .*NO_QUORUM|the process has ended)"),
                    failure::getMessage);
        }
        assertFalse(process.isAlive());
    }

    @ParameterizedTest
    @ValueSource(strings = {"--peers=jedi", "--peers=jedis,jedis", "--peers=etcd", "--peers=redisson-wait",
        "--nodes=0", "--platform=8193", "--virtual=-1", "--rounds=0", "--seconds=0", "--limit=0",
        "--platform=4,4"})
    void optionsOutOfRangeAreRejected(String option) {
        StringWriter err = new StringWriter();
        assertEquals(2, Program.commandLine(new CallersCommand()).setErr(new PrintWriter(err, true)).execute(option));
        assertTrue(err.toString().startsWith("--"), err::toString);
    }

    @Test
    void noRowIsRejected() {
        StringWriter err = new StringWriter();
        CommandLine line = Program.commandLine(new CallersCommand()).setErr(new PrintWriter(err, true));
        assertEquals(2, line.execute("--platform=0", "--virtual=0"));
        assertTrue(err.toString().startsWith("--platform and --virtual leave no row"), err::toString);
    }
}
