package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockSemaphore;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The behaviour of semaphores, as {@link LockContract} has that of plain locks. */
public abstract class SemaphoreContract extends ContractNodes {

    private static AcquireOptions permitOf(int count) {
        return AcquireOptions.ofTtl(LONG).forPermitOf(count).tryOnce();
    }

    private static AcquireOptions waitingForPermitOf(int count) {
        return permitOf(count).waitUpTo(LONG);
    }

    private String permit(int number) {
        return resource + ":redlock:permit:{" + resource + "}:" + number;
    }

    private int permitKeyCount(int count) {
        int keys = 0;
        for (int i = 0; i < count; i++) {
            keys += keyCount(permit(i));
        }
        return keys;
    }

    private void awaitNoPermit(int count) {
        Await.until(() -> permitKeyCount(count) + " keys are left", () -> permitKeyCount(count) == 0);
    }

    private static void assertContended(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        long ttlMs = outcome.shortestRemainingTtlMs();
        assertTrue(ttlMs > 0 && ttlMs <= LONG.toMillis(), outcome::toString);
    }

    @Test
    void clientsTakeAllPermitsAndNoMore() throws InterruptedException {
        Redlock one = client();
        Redlock other = client();
        for (int count : new int[]{1, 2, 5}) {
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                leases.add(acquired((i % 2 == 0 ? one : other).acquire(resource, permitOf(count))));
            }
            assertContended(one.acquire(resource, permitOf(count)));
            assertContended(other.acquire(resource, permitOf(count)));
            for (Lease lease : leases) {
                assertTrue(lease.isHeld());
                assertEquals(resource, lease.resource());
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
                acquired(other.acquire(resource, waitingForPermitOf(count))).release();
            }
            awaitNoPermit(count);
        }
    }

    @Test
    void aPermitIsOnePermitWithTheTokenOfItsHolder() throws InterruptedException {
        Lease lease = acquired(client().acquire(resource, permitOf(1)));
        Await.until("a quorum has the key", () -> keyCount(permit(0)) >= quorum());
        assertEquals(1, tokensOf(permit(0)).size(), "one token");
        assertEquals(0, keyCount(resource), "no key of a plain lock");
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        awaitNoPermit(1);
    }

    @Test
    void aPlainLockOfTheNameDoesNotExcludeThePermits() throws InterruptedException {
        Redlock client = client();
        Lease plain = acquired(client.tryAcquire(resource, LONG));
        Lease permit = acquired(client.acquire(resource, permitOf(1)));
        assertTrue(plain.isHeld() && permit.isHeld());
        plain.release();
        permit.release();
        awaitNoKey();
    }

    @Test
    void aPermitIsExtendedAndLost() throws InterruptedException {
        Redlock client = client();
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofSeconds(5)).forPermitOf(1).tryOnce();
        Lease lease = acquired(client.acquire(resource, brief));
        Await.until("a quorum has the key", () -> keyCount(permit(0)) >= quorum());
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG));
        assertTrue(lease.remainingValidity().toMillis() > 10_000);
        deleteEverywhere(permit(0));
        Lease next = acquired(client().acquire(resource, permitOf(1)));
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG));
        assertFalse(lease.isHeld());
        assertTrue(next.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, next.release());
        awaitNoPermit(1);
    }

    @Test
    void waitersAreWokenByAnyPermit() throws InterruptedException {
        Redlock client = client();
        for (Redlock waiter : List.of(client, client())) {
            for (int released = 0; released < 3; released++) {
                List<Lease> leases = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    leases.add(acquired(client.acquire(resource, permitOf(3))));
                }
                long refusedCount = waiter.counters().contendedAttemptCount();
                CompletableFuture<AcquireOutcome> waiting = waiter.acquireAsync(resource, waitingForPermitOf(3))
                        .toCompletableFuture();
                Await.until("refused", () -> waiter.counters().contendedAttemptCount() > refusedCount);
                leases.remove(released).release();
                leases.add(acquired(waiting.join()));
                leases.forEach(Lease::release);
                awaitNoPermit(3);
            }
        }
    }

    @Test
    void aSmallerNumberUsesTheFirstPermits() throws InterruptedException {
        Redlock client = client();
        Lease first = acquired(client.acquire(resource, permitOf(1)));
        Lease second = acquired(client().acquire(resource, permitOf(2)));
        assertContended(client.acquire(resource, permitOf(1)));
        assertContended(client.acquire(resource, permitOf(2)));
        first.release();
        acquired(client.acquire(resource, waitingForPermitOf(1))).release();
        second.release();
        awaitNoPermit(2);
    }

    @Test
    void theOtherFormsTakePermits() throws InterruptedException {
        Redlock client = client();
        ResourceKey key = client.key(resource);
        Lease lease = client.newLease();
        Lease other = acquired(client.acquire(key, permitOf(2)));
        for (int i = 0; i < 3; i++) {
            CountDownLatch isDecided = new CountDownLatch(1);
            client.acquire(key, waitingForPermitOf(2), lease, outcome -> isDecided.countDown());
            assertTrue(isDecided.await(30, TimeUnit.SECONDS), "the callback runs");
            assertTrue(lease.isHeld(), lease::toString);
            assertContended(client.tryAcquire(key, permitOf(2)));
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        }
        acquired(client.acquireAsync(key, waitingForPermitOf(2)).toCompletableFuture().join()).release();
        other.release();
        awaitNoPermit(2);
    }

    @Test
    void neverMoreHoldersThanPermits() throws InterruptedException {
        List<Redlock> both = List.of(client(), client());
        int permits = 3;
        AtomicInteger holders = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Redlock client = both.get(i % 2);
            threads.add(new Thread(() -> {
                for (int cycle = 0; cycle < 8; cycle++) {
                    try (Lease lease = acquired(client.acquire(resource,
                            waitingForPermitOf(permits).waitUpTo(Duration.ofSeconds(50))))) {
                        most.accumulateAndGet(holders.incrementAndGet(), Math::max);
                        assertTrue(lease.isHeld());
                        Thread.yield();
                        holders.decrementAndGet();
                    } catch (InterruptedException e) {
                        throw new AssertionError("no interrupt is expected", e);
                    }
                }
            }));
            threads.get(i).start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, holders.get(), "all have left");
        assertTrue(most.get() <= permits, most + " holders of " + permits + " permits");
        awaitNoPermit(permits);
    }

    @Test
    void aLargeSemaphoreHasEachOfItsPermits() throws InterruptedException {
        Redlock client = client();
        List<CompletableFuture<AcquireOutcome>> all = new ArrayList<>();
        for (int i = 0; i < 256; i++) {
            all.add(client.acquireAsync(resource, permitOf(256)).toCompletableFuture());
        }
        List<Lease> leases = all.stream().map(outcome -> acquired(outcome.join())).toList();
        Redlock other = client();
        assertContended(other.acquire(resource, permitOf(256)));
        leases.get(77).release();
        Lease last = acquired(other.acquire(resource, waitingForPermitOf(256)));
        leases.forEach(lease -> lease.release((ended, outcome) -> {
        }));
        last.release();
        awaitNoPermit(256);
    }

    @Test
    void theViewTakesAndReleasesPermitsOfItsThread() throws Exception {
        Redlock client = client();
        RedlockSemaphore view = client.asSemaphore(resource, 2, AcquireOptions.ofTtl(LONG));
        assertNull(view.lease());
        assertThrows(IllegalMonitorStateException.class, view::release);
        view.acquire();
        Lease first = view.lease();
        view.acquireUninterruptibly();
        assertTrue(first.isHeld() && view.lease().isHeld() && view.lease() != first);
        assertFalse(view.tryAcquire(), "none is left");
        assertFalse(view.tryAcquire(10, TimeUnit.MILLISECONDS), "none is left");
        CompletableFuture<Boolean> elsewhere = CompletableFuture.supplyAsync(() -> {
            assertThrows(IllegalMonitorStateException.class, view::release);
            view.acquireUninterruptibly();
            boolean isHeld = view.lease().isHeld();
            view.release();
            return isHeld;
        });
        client.asSemaphore(resource, 2, AcquireOptions.ofTtl(LONG)).release();
        assertTrue(elsewhere.get(), "the other thread had it");
        assertSame(first, view.lease(), "the first is left");
        assertTrue(view.tryAcquire(5, TimeUnit.SECONDS));
        view.release();
        view.release();
        assertNull(view.lease());
        awaitNoPermit(2);
        client.close();
        assertThrows(IllegalStateException.class, view::acquire);
        assertThrows(IllegalStateException.class, view::tryAcquire);
    }

    @Test
    void badSemaphoresAreRejectedBeforeAnyCommand() {
        Redlock client = client();
        AcquireOptions options = AcquireOptions.ofTtl(LONG);
        for (int count : new int[]{-1, 0, 257, Integer.MAX_VALUE}) {
            String message = assertThrows(IllegalArgumentException.class, () -> options.forPermitOf(count))
                    .getMessage();
            assertEquals("permit count " + count + " is out of range: a semaphore has 1 to 256 permits", message);
            assertThrows(IllegalArgumentException.class, () -> client.asSemaphore(resource, count, options));
        }
        assertThrows(IllegalArgumentException.class, () -> client.acquire(resource, permitOf(2).fenced()));
        assertThrows(IllegalArgumentException.class, () -> client.asSemaphore(resource, 2, options.fenced()));
        assertThrows(IllegalArgumentException.class,
                () -> client.acquireAll(List.of(resource, resource + "/2"), permitOf(2)));
        assertThrows(IllegalArgumentException.class, () -> client.tryAcquire(permit(0), LONG), "the name of a permit");
        assertThrows(NullPointerException.class, () -> client.asSemaphore(null, 2, options));
        assertThrows(NullPointerException.class, () -> client.asSemaphore(resource, 2, null));
        assertEquals(0, permitKeyCount(2), "nothing was sent");
    }
}
