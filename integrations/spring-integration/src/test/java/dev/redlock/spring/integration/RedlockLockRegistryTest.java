package dev.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.TwoClients;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** What Spring Integration expects of a lock registry, on three real servers. Compiles with versions 6.5 and 7. */
@Timeout(60)
@SuppressWarnings("unchecked")
class RedlockLockRegistryTest {

    private TwoClients clients;
    private RedlockLockRegistry registry;
    private RedlockLockRegistry other;
    private String name;

    @BeforeEach
    void connect(TestInfo test) {
        name = test.getTestMethod().orElseThrow().getName();
        clients = new TwoClients();
        registry = new RedlockLockRegistry(clients.one);
        other = new RedlockLockRegistry(clients.other);
    }

    @AfterEach
    void close() {
        clients.close();
    }

    @Test
    void theVersionOfSpringIntegrationIsTheExpectedOne() {
        String expected = System.getProperty("spring-integration.expected");
        String jar = LockRegistry.class.getProtectionDomain().getCodeSource().getLocation().toString();
        assertTrue(jar.endsWith("-" + expected + ".jar"), jar);
        assertEquals(1, RedlockLockRegistry.class.getGenericInterfaces().length, "what Spring reads of a bean");
    }

    @Test
    void oneThreadHoldsTheLockUntilItsLastUnlock() throws Exception {
        Lock lock = registry.obtain(name);
        assertTrue(lock.tryLock());
        assertTrue(registry.obtain(name).tryLock(1, TimeUnit.SECONDS));
        lock.unlock();
        assertFalse(isFree());
        lock.unlock();
        assertTrue(isFree());
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        lock.lock();
        lock.lockInterruptibly();
        lock.unlock();
        lock.unlock();
        assertThrows(UnsupportedOperationException.class, lock::newCondition);
    }

    @Test
    void theKeyIsTheNameOfTheResource() {
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(42));
        assertThrows(IllegalArgumentException.class, () -> registry.obtain(null));
        registry.obtain(name).lock();
        assertFalse(clients.other.asLock(name, AcquireOptions.ofTtl(Duration.ofSeconds(1))).tryLock());
    }

    @Test
    void executeLockedExcludesTheOtherClient() throws Throwable {
        assertEquals("done", registry.executeLocked(name, () -> {
            assertThrows(TimeoutException.class, () -> executeElsewhere(Duration.ofMillis(50)));
            return "done";
        }));
        executeElsewhere(Duration.ofSeconds(10));
    }

    private void executeElsewhere(Duration wait) throws Throwable {
        other.executeLocked(name, wait, () -> {
        });
    }

    @Test
    void theClientExtendsALockBeyondItsTtl() throws Exception {
        // A busy machine may be late by two thirds of the ttl.
        Lock lock = new RedlockLockRegistry(clients.one, Duration.ofSeconds(3)).obtain(name);
        lock.lock();
        assertFalse(other.obtain(name).tryLock(4, TimeUnit.SECONDS));
        lock.unlock();
        assertTrue(isFree());
    }

    @Test
    void theUnlockReportsALossAndUnlocks() throws Exception {
        Lock lock = registry.obtain(name);
        lock.lock();
        lock.lock();
        loseAllKeys();
        awaitUnheld();
        lock.unlock();
        String message = assertThrows(ConcurrentModificationException.class, lock::unlock).getMessage();
        assertTrue(message.contains(name), message);
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        assertTrue(lock.tryLock());
        lock.unlock();
    }

    @Test
    void theUnlockReportsALossThatTryLockHasEnded() throws Exception {
        Lock lock = registry.obtain(name);
        lock.lock();
        loseAllKeys();
        awaitUnheld();
        assertFalse(lock.tryLock());
        assertThrows(ConcurrentModificationException.class, lock::unlock);
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
        assertTrue(isFree());
    }

    /** Mostly the release itself finds the loss, before a node has reported it. */
    @Test
    void anUnlockRightAfterTheLossIsNoSuccess() {
        Lock lock = registry.obtain(name);
        for (int i = 0; i < 20; i++) {
            lock.lock();
            loseAllKeys();
            assertThrows(ConcurrentModificationException.class, lock::unlock);
        }
    }

    @Test
    void aHolderRenewsItsLock() {
        assertThrows(IllegalMonitorStateException.class, () -> registry.renewLock(name));
        Lock lock = registry.obtain(name);
        lock.lock();
        registry.renewLock(name);
        registry.renewLock(name, Duration.ofSeconds(50));
        for (RedisNode node : clients.nodes.nodes()) {
            long ttlMs = (long) node.call("PTTL", name);
            assertTrue(ttlMs > 40_000, () -> node + " has " + ttlMs + " ms");
        }
        assertThrows(IllegalArgumentException.class, () -> registry.renewLock(name, Duration.ofDays(1)));
        lock.unlock();
        assertTrue(isFree());
    }

    @Test
    void aLostLockIsNotRenewed() throws Exception {
        registry.obtain(name).lock();
        loseAllKeys();
        String message = assertThrows(IllegalStateException.class, () -> registry.renewLock(name)).getMessage();
        assertTrue(message.contains(name), message);
    }

    @Test
    void threadsCountWithoutLosingAnIncrement() throws Exception {
        int[] count = new int[1];
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<?>> ends = new ArrayList<>();
        for (int t = 0; t < 6; t++) {
            RedlockLockRegistry own = t % 2 == 0 ? registry : other;
            ends.add(threads.submit(() -> {
                for (int i = 0; i < 30; i++) {
                    assertDoesNotThrow(() -> own.executeLocked(name, () -> {
                        count[0]++;
                    }));
                }
            }));
        }
        for (Future<?> end : ends) {
            end.get(40, TimeUnit.SECONDS);
        }
        threads.shutdown();
        assertEquals(180, count[0]);
    }

    /** The initiator forgets a lost lock without an unlock. */
    @Test
    void aLeaderLeadsAgainAfterALoss() throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        LockRegistryLeaderInitiator initiator = initiator(registry, "a", events);
        initiator.start();
        for (int i = 0; i < 5; i++) {
            assertEquals("a granted", next(events));
            loseAllKeys();
            assertEquals("a revoked", next(events));
        }
        assertEquals("a granted", next(events));
        initiator.stop();
        assertEquals("a revoked", next(events));
        awaitFree();
        assertTrue(events.isEmpty(), events::toString);
    }

    @Test
    void aLeaderLeadsAgainAfterTheMajorityWasAway() throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        LockRegistryLeaderInitiator initiator = initiator(
                new RedlockLockRegistry(clients.one, Duration.ofMillis(1500)), "a", events);
        initiator.start();
        assertEquals("a granted", next(events));
        clients.nodes.node(0).pause();
        clients.nodes.node(1).pause();
        assertEquals("a revoked", next(events));
        clients.nodes.node(0).resume();
        clients.nodes.node(1).resume();
        assertEquals("a granted", next(events));
        initiator.stop();
        assertEquals("a revoked", next(events));
    }

    @Test
    void leadershipMovesToTheOtherClient() throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        LockRegistryLeaderInitiator first = initiator(registry, "a", events);
        LockRegistryLeaderInitiator second = initiator(other, "b", events);
        first.start();
        assertEquals("a granted", next(events));
        second.start();
        first.stop();
        // The lock is free before the first one is called back.
        assertEquals(List.of("a revoked", "b granted"), List.of(next(events), next(events)).stream().sorted().toList());
        second.getContext().yield();
        assertEquals("b revoked", next(events));
        assertEquals("b granted", next(events));
        second.stop();
        assertEquals("b revoked", next(events));
    }

    private LockRegistryLeaderInitiator initiator(RedlockLockRegistry locks, String id, BlockingQueue<String> events) {
        Candidate candidate = new DefaultCandidate(id, name) {
            @Override
            public void onGranted(Context context) {
                events.add(id + " granted");
            }

            @Override
            public void onRevoked(Context context) {
                events.add(id + " revoked");
            }
        };
        LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(locks, candidate);
        initiator.setHeartBeatMillis(20);
        initiator.setBusyWaitMillis(20);
        return initiator;
    }

    private static String next(BlockingQueue<String> events) throws InterruptedException {
        return events.poll(60, TimeUnit.SECONDS);
    }

    private void loseAllKeys() {
        clients.nodes.nodes().forEach(node -> assertEquals("OK", node.call("FLUSHALL")));
    }

    private boolean isFree() {
        Lock lock = other.obtain(name);
        boolean isFree = lock.tryLock();
        if (isFree) {
            lock.unlock();
        }
        return isFree;
    }

    private void awaitFree() throws InterruptedException {
        Lock lock = other.obtain(name);
        assertTrue(lock.tryLock(20, TimeUnit.SECONDS));
        lock.unlock();
    }

    /** The nodes report the loss. */
    private void awaitUnheld() throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (clients.one.asLock(name, AcquireOptions.ofTtl(Duration.ofSeconds(1))).isHeldByCurrentThread()) {
            assertTrue(deadlineNs - System.nanoTime() > 0, "the lock is held after 10 s");
            new CountDownLatch(1).await(2, TimeUnit.MILLISECONDS);
        }
    }
}
