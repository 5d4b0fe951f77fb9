package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.LockGroup;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockReadWriteLock;
import dev.redlock.RedlockSemaphore;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Each way to acquire a lock counts for the group of its options. On model nodes, with two event loops. */
@Timeout(60)
class GroupedCallsTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30))
            .waitUpTo(Duration.ofSeconds(30))
            .group("orders");
    private static final AcquireOutcome.Kind ACQUIRED = AcquireOutcome.Kind.ACQUIRED;

    private final SocketNodes nodes = new SocketNodes(3);
    private Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
            .eventLoops(2)
            .restartGuard(RestartGuardMode.OFF)
            .nodeTimeout(Duration.ofSeconds(20))
            .closeWaits(true));

    @AfterEach
    void close() {
        if (redlock != null) {
            redlock.close();
        }
        nodes.close();
    }

    private long acquiredCount() {
        return redlock.groups().stream().mapToLong(group -> group.acquireTimes().count(ACQUIRED)).sum();
    }

    private void assertCounted(long expected, Executable call) throws Throwable {
        long before = acquiredCount();
        call.execute();
        assertEquals(before + expected, acquiredCount());
    }

    private static <T> T get(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }

    private static void release(AcquireOutcome outcome) {
        outcome.lease().release();
    }

    private static void cycle(Lock lock) {
        lock.lock();
        lock.unlock();
    }

    @Test
    void callsThatBlock() throws Throwable {
        assertCounted(1, () -> release(redlock.acquire("a", OPTIONS)));
        assertCounted(1, () -> release(redlock.tryAcquire("a", OPTIONS)));
        assertCounted(1, () -> release(redlock.acquire(redlock.key("a"), OPTIONS)));
        assertCounted(1, () -> release(redlock.tryAcquire(redlock.keyOfAll(List.of("a", "b")), OPTIONS)));
        assertCounted(1, () -> release(redlock.acquireAll(List.of("a", "b"), OPTIONS)));
        assertCounted(1, () -> release(redlock.tryAcquireAll(List.of("a", "b"), OPTIONS.tryOnce())));
        assertCounted(1, () -> release(redlock.acquire("a", OPTIONS.fenced())));
        assertCounted(1, () -> redlock.runOrThrow("a", OPTIONS, lease -> assertTrue(lease.isHeld())));
        assertCounted(1, () -> assertEquals("value", redlock.callOrThrow("a", OPTIONS, lease -> "value")));
        assertCounted(0, () -> release(redlock.acquire("a", OPTIONS.group(null))));
    }

    @Test
    void callsThatDoNotBlock() throws Throwable {
        assertCounted(1, () -> release(get(redlock.acquireAsync("a", OPTIONS))));
        assertCounted(1, () -> release(get(redlock.acquireAsync(redlock.key("a"), OPTIONS))));
        assertCounted(1, () -> release(get(redlock.acquireAllAsync(List.of("a", "b"), OPTIONS))));
        assertCounted(1, () -> assertEquals("value",
                get(redlock.runOrThrowAsync("a", OPTIONS, lease -> CompletableFuture.completedFuture("value")))));
        assertCounted(1, () -> {
            Lease lease = redlock.newLease();
            CompletableFuture<AcquireOutcome> outcome = new CompletableFuture<>();
            redlock.acquire(redlock.key("a"), OPTIONS, lease, outcome::complete);
            release(outcome.join());
        });
    }

    @Test
    void views() throws Throwable {
        assertCounted(1, () -> cycle(redlock.asLock("a", OPTIONS)));
        assertCounted(1, () -> cycle(redlock.asLockOfAll(List.of("a", "b"), OPTIONS)));
        RedlockReadWriteLock both = redlock.asReadWriteLock("a", OPTIONS);
        assertCounted(1, () -> cycle(both.readLock()));
        assertCounted(1, () -> cycle(both.writeLock()));
        RedlockSemaphore semaphore = redlock.asSemaphore("a", 2, OPTIONS);
        assertCounted(1, () -> {
            semaphore.acquire();
            semaphore.release();
        });
        assertCounted(1, () -> {
            AtomicBoolean isElected = new AtomicBoolean();
            try (Election election = redlock.elect("a", OPTIONS, term -> isElected.set(true))) {
                assertNotNull(election);
                Await.until("elected", isElected::get);
            }
        });
    }

    @Test
    void theGroupsOfTwoEventLoopsAreOne() throws Exception {
        for (int i = 0; i < 40; i++) {
            release(redlock.acquire("a/" + i, OPTIONS));
        }
        assertEquals(1, redlock.groups().size());
        assertEquals(40, acquiredCount());
        assertTrue(redlock.groups().get(0).acquireTimes().totalNs(ACQUIRED) > 0);
    }

    /** A dashboard may keep the group of a client that has ended. */
    @Test
    @Tag("jdk")
    void aGroupOutlivesTheClient() throws Exception {
        release(redlock.acquire("a", OPTIONS));
        LockGroup group = redlock.groups().get(0);
        redlock.close();
        WeakReference<Redlock> reference = new WeakReference<>(redlock);
        redlock = null;
        while (reference.get() != null) {
            System.gc();
        }
        assertEquals("orders", group.name());
        assertEquals(1, group.acquireTimes().count(ACQUIRED));
    }
}
