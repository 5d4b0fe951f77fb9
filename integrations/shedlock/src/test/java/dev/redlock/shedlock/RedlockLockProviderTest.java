package dev.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.trial.nodes.TwoClients;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;

/** What ShedLock expects of a provider, on three real servers. The build runs it with ShedLock 7 and ShedLock 6. */
@Timeout(60)
class RedlockLockProviderTest {

    private static final Duration LONG = Duration.ofMinutes(5);

    private static TwoClients clients;
    private static RedlockLockProvider provider;
    private static RedlockLockProvider other;

    private String name;

    @BeforeAll
    static void connect() {
        clients = new TwoClients();
        provider = new RedlockLockProvider(clients.one);
        other = new RedlockLockProvider(clients.other);
    }

    @AfterAll
    static void close() {
        clients.close();
    }

    @BeforeEach
    void nameOfTheTest(TestInfo test) {
        name = test.getTestMethod().orElseThrow().getName();
    }

    @Test
    void thisIsTheExpectedShedLock() {
        String jar = LockProvider.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        assertTrue(jar.contains("/shedlock-core-" + System.getProperty("shedlock.expected", "7.")), jar);
    }

    @Test
    void oneInstanceGetsTheLockAndUnlockFreesIt() {
        for (int i = 0; i < 10; i++) {
            SimpleLock lock = lock(provider, LONG, Duration.ZERO);
            assertFalse(isFree());
            assertTrue(provider.lock(configuration(LONG, Duration.ZERO)).isEmpty());
            lock.unlock();
            assertTrue(isFree());
        }
    }

    @Test
    void locksOfTwoNamesAreIndependent() {
        SimpleLock lock = lock(provider, LONG, Duration.ZERO);
        LockConfiguration second = new LockConfiguration(ClockProvider.now(), name + " 2", LONG, Duration.ZERO);
        other.lock(second).orElseThrow().unlock();
        lock.unlock();
    }

    @Test
    void theLockEndsWhenAtMostHasPassed() throws Exception {
        long startNs = System.nanoTime();
        SimpleLock lock = lock(provider, Duration.ofMillis(500), Duration.ZERO);
        awaitFree();
        assertElapsed(startNs, 500);
        assertTrue(lock.extend(LONG, Duration.ZERO).isEmpty());
    }

    @Test
    void aShorterAtMostThanTheShortestTtlEndsInTime() throws Exception {
        SimpleLock lock = lock(provider, Duration.ofMillis(2), Duration.ZERO);
        awaitFree();
        assertDoesNotThrow(lock::unlock);
    }

    @Test
    void atMostAboveTheTtlIsReachedByExtensions() throws Exception {
        long startNs = System.nanoTime();
        RedlockLockProvider ofShortTtl = new RedlockLockProvider(clients.one, Duration.ofSeconds(1));
        lock(ofShortTtl, Duration.ofSeconds(2), Duration.ZERO);
        awaitFree();
        assertElapsed(startNs, 2000);
    }

    @Test
    void atMostMayBeAboveMaxTtl() {
        SimpleLock lock = lock(provider, Duration.ofDays(400 * 365), Duration.ZERO);
        lock.unlock();
        assertTrue(isFree());
    }

    @Test
    void atLeastKeepsTheLockAfterUnlock() throws Exception {
        long startNs = System.nanoTime();
        lock(provider, LONG, Duration.ofSeconds(1)).unlock();
        assertFalse(isFree());
        awaitFree();
        assertElapsed(startNs, 1000);
    }

    @Test
    void anExtendedLockOutlivesTheFirstTime() throws Exception {
        long startNs = System.nanoTime();
        SimpleLock lock = lock(provider, Duration.ofMillis(1500), Duration.ZERO);
        SimpleLock second = lock.extend(Duration.ofMillis(1600), Duration.ZERO).orElseThrow();
        SimpleLock third = second.extend(Duration.ofMillis(2000), Duration.ZERO).orElseThrow();
        assertThrows(IllegalStateException.class, lock::unlock);
        assertThrows(IllegalStateException.class, () -> second.extend(LONG, Duration.ZERO));
        awaitFree();
        assertElapsed(startNs, 2000);
        third.unlock();
    }

    @Test
    void anExtendedLockIsFreeAfterUnlock() {
        SimpleLock lock = lock(provider, Duration.ofSeconds(2), Duration.ZERO);
        lock.extend(LONG, Duration.ZERO).orElseThrow().unlock();
        assertTrue(isFree());
    }

    @Test
    void anExtensionSetsAtLeast() throws Exception {
        SimpleLock lock = lock(provider, Duration.ofSeconds(10), Duration.ZERO);
        long startNs = System.nanoTime();
        lock.extend(Duration.ofSeconds(10), Duration.ofSeconds(1)).orElseThrow().unlock();
        assertFalse(isFree());
        awaitFree();
        assertElapsed(startNs, 1000);
    }

    @Test
    void anExtensionMayShortenAtLeast() {
        SimpleLock lock = lock(provider, LONG, LONG);
        lock.extend(LONG, Duration.ZERO).orElseThrow().unlock();
        assertTrue(isFree());
    }

    @Test
    void atLeastOfAnExtensionOutlivesTheClient() throws Exception {
        long startNs;
        try (Redlock closing = Redlock.connect(clients.context())) {
            SimpleLock lock = lock(new RedlockLockProvider(closing), Duration.ofSeconds(10), Duration.ZERO);
            startNs = System.nanoTime();
            lock.extend(Duration.ofSeconds(10), Duration.ofMillis(400)).orElseThrow().unlock();
        }
        awaitFree();
        assertElapsed(startNs, 400);
    }

    @Test
    void anUnlockedLockCannotBeExtended() {
        SimpleLock lock = lock(provider, LONG, Duration.ZERO);
        lock.unlock();
        assertThrows(IllegalStateException.class, () -> lock.extend(LONG, Duration.ZERO));
        assertThrows(IllegalStateException.class, lock::unlock);
    }

    /** An absent majority is no other instance that runs the job: a line says that no instance runs it. */
    @Test
    void missingNodesSkipTheRunWithOneLine() {
        try (Redlock alone = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))) {
            DefaultLockingTaskExecutor executor = new DefaultLockingTaskExecutor(new RedlockLockProvider(alone));
            List<LogRecord> lines = new CopyOnWriteArrayList<>();
            Handler handler = new Handler() {
                @Override
                public void publish(LogRecord line) {
                    lines.add(line);
                }

                @Override
                public void flush() {
                    // nothing is buffered
                }

                @Override
                public void close() {
                    // nothing is open
                }
            };
            Logger logger = Logger.getLogger("dev.redlock");
            logger.addHandler(handler);
            try {
                executor.executeWithLock((Runnable) () -> {
                    throw new AssertionError("it runs");
                }, configuration(LONG, Duration.ZERO));
            } finally {
                logger.removeHandler(handler);
            }
            List<LogRecord> skipped = lines.stream()
                    .filter(line -> new SimpleFormatter().formatMessage(line).contains("skips this run"))
                    .toList();
            assertEquals(1, skipped.size());
            assertEquals(Level.WARNING, skipped.get(0).getLevel());
            assertNull(skipped.get(0).getThrown());
            String text = new SimpleFormatter().formatMessage(skipped.get(0));
            assertTrue(text.contains("NO_QUORUM") && !text.contains("\n"), text);
        }
    }

    @Test
    void anInterruptedThreadGetsNoLock() {
        Thread.currentThread().interrupt();
        assertTrue(provider.lock(configuration(LONG, Duration.ZERO)).isEmpty());
        assertTrue(Thread.interrupted());
        assertTrue(isFree());
    }

    @Test
    void threadsCountWithoutLosingAnIncrement() throws Exception {
        int[] count = new int[1];
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<?>> ends = new ArrayList<>();
        for (int t = 0; t < 6; t++) {
            DefaultLockingTaskExecutor executor = new DefaultLockingTaskExecutor(t % 2 == 0 ? provider : other);
            ends.add(threads.submit(() -> {
                AtomicInteger done = new AtomicInteger();
                while (done.get() < 30) {
                    executor.executeWithLock((Runnable) () -> {
                        count[0]++;
                        done.incrementAndGet();
                    }, configuration(LONG, Duration.ZERO));
                }
            }));
        }
        for (Future<?> end : ends) {
            end.get(40, TimeUnit.SECONDS);
        }
        threads.shutdown();
        assertEquals(180, count[0]);
    }

    LockProvider lockProvider(Redlock redlock) {
        return new RedlockLockProvider(redlock);
    }

    /** The code blocks of a page. */
    private record Page(String text) {
        static Page of(String name) throws IOException {
            return new Page(Files.readString(Path.of("..", "..").resolve(name)));
        }

        String block(String language, String part) {
            return Arrays.stream(text.split("```" + language + "\n"))
                    .skip(1)
                    .map(block -> block.substring(0, block.indexOf("```")))
                    .filter(block -> block.contains(part))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void theMethodOfThePageIsOneOfThisClass() throws IOException {
        String shown = Page.of("integrations/shedlock/README.md").block("java", "LockProvider lockProvider");
        String own = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
        assertTrue(own.contains(shown.indent(4)), shown);
        assertTrue(lockProvider(clients.one).lock(configuration(LONG, Duration.ZERO)).isPresent());
    }

    private LockConfiguration configuration(Duration most, Duration least) {
        return new LockConfiguration(ClockProvider.now(), name, most, least);
    }

    private SimpleLock lock(LockProvider from, Duration most, Duration least) {
        return from.lock(configuration(most, least)).orElseThrow();
    }

    private boolean isFree() {
        Optional<SimpleLock> lock = other.lock(configuration(LONG, Duration.ZERO));
        lock.ifPresent(SimpleLock::unlock);
        return lock.isPresent();
    }

    private void awaitFree() throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!isFree()) {
            assertTrue(deadlineNs - System.nanoTime() > 0, "the lock is not free within 10 s");
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
    }

    private static void assertElapsed(long startNs, long leastMs) {
        long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
        assertTrue(ms >= leastMs, "free after " + ms + " ms instead of " + leastMs);
    }
}
