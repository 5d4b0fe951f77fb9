package dev.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.trial.nodes.TwoClients;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/** What version 7 adds: locks with a ttl of their own. */
@Timeout(60)
class DistributedLockTest {

    private static TwoClients clients;
    private static RenewableLockRegistry<DistributedLock> registry;
    private static RenewableLockRegistry<DistributedLock> other;

    private String name;

    @BeforeAll
    static void connect() {
        clients = new TwoClients();
        registry = lockRegistry(clients.one);
        other = lockRegistry(clients.other);
    }

    @AfterAll
    static void close() {
        clients.close();
    }

    @SuppressWarnings("unchecked")
    static RenewableLockRegistry<DistributedLock> lockRegistry(Redlock redlock) {
        return new RedlockLockRegistry(redlock);
    }

    @BeforeEach
    void nameOfTheTest(TestInfo test) {
        name = test.getTestMethod().orElseThrow().getName();
    }

    @Test
    void aLockWithItsOwnTtlEndsAfterIt() throws Exception {
        long startNs = System.nanoTime();
        DistributedLock lock = registry.obtain(name);
        lock.lock(Duration.ofMillis(300));
        DistributedLock next = other.obtain(name);
        assertTrue(next.tryLock(20, TimeUnit.SECONDS));
        long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
        assertTrue(ms >= 200, "free after " + ms + " ms; the validity is a little shorter than the ttl");
        assertThrows(ConcurrentModificationException.class, lock::unlock);
        next.unlock();
    }

    @Test
    void tryLockHasAWaitAndATtl() throws Exception {
        DistributedLock lock = registry.obtain(name);
        assertTrue(lock.tryLock(Duration.ZERO, Duration.ofSeconds(20)));
        assertFalse(other.obtain(name).tryLock(Duration.ofMillis(100), Duration.ofSeconds(20)));
        lock.unlock();
        assertTrue(other.obtain(name).tryLock(Duration.ZERO, Duration.ofSeconds(20)));
        other.obtain(name).unlock();
    }

    @Test
    void aRenewalSetsTheTtl() throws Exception {
        DistributedLock lock = registry.obtain(name);
        lock.lock(Duration.ofMillis(1500));
        registry.renewLock(name, Duration.ofSeconds(20));
        assertFalse(other.obtain(name).tryLock(2, TimeUnit.SECONDS));
        registry.renewLock(name);
        lock.unlock();
        assertTrue(other.obtain(name).tryLock());
        other.obtain(name).unlock();
    }

    @Test
    void aTtlAboveMaxTtlIsRejected() {
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(name).lock(Duration.ofDays(1)));
    }

    void ship(RenewableLockRegistry<DistributedLock> registry) throws Exception {
        DistributedLock lock = registry.obtain("orders/42");
        if (lock.tryLock(Duration.ofSeconds(1), Duration.ofSeconds(10))) {
            try {
                System.out.println("shipping for at most 10 s");
                registry.renewLock("orders/42", Duration.ofSeconds(20));
            } finally {
                lock.unlock();
            }
        }
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
    void theMethodsOfThePageAreThoseOfThisClass() throws Exception {
        String own = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
        for (String method : new String[]{"lockRegistry(", "void ship("}) {
            String shown = Page.of("integrations/spring-integration/README.md").block("java", method);
            assertTrue(own.replace("    static ", "    ").contains(shown.indent(4)), shown);
        }
        ship(registry);
        assertEquals(0L, clients.nodes.node(0).call("EXISTS", "orders/42"));
    }
}
