package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.docs.DocPages;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The script that qualifies a server, with a Maven and a Java that only say what they were called for. */
class QualifyServerTest {
    private static final Pattern TEST_CLASS = Pattern.compile("\\w+Test\\b");

    @TempDir
    private Path folder;
    private Path script;
    private Path server;

    @BeforeEach
    void copyScript() throws IOException {
        Files.createDirectories(folder.resolve("load-test/target"));
        Files.createFile(folder.resolve("load-test/target/load-test.jar"));
        script = folder.resolve("load-test/qualify-server");
        Files.copy(DocPages.root().resolve("load-test/qualify-server"), script);
        server = program("server", "echo 'candidate v9'");
        program("mvn", "redis-server --version; echo \"mvn $*\"");
        program("java", "echo \"java $*\"");
    }

    private Path program(String name, String body) throws IOException {
        Path file = folder.resolve(name);
        Files.writeString(file, "#!/bin/sh\n" + body + "\n");
        assertTrue(file.toFile().setExecutable(true));
        return file;
    }

    private record Run(int code, List<String> lines) {
        String end() {
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 5), lines.size()));
        }
    }

    private Run run(String... args) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", script.toString()));
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().merge("PATH", folder.toString(), (path, first) -> first + ":" + path);
        Process process = builder.start();
        List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines()
                .toList();
        return new Run(process.waitFor(), lines);
    }

    @Test
    void eachPartRunsWithTheGivenServer() throws Exception {
        Run run = run(server.toString(), "7");
        assertEquals("candidate v9\nstart: passed\ncontract tests: passed\nfailure scenarios: passed\n"
                + "random faults for 7 s: passed", run.end());
        assertEquals(0, run.code());
        assertEquals(2, run.lines().stream().filter("candidate v9"::equals).count(), "the tests find the server");
        assertTrue(run.lines().stream().anyMatch(line -> line.contains("chaos --duration 7s")), run::end);
        List<String> calls = run.lines().stream().filter(line -> line.matches("(mvn|java) .*")).toList();
        assertEquals(4, calls.size(), calls::toString);
        assertTrue(calls.stream().allMatch(call -> call.contains("-Dtrial.nodes.folder=/")), calls::toString);
    }

    /** The errors of Valkey and of Redis 7, and of a server with TLS, which lacks a certificate. */
    @ParameterizedTest
    @CsvSource({"# Failed finding TLS support., true", "\">>> 'tls-port 1'\", true",
        "# Failed to configure TLS., false"})
    void onlyAServerWithoutTlsSkipsTheTestsOfTls(String error, boolean isSkipping) throws Exception {
        program("server", "[ \"$1\" = --version ] && echo 'candidate v9' && exit\ncat <<'END'\n" + error
                + "\nEND\nexit 1");
        Run run = run(server.toString());
        List<String> tests = run.lines().stream().filter(line -> line.startsWith("mvn ")).toList();
        assertEquals(1, tests.size(), run::end);
        assertTrue(tests.get(0).contains("-Dtests.requireServers=true"), run::end);
        assertEquals(isSkipping, tests.get(0).contains("-Dtests.withoutTls=true"), run::end);
    }

    /** As those of TLS, for a server that was built without it. */
    @Test
    void skippedTestsAreCounted() throws Exception {
        program("mvn", "echo '[INFO] Tests run: 95, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 1 s'; "
                + "echo '[WARNING] Tests run: 905, Failures: 0, Errors: 0, Skipped: 7'");
        Run run = run(server.toString());
        assertTrue(run.end()
                .contains("\ncontract tests: passed, 7 skipped: load-test/target/surefire-reports has the"
                        + " reasons\n"),
                run::end);
        assertEquals(0, run.code());
    }

    @Test
    void aFailedPartFailsTheRunAndTheOthersStillRun() throws Exception {
        program("mvn", "exit 1");
        Run run = run(server.toString());
        assertEquals("candidate v9\nstart: passed\ncontract tests: FAILED\nfailure scenarios: passed\n"
                + "random faults for 60 s: passed", run.end());
        assertEquals(1, run.code());
    }

    @Test
    void aScenarioThatCannotBePlayedHereIsNoFailure() throws Exception {
        program("java", "[ \"$4\" != scenarios ] || exit 4");
        Run run = run(server.toString());
        assertTrue(run.end().contains("failure scenarios: passed, except for what cannot be played on this machine"),
                run::end);
        assertEquals(0, run.code());
    }

    /** Another server on PATH, or the embedded one, must not run in its place. */
    @ParameterizedTest
    @CsvSource({"echo 'candidate v9', candidate v9", "exit 1, ''",
        "echo 'Redis server v=9.0.0'; exit 1, Redis server v=9.0.0"})
    void aServerThatDoesNotStartFailsTheRun(String body, String version) throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        program("server", body);
        program("java", "only=$1; shift 3; exec '" + Path.of(System.getProperty("java.home"), "bin", "java")
                + "' \"$only\" -cp '"
                + System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                + "' dev.redlock.loadtest.Main \"$@\"");
        Run run = run(server.toString());
        assertEquals(1, run.code(), run::end);
        assertTrue(run.end().endsWith(version + "\nstart: FAILED"), run::end);
        assertTrue(run.lines().stream().noneMatch(line -> line.startsWith("mvn")), run::end);
    }

    @Test
    void badInputIsRefused() throws Exception {
        assertRefused("give the file of the server");
        assertRefused("give the file of the server", server.toString(), "1", "2");
        assertRefused("cannot be run", script.getParent().toString());
        assertRefused("does not exist", folder.resolve("none/none").toString());
        for (String seconds : List.of("0", "1.5", "-1", "x")) {
            assertRefused(seconds + " is no number of seconds", server.toString(), seconds);
        }
        Files.delete(folder.resolve("load-test/target/load-test.jar"));
        assertRefused("mvn -DskipTests package", server.toString());
    }

    private void assertRefused(String why, String... args) throws Exception {
        Run run = run(args);
        assertEquals(2, run.code(), run::end);
        assertTrue(run.end().contains(why), run::end);
    }

    /** Maven would skip a name without a class silently. */
    @Test
    void everyContractTestExists() throws IOException {
        TreeSet<String> missing = new TreeSet<>();
        TEST_CLASS.matcher(Files.readString(script)).results().forEach(match -> missing.add(match.group()));
        assertTrue(missing.size() >= 8, missing::toString);
        try (Stream<Path> files = Files.walk(DocPages.root().resolve("load-test/src/test/java"))) {
            files.forEach(file -> missing.remove(file.getFileName().toString().replace(".java", "")));
        }
        assertEquals(new TreeSet<String>(), missing);
    }
}
