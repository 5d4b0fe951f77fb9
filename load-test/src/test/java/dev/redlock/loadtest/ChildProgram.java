package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The program as a user runs it: a JVM of its own. */
final class ChildProgram implements AutoCloseable {
    private static final long LIMIT_SECONDS = 60;
    /** A JVM and its servers start within seconds; beside others, it takes many times as long. */
    private static final long OUT_LIMIT_SECONDS = 120;

    private final Path folder;
    private final Path out;
    private final Process process;
    private final BufferedReader err;
    private final StringBuilder errSeen = new StringBuilder();

    private ChildProgram(Path folder, Path out, Process process) {
        this.folder = folder;
        this.out = out;
        this.process = process;
        this.err = process.errorReader();
    }

    static ChildProgram start(String... args) throws IOException, InterruptedException {
        return start(Main.class, Map.of(), Arrays.asList(args));
    }

    static ChildProgram start(Class<?> main, Map<String, String> environment, List<String> args)
            throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("load-test-child-");
        Path out = folder.resolve("stdout");
        List<String> command = new ArrayList<>(interruptible());
        command.addAll(java(main, folder));
        command.addAll(args);
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile()).redirectOutput(out.toFile());
        builder.environment().putAll(environment);
        return new ChildProgram(folder, out, builder.start());
    }

    /** Most children live for seconds: the fast compiler and the small collector save a third of their CPU time. */
    private static List<String> java(Class<?> main, Path temporaryFolder) {
        return List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.io.tmpdir=" + temporaryFolder, "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                main.getName());
    }

    /** The help of a command on a terminal of this width. */
    static String help(int columns) throws IOException, InterruptedException {
        String command = String.join(" ", java(Main.class, Path.of(System.getProperty("java.io.tmpdir"))))
                + " latency --help";
        ProcessBuilder terminal = new ProcessBuilder("script", "-q", "-e", "-c",
                "stty cols " + columns + "; " + command, "/dev/null");
        terminal.environment().putAll(Map.of("TERM", "xterm", "NO_COLOR", "1"));
        Process process = terminal.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    /** A build that was started in the background may ignore SIGINT, and so would its children. */
    private static List<String> interruptible() throws InterruptedException {
        List<String> prefix = List.of("env", "--default-signal=INT");
        try {
            List<String> probe = new ArrayList<>(prefix);
            probe.add("true");
            return new ProcessBuilder(probe).start().waitFor() == 0 ? prefix : List.of();
        } catch (IOException e) {
            return List.of();
        }
    }

    /** Reads standard error up to a line that contains the text. */
    void awaitLine(String text) throws IOException {
        for (String line = err.readLine(); line != null; line = err.readLine()) {
            errSeen.append(line).append('\n');
            if (line.contains(text)) {
                return;
            }
        }
        throw new AssertionError("ended without '" + text + "': " + errSeen + Files.readString(out));
    }

    void signal(String name) throws IOException, InterruptedException {
        int failed = new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid()).start().waitFor();
        if (failed != 0) {
            throw new AssertionError("kill -" + name + " failed");
        }
    }

    long pid() {
        return process.pid();
    }

    /** The servers that it runs now; the shell that guards them is left out. */
    List<ProcessHandle> servers() {
        return process.descendants().filter(ChildProgram::isServer).toList();
    }

    private static boolean isServer(ProcessHandle handle) {
        return handle.info()
                .command()
                .map(name -> name.contains("redis") || name.contains("valkey") || name.endsWith("/etcd"))
                .orElse(false);
    }

    int awaitExit() throws InterruptedException, IOException {
        for (String line = err.readLine(); line != null; line = err.readLine()) {
            errSeen.append(line).append('\n');
        }
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + errSeen);
        }
        return process.exitValue();
    }

    /** The ports of the nodes that it runs now, read from their configuration. */
    List<Integer> servedPorts() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            List<Integer> ports = new ArrayList<>();
            for (Path file : files.filter(file -> file.endsWith("node.conf")).toList()) {
                Files.readAllLines(file)
                        .stream()
                        .filter(line -> line.startsWith("port "))
                        .forEach(line -> ports.add(Integer.valueOf(line.substring("port ".length()))));
            }
            return ports;
        }
    }

    /** Folders of servers that the program should have removed. */
    List<Path> leftovers() throws IOException {
        return folders("(redlock-nodes|redlock-chaos|consensus-servers)-.*");
    }

    /** Those in its temporary folder whose name matches. */
    List<Path> folders(String name) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().matches(name)).toList();
        }
    }

    /** Files that it wrote under its working folder, as a user finds them. */
    List<String> results() throws IOException {
        Path results = folder.resolve("load-test-results");
        if (!Files.exists(results)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(results)) {
            return files.filter(Files::isRegularFile).map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** The text of the only file with this name under its working folder. */
    String result(String name) throws IOException {
        try (Stream<Path> files = Files.walk(folder.resolve("load-test-results"))) {
            List<Path> found = files.filter(file -> file.endsWith(name)).toList();
            assertEquals(1, found.size(), found::toString);
            return Files.readString(found.get(0));
        }
    }

    /** Reads standard output until it holds the text, or the program ends. */
    void awaitOut(String text) throws Exception {
        Await.until("standard output holds '" + text + "'", TimeUnit.SECONDS.toMillis(OUT_LIMIT_SECONDS),
                () -> !process.isAlive() || out().contains(text));
        if (!out().contains(text)) {
            throw new AssertionError("ended without '" + text + "': " + out());
        }
    }

    String out() throws IOException {
        return Files.readString(out);
    }

    String err() {
        return errSeen.toString();
    }

    @Override
    public void close() throws IOException {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
