package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.SocketNodes;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.spi.ToolProvider;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A new project, made of the blocks of README.md, docs/start/first-lock.md and docs/start/modules.md, takes its first
 * lock: on the class path, on the module path and in an image. The POM of this project has the blocks of README.md and
 * docs/start/spring-boot.md. Maven resolves its runtime class path beside the dependency management of Spring Boot 3.
 */
class InstallationTest {

    private static final String CHECK = """
            package shop;
            import dev.redlock.*;
            import dev.redlock.api.*;
            public final class Check {
                public static void main(String[] args) throws Exception {
                    FirstLock.main(args);
                    try (Redlock redlock = Redlock.connect(
                            new RedlockContext().nodes("NODE").restartGuard(RestartGuardMode.OFF))) {
                        System.out.println("transport " + redlock.transportDescription());
                    }
                }
            }
            """;

    private static final String METRICS = """
            package metrics;
            import dev.redlock.*;
            import dev.redlock.micrometer.RedlockMetrics;
            import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
            public final class Metrics {
                public static void main(String[] args) {
                    SimpleMeterRegistry registry = new SimpleMeterRegistry();
                    try (Redlock redlock = Redlock.connect("NODE")) {
                        new RedlockMetrics(redlock).bindTo(registry);
                        System.out.println("held " + registry.get("redlock.leases.held").gauge().value());
                    }
                }
            }
            """;

    private static final Pattern BUSY_MACHINE = Pattern
            .compile("no quorum votes for|a quorum votes again|of 3 nodes vote;|closed without confirmed release"
                    + "|has not completed a turn for 1[0-9]{3} ms");

    @TempDir
    private static Path folder;
    private static SocketNodes nodes;
    private static List<String> jars;
    private static Page modules;

    @BeforeAll
    static void build() throws IOException {
        nodes = new SocketNodes(3);
        modules = Page.of("docs/start/modules.md");
        jars = List.of(Files.readString(Path.of("target", "runtime-class-path")).strip().split(File.pathSeparator));
        Path sources = Files.createDirectories(folder.resolve("sources"));
        Files.writeString(sources.resolve("module-info.java"), modules.block("text", "module shop"));
        String firstLock = Page.of("docs/start/first-lock.md").block("java", "class FirstLock");
        for (int i = 0; i < 3; i++) {
            firstLock = firstLock.replace("127.0.0.1:700" + (i + 1), nodes.addresses()[i]);
        }
        Files.writeString(sources.resolve("FirstLock.java"), "package shop;\n" + firstLock);
        Files.writeString(sources.resolve("Check.java"), CHECK.replace("NODE", nodes.addresses()[0]));
        Path lib = Files.createDirectories(folder.resolve("target/lib"));
        for (String jar : jars) {
            addTo(lib, Path.of(jar));
        }
        // The BOM of Netty gives native libraries the scope "runtime", so Maven compiles without them.
        String compilePath = jars.stream()
                .filter(jar -> !jar.matches(".*-(linux|osx)-[a-z0-9_]+\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        run("javac", "--release", "17", "-Xlint:all,-path", "-Werror", "-p", compilePath, "-d",
                folder.resolve("target/classes").toString(), sources.resolve("module-info.java").toString(),
                sources.resolve("FirstLock.java").toString(), sources.resolve("Check.java").toString());
    }

    /** Before the package phase, a module of the reactor is a folder of classes. */
    private static void addTo(Path lib, Path entry) throws IOException {
        if (Files.isDirectory(entry)) {
            run("jar", "--create", "--file",
                    lib.resolve(entry.getParent().getParent().getFileName() + ".jar").toString(), "-C",
                    entry.toString(), ".");
        } else {
            Files.copy(entry, lib.resolve(entry.getFileName()));
        }
    }

    private static void run(String tool, String... args) {
        PrintWriter out = new PrintWriter(System.err, true);
        assertEquals(0, ToolProvider.findFirst(tool).orElseThrow().run(out, out, args),
                () -> tool + " " + String.join(" ", args));
    }

    @AfterAll
    static void close() {
        nodes.close();
    }

    @Test
    void thePomHasTheBlocksOfThePages() throws IOException {
        String pom = withoutIndentation(Files.readString(Path.of("pom.xml")));
        String dependency = withoutIndentation(Page.of("README.md").block("xml", "redlock-core"));
        assertTrue(pom.contains(dependency), "the dependency");
        Page spring = Page.of("docs/start/spring-boot.md");
        String management = withoutIndentation(spring.block("xml", "netty-bom"));
        String netty = management.substring(management.indexOf("<!--"), management.indexOf("</dependencies>"));
        assertTrue(pom.contains(netty), netty);
        assertTrue(pom.indexOf("netty-bom") < pom.indexOf("<artifactId>spring-boot-dependencies"), "it is the first");
        String version = "4.2.18.Final";
        assertTrue(management.contains("<version>" + version + "</version>"));
        assertTrue(spring.block("kotlin", "netty.version").contains("\"" + version + "\""));
        assertTrue(spring.block("xml", "<properties>").contains("<netty.version>" + version + "</netty.version>"));
    }

    private static String withoutIndentation(String xml) {
        return xml.lines().map(String::strip).collect(Collectors.joining("\n"));
    }

    @Test
    void takesALockOnTheClassPath() throws Exception {
        Program program = onClassPath(jar -> true, enableNativeAccess("on the class path"));
        assertHeldOver("EPOLL", program);
        assertNoWarning(program);
    }

    @Test
    void takesALockOnTheModulePath() throws Exception {
        Program program = check("java -p", enableNativeAccess("on the module path"));
        assertHeldOver("EPOLL", program);
        assertNoWarning(program);
    }

    @Test
    void takesALockInAnImage() throws Exception {
        Program.run(folder, Program.words(line("jlink -p")));
        Program program = check("target/image/bin/java", enableNativeAccess("on the module path"));
        assertHeldOver("EPOLL", program);
        assertNoWarning(program);
    }

    /** This application requires two more modules, and the others run without them. */
    @Test
    void publishesMetricsOnTheModulePath() throws Exception {
        Path sources = Files.createDirectories(folder.resolve("metrics"));
        Path module = Files.writeString(sources.resolve("module-info.java"),
                "module metrics { requires dev.redlock; requires dev.redlock.micrometer; requires micrometer.core; }");
        Path main = Files.writeString(sources.resolve("Metrics.java"), METRICS.replace("NODE", nodes.addresses()[0]));
        String testPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String path = Stream.of(Stream.of(folder.resolve("target/lib").toString()),
                Stream.of(micrometerModule(testPath)),
                Stream.of(testPath.split(File.pathSeparator))
                        .filter(jar -> jar.matches(".*/(micrometer-|HdrHistogram|LatencyUtils)[^/]*\\.jar")))
                .flatMap(jars -> jars)
                .collect(Collectors.joining(File.pathSeparator));
        String classes = folder.resolve("metrics-classes").toString();
        run("javac", "--release", "17", "-p", path, "-d", classes, module.toString(), main.toString());
        List<String> words = new ArrayList<>(List.of("java", "-p", classes + File.pathSeparator + path));
        words.addAll(List.of(enableNativeAccess("on the module path")));
        words.addAll(List.of("-m", "metrics/metrics.Metrics"));
        assertTrue(Program.run(folder, words).out().startsWith("held 0.0"));
    }

    /** The jar of redlock-micrometer. Before the package phase it is a folder, which has no name of a module. */
    private static String micrometerModule(String testPath) throws IOException {
        Path entry = Stream.of(testPath.split(File.pathSeparator))
                .filter(one -> one.matches(".*(/redlock-micrometer-[^/]*\\.jar|/micrometer/target/classes/?)"))
                .map(Path::of)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no redlock-micrometer in " + testPath));
        if (!Files.isDirectory(entry)) {
            return entry.toString();
        }
        Path manifest = Files.writeString(folder.resolve("micrometer.mf"),
                "Automatic-Module-Name: dev.redlock.micrometer\n");
        Path jar = folder.resolve("redlock-micrometer.jar");
        run("jar", "--create", "--file", jar.toString(), "--manifest", manifest.toString(), "-C", entry.toString(),
                ".");
        return jar.toString();
    }

    /** Absent jars cost their transports; the classes of the client need none of them. */
    @Test
    void aMissingTransportIsAWarningWithTheReason() throws Exception {
        Assumptions.assumeTrue(isLinux(), "the best transport is epoll on Linux only");
        Program program = onClassPath(
                jar -> !jar.contains("-native-epoll") && !jar.contains("classes-io_uring") && !jar.contains("kqueue"),
                enableNativeAccess("on the class path"));
        assertHeldOver("NIO (EPOLL: its native library META-INF/native/libnetty_transport_native_epoll_", program);
        assertTrue(program.out().contains("; IO_URING: its classes are on neither the class path nor the module path;"),
                program::out);
        assertTrue(program.err().contains("TransportKind.AUTO chose NIO, not EPOLL: its native library META-INF/"),
                program::err);
    }

    /** JDK 24 and newer warn if the option is left out, and can deny the access. */
    @Test
    void newJdksRestrictNativeAccess() throws Exception {
        Program warned = check("java -p");
        if (Runtime.version().feature() < 24) {
            assertNoWarning(warned);
            return;
        }
        assertHeldOver("EPOLL", warned);
        assertTrue(warned.err().contains("Use --enable-native-access=io.netty.common to avoid a warning"),
                warned::err);
        Program denied = onClassPath(jar -> true, "--illegal-native-access=deny");
        assertHeldOver("NIO (", denied);
        assertTrue(!isLinux() || denied.err().contains("TransportKind.AUTO chose NIO, not EPOLL: "), denied::err);
    }

    /** The option of the page for this JDK, by its row in the table. */
    private static String[] enableNativeAccess(String application) {
        if (Runtime.version().feature() < 24) {
            return new String[0];
        }
        String row = modules.text()
                .lines()
                .filter(line -> line.startsWith("| " + application))
                .findFirst()
                .orElseThrow();
        return new String[]{row.substring(row.indexOf('`') + 1, row.lastIndexOf('`'))};
    }

    /** The line of the page that starts with a command. */
    private static String line(String command) {
        return modules.block("sh", command)
                .lines()
                .filter(candidate -> candidate.startsWith(command))
                .findFirst()
                .orElseThrow();
    }

    /** Runs a command of the page with more options, and the check in place of its class. */
    private static Program check(String command, String... options) throws Exception {
        List<String> words = new ArrayList<>(Program.words(line(command).replace("shop.FirstLock", "shop.Check")));
        words.addAll(1, List.of(options));
        return Program.run(folder, words);
    }

    private static Program onClassPath(Predicate<String> isIncluded, String... options) throws Exception {
        String classPath = jars.stream().filter(isIncluded).collect(Collectors.joining(File.pathSeparator));
        List<String> words = new ArrayList<>(List.of("java", "-cp",
                folder.resolve("target/classes") + File.pathSeparator + classPath));
        words.addAll(List.of(options));
        words.add("shop.Check");
        return Program.run(folder, words);
    }

    private static void assertHeldOver(String transport, Program program) {
        assertTrue(program.out().startsWith("holding orders/42 for another PT"), program::out);
        if (isLinux()) {
            assertTrue(program.out().contains("transport " + transport), program::out);
        }
    }

    /**
     * The installation is complete: no warning of the JDK, of Netty or about the transport. The client may warn that
     * its nodes or its event loop are late, because this machine may be busy.
     */
    private static void assertNoWarning(Program program) {
        List<String> warnings = program.err()
                .lines()
                .filter(line -> line.startsWith("WARNING") || line.startsWith("SEVERE") || line.contains("Exception"))
                .filter(line -> !BUSY_MACHINE.matcher(line).find())
                .toList();
        assertEquals(List.of(), warnings, program::err);
    }

    private static boolean isLinux() {
        return System.getProperty("os.name").startsWith("Linux");
    }
}
