package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.docs.DocPages;
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
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 4), lines.size()));
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
        assertEquals("candidate v9\ncontract tests: passed\nfailure scenarios: passed\nrandom faults for 7 s: passed",
                run.end());
        assertEquals(0, run.code());
        assertEquals(2, run.lines().stream().filter("candidate v9"::equals).count(), "the tests find the server");
        assertTrue(run.lines().stream().anyMatch(line -> line.contains("chaos --duration 7s")), run::end);
    }

    @Test
    void aFailedPartFailsTheRunAndTheOthersStillRun() throws Exception {
        program("mvn", "exit 1");
        Run run = run(server.toString());
        assertEquals("candidate v9\ncontract tests: FAILED\nfailure scenarios: passed\nrandom faults for 60 s: passed",
                run.end());
        assertEquals(1, run.code());
    }

    @Test
    void aScenarioThatCannotBePlayedHereIsNoFailure() throws Exception {
        program("java", "[ \"$3\" != scenarios ] || exit 4");
        Run run = run(server.toString());
        assertTrue(run.end().contains("failure scenarios: passed, except for what cannot be played on this machine"),
                run::end);
        assertEquals(0, run.code());
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
