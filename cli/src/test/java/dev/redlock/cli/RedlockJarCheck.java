package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.SocketNodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The jar as an operator runs it. Its name is not that of a test, because it needs the packaged jar. */
@Timeout(60)
class RedlockJarCheck {
    private static final Path JAR = Path.of("target", "redlock.jar");
    private static final long SIZE_MAX = 8_000_000;
    /**
     * A build may have any load beside it. At real-time priority, medians of 20 runs on two processors, JDK 17 and
     * three servers were 0.16 s for {@code --help}, 0.17 s for {@code locks list} and 0.37 s for {@code nodes}.
     */
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int LIST_CLASSES_MAX = Runtime.version().feature() < 25 ? 1800 : 2000;
    private static final int NODES_CLASSES_MAX = Runtime.version().feature() < 25 ? 3_100 : 3_200;

    @TempDir
    private Path folder;

    private final List<String> jvmOptions = new ArrayList<>();

    @Test
    void theJarIsSmall() throws IOException {
        assertTrue(Files.size(JAR) <= SIZE_MAX, Files.size(JAR) + " bytes");
    }

    /** A warning about a missing native library, about memory or about a log would be in the output. */
    @Test
    void itAnswersWithoutOptionsOfTheJvmOrWarnings() throws Exception {
        try (SocketNodes nodes = new SocketNodes(3)) {
            for (int i = 0; i < 3; i++) {
                int index = i;
                nodes.onLoop(i, () -> {
                    nodes.node(index).hostility((wire, words, honest) -> wire.send("*2\r\n$1\r\n0\r\n*0\r\n"));
                    return null;
                });
            }
            long startNs = System.nanoTime();
            assertEquals("No keys on 3 of 3 nodes.", output(0, "locks", "list", "--nodes",
                    String.join(",", nodes.addresses())));
            Duration took = Duration.ofNanos(System.nanoTime() - startNs);
            System.out.println("java -jar redlock.jar locks list: " + took.toMillis() + " ms");
            assertTrue(took.compareTo(LIMIT) < 0, took::toString);
        }
    }

    /** What the start costs is classes to load, whatever runs beside it: 1,740 on JDK 17, 1,953 on JDK 25. */
    @Test
    void listingLoadsFewClasses() throws Exception {
        try (SocketNodes nodes = new SocketNodes(1)) {
            nodes.onLoop(0, () -> {
                nodes.node(0).hostility((wire, words, honest) -> wire.send("*2\r\n$1\r\n0\r\n*0\r\n"));
                return null;
            });
            requireFewClasses(LIST_CLASSES_MAX, "locks", "list", "--nodes", String.join(",", nodes.addresses()));
        }
    }

    /** 3,066 on JDK 17; with the types of JFR's events it would be 135 more. */
    @Test
    void connectingLoadsNoMoreThanTheClient() throws Exception {
        try (SocketNodes nodes = new SocketNodes(3)) {
            requireFewClasses(NODES_CLASSES_MAX, "nodes", "--nodes", String.join(",", nodes.addresses()), "--lock",
                    "probe");
        }
    }

    private void requireFewClasses(int max, String... args) throws Exception {
        Path log = folder.resolve("classes");
        jvmOptions.add("-Xlog:class+load:file=" + log);
        output(0, args);
        long loaded = Files.readAllLines(log).stream().filter(line -> line.contains(" source: ")).count();
        assertTrue(loaded > 500 && loaded <= max, loaded + " classes");
    }

    /** The client of the library needs all its classes and a transport. */
    @Test
    void itConnectsWithTheLibrary() throws Exception {
        try (SocketNodes nodes = new SocketNodes(3)) {
            String text = output(0, "nodes", "--nodes", String.join(",", nodes.addresses()), "--lock", "probe");
            assertTrue(text.endsWith("A quorum votes.\nThe lock was acquired and released."), text);
        }
    }

    private String output(int code, String... args) throws Exception {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(jvmOptions);
        command.addAll(List.of("-jar", JAR.toString()));
        command.addAll(List.of(args));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes()).strip();
        assertEquals(code, process.waitFor(), text);
        return text;
    }
}
