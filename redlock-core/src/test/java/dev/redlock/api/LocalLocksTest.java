package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The locks that a client holds and awaits: all of them, in order, up to a number, and only its own. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LocalLocksTest {

    private static final Duration TTL = Duration.ofSeconds(20);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofMinutes(1));

    private static final AtomicInteger SEEDS = new AtomicInteger();
    private static LiveNodes nodes;
    private final List<Redlock> clients = new ArrayList<>();

    @BeforeAll
    static void startNodes() {
        nodes = new LiveNodes(3);
    }

    @AfterAll
    static void stopNodes() {
        nodes.close();
    }

    @AfterEach
    void close() {
        clients.forEach(Redlock::close);
    }

    private Redlock client() {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(2)), nodes.clientLoop(), nodes.newTransport(), NanoClock.system(),
                SEEDS.incrementAndGet());
        client.open().join();
        clients.add(client.redlock());
        return client.redlock();
    }

    private static LocalLocks of(Redlock client) {
        return of(client, 100);
    }

    private static LocalLocks of(Redlock client, int countMax) {
        try {
            return client.localLocks(countMax);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static List<String> heldNames(LocalLocks locks) {
        return locks.held().stream().map(LocalLocks.Held::resource).toList();
    }

    @Test
    void heldLocksOfAllKindsAreShownOldestFirst() throws InterruptedException {
        Redlock client = client();
        assertEquals(new LocalLocks(List.of(), List.of(), 0, 0, true), of(client));
        long startNs = System.nanoTime();
        Lease plain = client.acquire("a", OPTIONS.fenced()).lease();
        Lease set = client.acquireAll(List.of("c", "b"), OPTIONS).lease();
        client.acquire("d", OPTIONS.forReading()).lease();
        client.acquire("e", OPTIONS.forWriting()).lease();
        client.acquire("f", OPTIONS.forPermitOf(2)).lease();
        client.acquire("f", OPTIONS.forPermitOf(2)).lease();
        LocalLocks locks = of(client);
        assertEquals(List.of("a", "[b, c]", "d", "e", "f", "f"), heldNames(locks));
        assertEquals(List.of("PLAIN", "SET", "READ", "WRITE", "PERMIT", "PERMIT"),
                locks.held().stream().map(lock -> lock.kind().name()).toList());
        assertEquals(6, locks.heldCount());
        assertTrue(locks.isComplete());
        LocalLocks.Held first = locks.held().get(0);
        assertEquals(plain.fencingToken(), first.fencingToken());
        assertEquals(0, locks.held().get(1).fencingToken(), "it is not fenced");
        long previousNs = System.nanoTime() - startNs;
        for (LocalLocks.Held lock : locks.held()) {
            assertTrue(lock.ageNs() >= 0 && lock.ageNs() <= previousNs, () -> lock + " after an older one");
            assertTrue(lock.remainingNs() > 0 && lock.remainingNs() < TTL.toNanos(), lock::toString);
            assertNull(lock.thread(), "a lease has no thread");
            previousNs = lock.ageNs();
        }
        plain.release();
        set.release();
        assertEquals(List.of("d", "e"), heldNames(of(client, 2)));
        assertEquals(4, of(client, 2).heldCount());
        assertEquals(new LocalLocks(List.of(), List.of(), 4, 0, true), of(client, 0));
        assertEquals(List.of(), of(client()).held(), "of another client");
    }

    @Test
    void anExtensionDoesNotChangeTheAgeAndAReleasedLockMayStay() throws InterruptedException {
        Redlock client = client();
        Lease lease = client.acquire("a", OPTIONS).lease();
        long ageNs = of(client).held().get(0).ageNs();
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(TTL));
        assertTrue(of(client).held().get(0).ageNs() > ageNs);
        lease.holdAtLeast(Duration.ofSeconds(10));
        assertEquals(ReleaseOutcome.KEPT, lease.release());
        assertEquals(List.of("a"), heldNames(of(client)), "other clients cannot have it");
    }

    private static void lockIn(Thread thread, CountDownLatch isHeld) throws InterruptedException {
        thread.setDaemon(true);
        thread.start();
        assertTrue(isHeld.await(30, TimeUnit.SECONDS));
    }

    @Test
    void aLockViewShowsItsThread() throws InterruptedException {
        Redlock client = client();
        CountDownLatch end = new CountDownLatch(1);
        Lock write = client.asReadWriteLock("b", OPTIONS).writeLock();
        for (Lock lock : List.of(client.asLock("a", OPTIONS), write)) {
            CountDownLatch isHeld = new CountDownLatch(1);
            lockIn(new Thread(() -> {
                lock.lock();
                isHeld.countDown();
                try {
                    end.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                lock.unlock();
            }, lock == write ? "writer" : "worker"), isHeld);
        }
        assertEquals(List.of("worker", "writer"),
                of(client).held().stream().map(LocalLocks.Held::thread).toList());
        end.countDown();
        Await.until("they are unlocked", () -> of(client).heldCount() == 0);
    }

    /** The lease that keeps the lock has no caller. */
    @Test
    void aLockViewShowsTheThreadThatGotARetainedLock() throws InterruptedException {
        Redlock client = client();
        Lock lock = client.asLock("a", OPTIONS.retain(TTL));
        CountDownLatch isHeld = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        lockIn(new Thread(() -> {
            lock.lock();
            while (client.counters().localGrantCount() == 0) {
                lock.unlock();
                lock.lock();
            }
            isHeld.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            lock.unlock();
        }, "worker"), isHeld);
        assertEquals(List.of("worker"), of(client).held().stream().map(LocalLocks.Held::thread).toList());
        end.countDown();
        Await.until("no thread has it", () -> of(client).held().stream().allMatch(held -> held.thread() == null));
    }

    @Test
    void waitersAreShownByLockTheLongestWaitFirst() throws InterruptedException {
        Redlock client = client();
        List<Lease> held = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> waits = new ArrayList<>();
        for (String name : List.of("x", "y", "z")) {
            held.add(client.acquire(name, OPTIONS).lease());
        }
        for (String name : List.of("y", "x", "z", "x")) {
            int count = of(client).waiting().stream().mapToInt(LocalLocks.Waiting::count).sum();
            waits.add(client.acquireAsync(name, OPTIONS).toCompletableFuture());
            Await.until("it waits",
                    () -> of(client).waiting().stream().mapToInt(LocalLocks.Waiting::count).sum() > count);
        }
        LocalLocks locks = of(client);
        assertEquals(List.of("y 1", "x 2", "z 1"),
                locks.waiting().stream().map(lock -> lock.resource() + " " + lock.count()).toList());
        assertEquals(3, locks.waitingCount());
        long previousNs = Long.MAX_VALUE;
        for (LocalLocks.Waiting lock : locks.waiting()) {
            assertEquals(LocalLocks.Kind.PLAIN, lock.kind());
            assertTrue(lock.longestNs() > 0 && lock.longestNs() <= previousNs, lock::toString);
            previousNs = lock.longestNs();
        }
        assertEquals(List.of("y"), of(client, 1).waiting().stream().map(LocalLocks.Waiting::resource).toList());
        assertEquals(3, of(client, 0).waitingCount());
        waits.forEach(wait -> wait.cancel(false));
        Await.until("nobody waits", () -> of(client).waitingCount() == 0);
        held.forEach(Lease::close);
    }

    @Test
    void aLoopThatDoesNotAnswerIsMissing() throws InterruptedException {
        Redlock client = client();
        client.acquire("a", OPTIONS).lease();
        CountDownLatch end = new CountDownLatch(1);
        AtomicReference<InterruptedException> failure = new AtomicReference<>();
        nodes.clientLoop().execute(() -> {
            try {
                end.await();
            } catch (InterruptedException e) {
                failure.set(e);
            }
        });
        assertEquals(new LocalLocks(List.of(), List.of(), 0, 0, false), of(client));
        end.countDown();
        assertTrue(of(client).isComplete());
        assertNull(failure.get());
    }

    @Test
    void wrongCallsAreRefused() {
        Redlock client = client();
        assertTrue(assertThrows(IllegalArgumentException.class, () -> client.localLocks(-1)).getMessage()
                .startsWith("countMax -1 is negative"));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> client.localLocks(1));
        assertFalse(Thread.currentThread().isInterrupted());
        assertEquals(IllegalStateException.class, TestClient.<Class<?>>onLoop(client, () -> {
            try {
                return client.localLocks(1).getClass();
            } catch (InterruptedException | IllegalStateException e) {
                return e.getClass();
            }
        }));
        client.close();
        assertEquals(0, of(client).heldCount());
    }

    /** Its loops accept tasks after their end, and run none. */
    @Test
    void aClosedClientWithLoopsOfItsOwnAnswersAtOnce() throws InterruptedException {
        Redlock client = TestClient.unreachable();
        client.close();
        assertEquals(new LocalLocks(List.of(), List.of(), 0, 0, true), of(client));
        assertEquals(List.of("the client is closed"),
                client.inspect("a").nodes().stream().map(LockInspection.Entry::problem).distinct().toList());
        assertEquals(ReleaseOutcome.UNKNOWN, client.breakLock("a", "0".repeat(16)));
    }
}
