package dev.redlock.loadtest.commit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.Program;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The comparison with a commit, in a short form, on real nodes. */
@Timeout(300)
class VersusCommitTest {

    private static final String CLASS_PATH = System.getProperty("java.class.path");

    @TempDir
    private Path folder;
    private final StringWriter out = new StringWriter();

    private int run(String classPath, String... more) {
        Map<String, String> classPaths = new LinkedHashMap<>();
        classPaths.put("commit", classPath);
        classPaths.put(VersusCommitCommand.TREE, CLASS_PATH);
        String[] arguments = Stream.concat(Stream.of("--nodes=3", "--commands=SCRIPTS/1", "--warmup=0.1",
                "--seconds=0.1", "--csv=" + folder.resolve("turns.csv")),
                Stream.of(more)).toArray(String[]::new);
        int code = execute(classPaths, arguments);
        // Again, if this machine had no time for a server: a vote that comes too late is lost.
        while (code == 1 && out.toString().contains(" votes lost")) {
            out.getBuffer().setLength(0);
            code = execute(classPaths, arguments);
        }
        return code;
    }

    private int execute(Map<String, String> classPaths, String... arguments) {
        return Program.commandLine(new VersusCommitCommand(classPaths))
                .setOut(new PrintWriter(out, true))
                .execute(arguments);
    }

    /** The rows of a phase with their figures from the cycles per second on, by load and contender. */
    private Map<String, List<double[]>> rows(String phase) throws IOException {
        return Files.readAllLines(folder.resolve("turns.csv"))
                .stream()
                .map(line -> line.split(","))
                .filter(words -> words[4].equals(phase))
                .collect(Collectors.groupingBy(words -> words[2] + " " + words[3], Collectors.mapping(
                        words -> Arrays.stream(words, 6, words.length).mapToDouble(Double::parseDouble).toArray(),
                        Collectors.toList())));
    }

    /** A program with the interface of the floor, whose figures are the numbers of its columns. */
    private Path floor(int failed) throws IOException {
        Path program = folder.resolve("floor");
        Files.writeString(program, """
                #!/bin/sh
                [ "$1 $2 $5" = "epoll evalsha 0.1" ] && [ -n "$BASE_PORT" ] && [ -n "$WARMUP" ] &&
                  [ "$(echo "$SERVER_PIDS" | tr , '\\n' | grep -c .)" = "$3" ] || exit 1
                echo 0,floor,-,$3,$4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,FAILED,26,27,28,29,notes
                """.replace("FAILED", Integer.toString(failed)));
        assertTrue(program.toFile().setExecutable(true));
        return program;
    }

    @Test
    void contendersTakeTurnsOnTheSameNodes() throws IOException {
        assertEquals(0, run(CLASS_PATH, "--floor=" + floor(0), "--in-flight=8,1", "--turns=3", "--starts=2"),
                out::toString);
        Map<String, List<double[]>> turns = rows("turn");
        assertEquals(Set.of("8 commit", "8 working tree", "8 floor", "1 commit", "1 working tree", "1 floor"),
                turns.keySet());
        turns.forEach((name, figures) -> assertEquals(3, figures.size(), name));
        for (double[] own : turns.get("8 working tree")) {
            assertEquals(13, own.length);
            assertTrue(own[0] > 0, "cycles/s " + own[0]);
            assertTrue(0 < own[1] && own[1] <= own[2] && own[2] <= own[3] && own[3] <= own[4] + 1,
                    Arrays.toString(own));
            assertTrue(own[8] > 0 && own[9] > 0, "CPU of the loop and of the servers " + Arrays.toString(own));
        }
        assertArrayEquals(new double[]{9, 14, 15, 16, 17, 20, 18, 19, 20, 21, 0, 27, 0}, turns.get("1 floor").get(0));
        assertEquals(Set.of("8 commit", "8 working tree"), rows("warm-up").keySet());
        assertEquals(2 * 5, rows("warm-up").get("8 commit").size());
        assertTrue(out.toString()
                .matches("(?s).*cycles/s in second +1 +2 +3 +4 +5\\R  commit( +\\d+){5}\\R.*"
                        + "working tree( +[\\d.]+){13}\\R.*ratio to commit:  cycles/s [\\d.]+ \\([\\d.]+ - [\\d.]+\\).*"
                        + "ratio to floor:  cycles/s .*"),
                out::toString);
    }

    /** Each cycle has its thread, which waits for the lock. */
    @Test
    void callersMayBlock() throws IOException {
        assertEquals(0, run(CLASS_PATH, "--callers=platform,callbacks", "--in-flight=4", "--turns=1", "--starts=1"),
                out::toString);
        Map<String, List<double[]>> turns = rows("turn");
        assertEquals(Set.of("4 platform commit", "4 platform working tree", "4 commit", "4 working tree"),
                turns.keySet());
        double switches = turns.get("4 platform working tree").get(0)[12];
        assertTrue(switches > 0.1, "times that a thread gives up the CPU in a cycle: " + switches);
    }

    @Test
    void locksThatTheFloorDidNotAcquireFailTheRun() throws IOException {
        Contender floor = new Contender.Floor(floor(2), List.of(), 1, "");
        Exception failure = assertThrows(IllegalStateException.class, () -> floor.measure("callbacks", 1, 0.1));
        assertEquals("the floor did not acquire 2 locks", failure.getMessage());
    }

    @Test
    void contenderThatDoesNotStartFailsTheRun() {
        assertEquals(1, run(folder.toString(), "--turns=1"));
        assertTrue(out.toString().contains("FAIL: commit: the process has ended"), out::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--turns=0", "--starts=0", "--seconds=0", "--warmup=-1", "--commands=AUTO",
        "--callers=fibers"})
    void optionsOutOfRangeAreRejected(String option) {
        StringWriter err = new StringWriter();
        assertEquals(2,
                Program.commandLine(new VersusCommitCommand()).setErr(new PrintWriter(err, true)).execute(option));
        assertTrue(err.toString().startsWith("--turns and --starts"), err::toString);
    }

    @ParameterizedTest
    @CsvSource({"--nodes, 0, 63", "--nodes, 64, 63", "--in-flight, 0, 8192", "--in-flight, 9000, 8192"})
    void countsOutOfRangeAreRejectedBeforeTheBuild(String option, int value, int most) {
        StringWriter err = new StringWriter();
        assertEquals(2, Program.commandLine(new VersusCommitCommand())
                .setErr(new PrintWriter(err, true))
                .execute("--commit=none", option + "=1," + value), err::toString);
        assertTrue(err.toString().startsWith(option + " is " + value + ": expected 1 to " + most), err::toString);
    }

    /**
     * A repository with the sources of this project: the build may be of a state without one. Its commit has no
     * driver, as the commits from before it.
     *
     * @param isFlat whether all public types are in one package, as in the first commits
     */
    private void repository(boolean isFlat) throws IOException {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("README.md"))) {
            root = root.getParent();
        }
        for (String part : List.of("resp-codec/src/main", "redlock-core/src/main",
                "load-test/src/main/java/dev/redlock/loadtest/commit")) {
            try (Stream<Path> files = Files.walk(root.resolve(part))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    String name = root.relativize(file).toString();
                    if (isFlat && name.startsWith("redlock-core") && name.endsWith(".java")) {
                        flatten(name, Files.readString(file));
                    } else {
                        Path copy = folder.resolve(name);
                        Files.createDirectories(copy.getParent());
                        Files.copy(file, copy);
                    }
                }
            }
        }
        CommitBuild.git(folder, "init", "-q");
        CommitBuild.git(folder, "add", "resp-codec", "redlock-core");
        CommitBuild.git(folder, "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m",
                "test");
    }

    private void flatten(String name, String source) throws IOException {
        if (!name.endsWith("/api/package-info.java")) {
            Path copy = folder.resolve(name.replace("/dev/redlock/api/", "/dev/redlock/"));
            Files.createDirectories(copy.getParent());
            Files.writeString(copy, source.replace("dev.redlock.api", "dev.redlock"));
        }
    }

    @Test
    void anUnknownCommitIsReported() throws IOException {
        repository(false);
        try (CommitBuild build = new CommitBuild(folder)) {
            Exception failure = assertThrows(IllegalStateException.class, () -> build.commit("nowhere"));
            assertTrue(failure.getMessage().matches("git .*archive.* nowhere: fatal: .*nowhere.*"),
                    failure::getMessage);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void buildsACommitWithoutAWorktree(boolean isFlat) throws IOException {
        repository(isFlat);
        Path checkedOut = folder.resolve("checked-out");
        Path hook = folder.resolve(".git/hooks/post-checkout");
        Files.createDirectories(hook.getParent());
        Files.writeString(hook, "#!/bin/sh\ntouch '" + checkedOut + "'\n");
        assertTrue(hook.toFile().setExecutable(true));
        Path broken = folder.resolve("redlock-core/src/main/java/dev/redlock/Redlock.java");
        Files.writeString(broken, "no class");
        Path classes;
        try (CommitBuild build = new CommitBuild(folder.resolve("load-test"))) {
            String classPath = build.commit("HEAD");
            classes = Path.of(classPath.substring(0, classPath.indexOf(File.pathSeparator)));
            assertTrue(Files.exists(classes.resolve("dev/redlock/Redlock.class")));
            assertTrue(Files.exists(classes.resolve("dev/redlock/node/send/acquire.lua")));
            assertFalse(Files.exists(checkedOut), "a signal would leave a worktree in the repository");
            assertEquals(0, run(classPath, "--in-flight=8", "--turns=1", "--starts=1"), out::toString);
            Exception failure = assertThrows(IllegalStateException.class, build::workingTree);
            assertTrue(failure.getMessage().contains("Redlock.java:1: error"), failure::getMessage);
        }
        assertFalse(Files.exists(classes));
    }
}
