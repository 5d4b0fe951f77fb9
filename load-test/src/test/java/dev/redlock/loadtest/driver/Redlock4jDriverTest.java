package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How the library is found and its calls are told apart. Its jar is in no repository, so the classes here only look
 * like its own from outside, and lock within this JVM; the locks themselves are the library's affair.
 */
class Redlock4jDriverTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Map<String, String> LOOKALIKE = Map.of("org/codarama/redlock4j/RedlockManager.java", """
            package org.codarama.redlock4j;

            import java.util.Set;
            import java.util.concurrent.ConcurrentHashMap;
            import java.util.concurrent.locks.Lock;
            import org.codarama.redlock4j.configuration.RedlockConfiguration;

            public class RedlockManager implements AutoCloseable {
                public static final Set<String> HELD = ConcurrentHashMap.newKeySet();
                public static final Set<String> EVENTS = ConcurrentHashMap.newKeySet();
                final RedlockConfiguration configuration;

                private RedlockManager(RedlockConfiguration configuration) {
                    this.configuration = configuration;
                    EVENTS.add("opened " + configuration);
                }

                public static RedlockManager withJedis(RedlockConfiguration configuration) {
                    return new RedlockManager(configuration);
                }

                public int getConnectedNodeCount() {
                    return (int) configuration.nodes.stream().filter(node -> !node.startsWith("down")).count();
                }

                public Lock createLock(String key) {
                    if (key.isEmpty()) {
                        throw new IllegalArgumentException("no key");
                    }
                    return new Redlock(key, configuration.ttl.toMillis());
                }

                public void close() {
                    EVENTS.add("closed " + configuration.ttl);
                }
            }
            """, "org/codarama/redlock4j/Redlock.java", """
            package org.codarama.redlock4j;

            import java.util.concurrent.TimeUnit;
            import java.util.concurrent.locks.Condition;
            import java.util.concurrent.locks.Lock;

            public class Redlock implements Lock {
                private final ThreadLocal<Boolean> held = ThreadLocal.withInitial(() -> false);
                private final String key;
                private final long ttlMs;

                Redlock(String key, long ttlMs) {
                    this.key = key;
                    this.ttlMs = ttlMs;
                }

                public boolean tryLock(long time, TimeUnit unit) {
                    held.set(RedlockManager.HELD.add(key));
                    return held.get();
                }

                public void unlock() {
                    if (held.get()) {
                        RedlockManager.HELD.remove(key);
                        held.set(false);
                    }
                }

                public boolean isHeldByCurrentThread() {
                    return held.get();
                }

                public long getRemainingValidityTime() {
                    return held.get() ? ttlMs : 0;
                }

                public void lock() {
                    throw new IllegalStateException("the driver asks for nothing else");
                }

                public void lockInterruptibly() {
                    throw new IllegalStateException("the driver asks for nothing else");
                }

                public boolean tryLock() {
                    throw new IllegalStateException("the driver asks for nothing else");
                }

                public Condition newCondition() {
                    throw new IllegalStateException("the driver asks for nothing else");
                }
            }
            """, "org/codarama/redlock4j/configuration/RedlockConfiguration.java", """
            package org.codarama.redlock4j.configuration;

            import java.time.Duration;
            import java.util.ArrayList;
            import java.util.List;

            public class RedlockConfiguration {
                public final List<String> nodes;
                public final Duration ttl;
                private final int retries;

                private RedlockConfiguration(List<String> nodes, Duration ttl, int retries) {
                    this.nodes = nodes;
                    this.ttl = ttl;
                    this.retries = retries;
                }

                public static Builder builder() {
                    return new Builder();
                }

                public String toString() {
                    return nodes + " " + ttl + " " + retries;
                }

                public static class Builder {
                    private final List<String> nodes = new ArrayList<>();
                    private Duration ttl;
                    private int retries = 3;

                    public Builder addRedisNode(String host, int port, String password) {
                        nodes.add(host + ":" + port + (password == null ? "" : " with password"));
                        return this;
                    }

                    public Builder defaultLockTimeout(Duration ttl) {
                        this.ttl = ttl;
                        return this;
                    }

                    public Builder maxRetryAttempts(int retries) {
                        this.retries = retries;
                        return this;
                    }

                    public RedlockConfiguration build() {
                        if (nodes.size() < 3) {
                            throw new IllegalArgumentException("three nodes at least");
                        }
                        return new RedlockConfiguration(nodes, ttl, retries);
                    }
                }
            }
            """);

    @TempDir
    private Path folder;

    private URLClassLoader load(Map<String, String> sources) throws IOException {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        for (Map.Entry<String, String> source : sources.entrySet()) {
            Path file = folder.resolve(source.getKey());
            Files.createDirectories(file.getParent());
            Files.writeString(file, source.getValue());
        }
        List<String> arguments = new ArrayList<>(List.of("-d", classes.toString()));
        sources.keySet().forEach(name -> arguments.add(folder.resolve(name).toString()));
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new)));
        return new URLClassLoader(new URL[]{classes.toUri().toURL()}, getClass().getClassLoader());
    }

    private static List<NodeAddress> nodes(String host, int count) {
        return IntStream.range(0, count).mapToObj(i -> NodeAddress.of(host, 7000 + i)).toList();
    }

    @SuppressWarnings("unchecked")
    private static Set<String> events(ClassLoader loader) throws ReflectiveOperationException {
        return (Set<String>) Class.forName("org.codarama.redlock4j.RedlockManager", true, loader)
                .getField("EVENTS")
                .get(null);
    }

    @Test
    void absentLibrarySaysHowToBringIt() {
        Redlock4jDriver driver = new Redlock4jDriver();
        assertTrue(driver.missing().orElseThrow().startsWith("redlock4j is not on the class path; build its jar"));
        IOException failure = assertThrows(IOException.class, () -> driver.open(nodes("127.0.0.1", 3), true));
        assertEquals(driver.missing(), Optional.of(failure.getMessage()));
    }

    @Test
    void excludesReleasesAndSaysWhatIsLeft() throws Exception {
        try (URLClassLoader loader = load(LOOKALIKE)) {
            Redlock4jDriver driver = new Redlock4jDriver(loader);
            assertEquals(Optional.empty(), driver.missing());
            try (LockSession session = driver.open(nodes("127.0.0.1", 3), true)) {
                BlockingLock ours = new BlockingLock(session, "a", TTL, LIMIT);
                BlockingLock theirs = new BlockingLock(session, "a", TTL, LIMIT);
                assertEquals(AcquireVerdict.ACQUIRED, ours.acquire());
                assertEquals(AcquireVerdict.CONTENDED, theirs.acquire());
                assertEquals(ReleaseVerdict.EXPIRED, theirs.release());
                assertEquals(ReleaseVerdict.RELEASED, ours.release());
                assertEquals(AcquireVerdict.ACQUIRED, theirs.acquire());
                assertEquals(ReleaseVerdict.RELEASED, theirs.release());

                BlockingQueue<Long> validities = new ArrayBlockingQueue<>(1);
                session.handle("b", TTL, new LockListener() {
                    @Override
                    public void onAcquire(AcquireVerdict verdict, long validityNs) {
                        validities.add(validityNs);
                    }

                    @Override
                    public void onRelease(ReleaseVerdict verdict) {
                        // Not asked for.
                    }
                }).acquire();
                long validityNs = validities.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
                assertTrue(validityNs > 0 && validityNs <= TTL.toNanos(), () -> validityNs + " ns");
            }
        }
    }

    @Test
    void eachTtlHasAManagerAndAllAreClosed() throws Exception {
        try (URLClassLoader loader = load(LOOKALIKE)) {
            NodeAddress locked = NodeAddress.parse("redis://:secret@127.0.0.1:7002");
            List<NodeAddress> nodes = List.of(nodes("127.0.0.1", 2).get(0), nodes("127.0.0.1", 2).get(1), locked);
            try (LockSession session = new Redlock4jDriver(loader).open(nodes, true)) {
                new BlockingLock(session, "a", TTL, LIMIT).acquire();
                new BlockingLock(session, "b", Duration.ofSeconds(5), LIMIT).acquire();
                new BlockingLock(session, "c", Duration.ofSeconds(5), LIMIT).acquire();
            }
            String addresses = "[127.0.0.1:7000, 127.0.0.1:7001, 127.0.0.1:7002 with password]";
            assertEquals(Set.of("opened " + addresses + " PT30S 0", "opened " + addresses + " PT5S 0",
                    "closed PT30S", "closed PT5S"), events(loader));
        }
    }

    @Test
    void nodesThatDoNotAnswerAndTooFewAreErrorsOfOpen() throws Exception {
        try (URLClassLoader loader = load(LOOKALIKE)) {
            Redlock4jDriver driver = new Redlock4jDriver(loader);
            IOException down = assertThrows(IOException.class, () -> driver.open(nodes("down", 3), true));
            assertEquals("only 0 of 3 nodes are ready: none answered", down.getMessage());
            assertTrue(events(loader).contains("closed PT30S"));
            IOException few = assertThrows(IOException.class, () -> driver.open(nodes("127.0.0.1", 1), true));
            assertEquals("only 0 of 1 nodes are ready: redlock4j: three nodes at least", few.getMessage());
            List<NodeAddress> users = List.of(NodeAddress.parse("redis://somebody:secret@127.0.0.1:7000"));
            String said = assertThrows(IOException.class, () -> driver.open(users, true)).getMessage();
            assertTrue(said.startsWith("redlock4j has no user names, only passwords: give node 127.0.0.1:7000 without"),
                    said);
            assertFalse(said.contains("secret"), said);
        }
    }

    @Test
    void anotherShapeOfTheLibraryIsNamed() throws Exception {
        Map<String, String> other = Map.of("org/codarama/redlock4j/RedlockManager.java",
                "package org.codarama.redlock4j; public class RedlockManager { }");
        try (URLClassLoader loader = load(other)) {
            String said = assertThrows(IOException.class,
                    () -> new Redlock4jDriver(loader).open(nodes("127.0.0.1", 3), true)).getMessage();
            assertTrue(said.startsWith("the redlock4j on the class path is unlike the one that this driver knows: "),
                    said);
        }
    }
}
