package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.spring.Locked;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.Version;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * An application of Spring Boot 3 with Netty 4.1 locks with {@code redlock-core-shaded}. It needs the packaged jar, so
 * it is compiled and run in the phase {@code verify}.
 */
@Timeout(60)
class ShadedNettyTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final boolean IS_LINUX = System.getProperty("os.name").equals("Linux")
            && Set.of("amd64", "aarch64").contains(System.getProperty("os.arch"));

    @TempDir
    private static Path folder;

    private static Servers servers;

    /** A job of the application. */
    public static class Job {
        @Locked(name = "jobs", key = "#p0")
        public String run(String name) {
            return "ran " + name;
        }
    }

    @EnableAutoConfiguration
    static class Application {
    }

    @BeforeAll
    static void start() throws Exception {
        servers = new Servers(folder);
    }

    @AfterAll
    static void end() {
        if (servers != null) {
            servers.close();
        }
    }

    private static Path jar() throws Exception {
        return Path.of(Redlock.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private static void requireNativeTransport(Redlock redlock) {
        String transport = redlock.transportDescription();
        assertTrue(!IS_LINUX || transport.toLowerCase().contains("epoll"), transport);
    }

    @Test
    void locksWhileTheApplicationUsesItsOwnNetty() throws Exception {
        EventLoopGroup group = Epoll.isAvailable() ? new EpollEventLoopGroup(1) : new NioEventLoopGroup(1);
        try (Redlock redlock = Redlock.connect(new RedlockContext().nodes(servers.addresses().split(",")))) {
            requireNativeTransport(redlock);
            assertTrue(!System.getProperty("os.arch").equals("amd64") || !IS_LINUX || Epoll.isAvailable(),
                    () -> "the application loads its library too: " + Epoll.unavailabilityCause());
            Lease lease = redlock.acquire("orders/1", TTL).lease();
            assertEquals(AcquireOutcome.Kind.CONTENDED, redlock.tryAcquire("orders/1", TTL).kind());
            assertEquals("ran", group.submit(() -> "ran").get(10, TimeUnit.SECONDS));
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void theStarterLocksWithoutTheNettyOfTheApplication() throws Exception {
        Class<?>[] parts = {Application.class, Job.class};
        try (ConfigurableApplicationContext context = SpringApplication.run(parts,
                new String[]{"--redlock.nodes=" + servers.addresses()})) {
            requireNativeTransport(context.getBean(Redlock.class));
            assertEquals("ran night", context.getBean(Job.class).run("night"));
            try (Lease lease = context.getBean(Redlock.class).acquire("jobs/night", TTL).lease()) {
                assertEquals("jobs/night", lease.resource());
            }
        }
    }

    @Test
    void theNettyOfTheApplicationStaysTheOnlyOneOfItsName() throws Exception {
        Set<String> versions = Version.identify()
                .values()
                .stream()
                .map(Version::artifactVersion)
                .collect(Collectors.toSet());
        assertEquals(Set.of("4.1.121.Final"), versions);
        assertEquals("4.1.121.Final", Channel.class.getPackage().getImplementationVersion());
        // It came with 4.2.
        assertThrows(ClassNotFoundException.class, () -> Class.forName("io.netty.channel.ManualIoEventLoop"));
        assertNotNull(Class.forName("dev.redlock.shaded.io.netty.channel.ManualIoEventLoop"));
    }

    @Test
    void thePomHasTheBlockOfThePage() throws Exception {
        String page = Files.readString(Path.of("../../docs/start/spring-boot.md"));
        String block = page.replaceFirst("(?s).*## Spring Boot 3\n[^`]*`[^`]*`[^`]*```xml\n(.*?)```.*", "$1");
        assertTrue(block.startsWith("<dependency>") && block.contains("redlock-core-shaded"), block);
        assertTrue(Files.readString(Path.of("pom.xml")).contains(block.indent(4)), block);
    }

    @Test
    void theJarHasNoNameOfNettyAndItsLicence() throws Exception {
        assertTrue(jar().getFileName().toString().startsWith("redlock-core-shaded"), jar().toString());
        assertEquals(1, Redlock.class.getClassLoader().resources("dev/redlock/Redlock.class").count());
        try (JarFile jar = new JarFile(jar().toFile())) {
            List<String> names = jar.stream().map(ZipEntry::getName).toList();
            assertTrue(names.size() > 2_000, () -> "" + names.size());
            assertEquals(List.of(), names.stream()
                    .filter(name -> name.replaceFirst("META-INF/versions/\\d+/", "").startsWith("io/"))
                    .toList());
            assertEquals(List.of(), names.stream()
                    .filter(name -> name.matches("META-INF/(native/libnetty|io\\.netty|native-image/.|services/io).*"))
                    .toList());
            assertTrue(names.containsAll(List.of("META-INF/LICENSE", "META-INF/NOTICE", "META-INF/netty/NOTICE")));
            assertEquals("true", jar.getManifest().getMainAttributes().getValue("Multi-Release"));
        }
        assertFalse(ModuleFinder.of(jar()).find("dev.redlock").isEmpty());
    }
}
