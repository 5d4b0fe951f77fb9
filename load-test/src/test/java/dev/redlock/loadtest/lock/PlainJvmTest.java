package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.TransportKind;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A JVM without a single flag takes a lock: the class path is the two published modules and what they declare. On JDK
 * 17 nothing is said about access; from JDK 24 on the JVM itself warns that native libraries are loaded, which is no
 * failure and needs no flag.
 */
class PlainJvmTest {

    private static final List<String> PUBLISHED = List.of("resp-codec", "redlock-resp-codec", "redlock-core",
            "netty-buffer",
            "netty-common", "netty-transport", "netty-resolver");

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(value = TransportKind.class, names = {"AUTO", "NIO"})
    void acquiresOnAJvmWithoutFlags(TransportKind transport) throws IOException, InterruptedException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1))) {
            Path out = folder.resolve("out");
            Path err = folder.resolve("err");
            ProcessBuilder builder = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", classPath(),
                    PlainUser.class.getName(), nodes.addresses()[0], transport.name());
            builder.environment().remove("JAVA_TOOL_OPTIONS");
            builder.environment().remove("JDK_JAVA_OPTIONS");
            Process process = builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
            try {
                assertTrue(process.waitFor(60, TimeUnit.SECONDS), "it ends without a signal");
                String said = Files.readString(err);
                assertEquals(0, process.exitValue(), said);
                assertTrue(Files.readString(out).startsWith("held true over "), Files.readString(out));
                assertNothingAboutAccess(said);
            } finally {
                process.destroyForcibly();
            }
        }
    }

    private static void assertNothingAboutAccess(String said) {
        assertFalse(said.contains("IllegalAccess") || said.contains("InaccessibleObject"), said);
        if (Runtime.version().feature() < 24) {
            assertFalse(said.contains("WARNING"), said);
        }
    }

    /** From the test's own class path, so that it is the current build. */
    private static String classPath() {
        String all = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return Arrays.stream(all.split(File.pathSeparator))
                .filter(PlainJvmTest::isPublishedOrOwn)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static boolean isPublishedOrOwn(String entry) {
        Path path = Path.of(entry);
        boolean isOwn = path.endsWith(Path.of("load-test", "target", "test-classes"));
        boolean isModule = path.getNameCount() > 2 && path.getFileName().toString().equals("classes")
                && PUBLISHED.contains(path.getName(path.getNameCount() - 3).toString());
        String name = path.getFileName().toString();
        return isOwn || isModule
                || name.endsWith(".jar") && !name.endsWith("-tests.jar")
                        && PUBLISHED.stream().anyMatch(name::startsWith);
    }
}
