package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockReadWriteLock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** The behaviour of read-write locks, as {@link LockContract} has that of plain locks. */
public abstract class ReadWriteContract extends SemaphoreContract {

    private static final AcquireOptions READ_ONCE = AcquireOptions.ofTtl(LONG).forReading().tryOnce();
    private static final AcquireOptions WRITE_ONCE = AcquireOptions.ofTtl(LONG).forWriting().tryOnce();
    private static final AcquireOptions PLAIN_ONCE = AcquireOptions.ofTtl(LONG).tryOnce();

    /** The nodes with the key, of any type. */
    private int existingCount() {
        int count = 0;
        for (int i = 0; i < voterCount(); i++) {
            count += node(i).pttl(resource) == -2 ? 0 : 1;
        }
        return count;
    }

    private void awaitGone() {
        Await.until(() -> existingCount() + " keys of " + resource + " are left", () -> existingCount() == 0);
    }

    private static void assertContended(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
    }

    @Test
    void readersShareAndExcludeWritersAndPlainLocks() throws InterruptedException {
        Redlock one = client();
        Redlock other = client();
        List<Lease> leases = List.of(acquired(one.acquire(resource, READ_ONCE)),
                acquired(one.acquire(resource, READ_ONCE)), acquired(other.acquire(resource, READ_ONCE)));
        for (Lease lease : leases) {
            assertContended(other.acquire(resource, WRITE_ONCE));
            assertContended(other.acquire(resource, PLAIN_ONCE));
            assertTrue(lease.isHeld());
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
        }
        Await.until("the last entry is gone", () -> existingCount() == 0);
        acquired(other.acquire(resource, WRITE_ONCE)).release();
    }

    @Test
    void aWriterAndAPlainLockExcludeReadersAndWriters() throws InterruptedException {
        Redlock client = client();
        for (AcquireOptions options : List.of(WRITE_ONCE, PLAIN_ONCE)) {
            Lease lease = acquired(client.acquire(resource, options));
            for (Redlock other : List.of(client, client())) {
                assertContended(other.acquire(resource, READ_ONCE));
                assertContended(other.acquire(resource, WRITE_ONCE));
            }
            assertTrue(lease.isHeld());
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
            awaitGone();
        }
    }

    @Test
    void aReaderExtends() throws InterruptedException {
        Redlock client = client();
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofSeconds(5)).forReading().tryOnce();
        Lease lease = acquired(client.acquire(resource, brief));
        Lease other = acquired(client.acquire(resource, brief));
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(LONG));
        assertTrue(lease.remainingValidity().toMillis() > 10_000 && other.remainingValidity().toMillis() < 10_000);
        assertEquals(ReleaseOutcome.RELEASED, other.release());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        awaitGone();
    }

    @Test
    void aReaderWhoseEntriesAreGoneIsLost() throws InterruptedException {
        Lease lease = acquired(client().acquire(resource, READ_ONCE));
        Await.until("a quorum has the key", () -> existingCount() >= quorum());
        deleteEverywhere(resource);
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG));
        assertFalse(lease.isHeld());
        awaitGone();
    }

    @Test
    void aWriterWhoseKeysAreReplacedByReadersIsLost() throws InterruptedException {
        Lease lease = acquired(client().acquire(resource, WRITE_ONCE));
        Await.until("a quorum has the key", () -> existingCount() >= quorum());
        deleteEverywhere(resource);
        Lease reader = acquired(client().acquire(resource, READ_ONCE));
        assertEquals(ExtendOutcome.LOST, lease.extend(LONG));
        assertTrue(reader.isHeld(), "its entries stay");
        assertEquals(ReleaseOutcome.RELEASED, reader.release());
    }

    @Test
    void waitingReadersAndWritersAreWoken() throws InterruptedException {
        Redlock client = client();
        for (Redlock waiter : List.of(client, client())) {
            Lease written = acquired(client.acquire(resource, WRITE_ONCE));
            List<CompletableFuture<AcquireOutcome>> readers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                readers.add(waiter.acquireAsync(resource, READ_ONCE.waitUpTo(LONG)).toCompletableFuture());
            }
            Await.until("refused once", () -> waiter.counters().contendedAttemptCount() > 0);
            written.release();
            List<Lease> read = new ArrayList<>();
            for (CompletableFuture<AcquireOutcome> reader : readers) {
                read.add(acquired(reader.join()));
            }
            CompletableFuture<AcquireOutcome> writer = waiter.acquireAsync(resource, WRITE_ONCE.waitUpTo(LONG))
                    .toCompletableFuture();
            for (Lease lease : read) {
                assertFalse(writer.isDone(), "it waits for all readers");
                lease.release();
            }
            acquired(writer.join()).release();
            awaitGone();
        }
    }

    @Test
    void noNewReaderComesWhileAWriterWaits() throws InterruptedException {
        Redlock client = client();
        Lease read = acquired(client.acquire(resource, READ_ONCE));
        CompletableFuture<AcquireOutcome> writer = client().acquireAsync(resource, WRITE_ONCE.waitUpTo(LONG))
                .toCompletableFuture();
        Await.until("a new reader is refused", () -> {
            AcquireOutcome outcome = client.acquireAsync(resource, READ_ONCE).toCompletableFuture().join();
            if (outcome.isAcquired()) {
                outcome.lease().release();
            }
            return !outcome.isAcquired();
        });
        read.release();
        Lease written = acquired(writer.join());
        written.release();
        Await.until("readers come in again", () -> {
            AcquireOutcome outcome = client.acquireAsync(resource, READ_ONCE).toCompletableFuture().join();
            if (outcome.isAcquired()) {
                outcome.lease().release();
            }
            return outcome.isAcquired();
        });
    }

    @Test
    void writersHaveFencingTokensThatGrow() throws InterruptedException {
        Redlock client = client();
        long last = 0;
        for (int i = 0; i < 4; i++) {
            Lease read = acquired(client.acquire(resource, READ_ONCE.waitUpTo(LONG)));
            CompletableFuture<AcquireOutcome> writer = client.acquireAsync(resource, WRITE_ONCE.fenced().waitUpTo(LONG))
                    .toCompletableFuture();
            read.release();
            for (Lease lease : List.of(acquired(writer.join()))) {
                assertTrue(lease.fencingToken() > last, last + " before " + lease);
                last = lease.fencingToken();
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
            }
            Lease plain = acquired(client.acquire(resource, PLAIN_ONCE.fenced().waitUpTo(LONG)));
            assertTrue(plain.fencingToken() > last, last + " before " + plain);
            last = plain.fencingToken();
            plain.release();
        }
        deleteEverywhere(KeyText.counterName(resource));
    }

    @Test
    void noWriterIsBesideAReader() throws InterruptedException {
        List<Redlock> both = List.of(client(), client());
        AtomicInteger readers = new AtomicInteger();
        AtomicInteger writers = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Redlock client = both.get(i % 2);
            AtomicInteger mine = i < 4 ? readers : writers;
            AcquireOptions options = (i < 4 ? READ_ONCE : WRITE_ONCE).waitUpTo(Duration.ofSeconds(50));
            int writersMax = i < 4 ? 0 : 1;
            threads.add(new Thread(() -> {
                for (int cycle = 0; cycle < 8; cycle++) {
                    try (Lease lease = acquired(client.acquire(resource, options))) {
                        mine.incrementAndGet();
                        boolean isRight = writers.get() == writersMax && (writersMax == 0 || readers.get() == 0);
                        overlaps.addAndGet(isRight && lease.isHeld() ? 0 : 1);
                        Thread.yield();
                        mine.decrementAndGet();
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
        assertEquals(0, overlaps.get(), "a writer beside another holder");
        assertEquals(0, readers.get() + writers.get(), "all have left");
    }

    @Test
    void theViewIsReentrantAndRejectsUpgrades() throws Exception {
        RedlockReadWriteLock view = client().asReadWriteLock(resource, AcquireOptions.ofTtl(LONG).fenced());
        Lock reading = view.readLock();
        Lock writing = view.writeLock();
        reading.lock();
        assertTrue(reading.tryLock(), "again");
        assertTrue(view.lease().isHeld());
        assertFalse(writing.tryLock(), "no upgrade");
        assertThrows(IllegalStateException.class, writing::lock);
        assertThrows(IllegalStateException.class, () -> writing.tryLock(1, TimeUnit.SECONDS));
        reading.unlock();
        reading.unlock();
        assertNull(view.lease());
        assertThrows(IllegalMonitorStateException.class, reading::unlock);
        writing.lockInterruptibly();
        assertTrue(view.lease().fencingToken() > 0);
        assertTrue(reading.tryLock(1, TimeUnit.SECONDS), "inside the write lock");
        writing.unlock();
        assertContended(client().acquire(resource, READ_ONCE));
        reading.unlock();
        Await.until("released with its last hold", () -> existingCount() == 0);
        assertThrows(IllegalMonitorStateException.class, writing::unlock);
        assertThrows(UnsupportedOperationException.class, reading::newCondition);
        deleteEverywhere(KeyText.counterName(resource));
    }

    @Test
    void threadsOfAViewReadTogether() throws InterruptedException {
        RedlockReadWriteLock view = client().asReadWriteLock(resource, AcquireOptions.ofTtl(LONG));
        view.readLock().lock();
        AtomicInteger readCount = new AtomicInteger();
        Thread reader = new Thread(() -> {
            view.readLock().lock();
            readCount.addAndGet(view.lease().isHeld() ? 1 : 0);
            view.readLock().unlock();
        });
        reader.start();
        reader.join();
        assertEquals(1, readCount.get());
        assertContended(client().acquire(resource, WRITE_ONCE));
        view.readLock().unlock();
        Await.until("released", () -> existingCount() == 0);
    }

    @Test
    void contradictoryOptionsAreRejected() {
        Redlock client = client();
        assertThrows(IllegalArgumentException.class, () -> client.acquire(resource, READ_ONCE.fenced()));
        assertThrows(IllegalArgumentException.class, () -> client.acquire(resource, READ_ONCE.watchLoss()));
        for (AcquireOptions options : List.of(READ_ONCE, WRITE_ONCE)) {
            assertThrows(IllegalArgumentException.class,
                    () -> client.acquireAll(List.of(resource, resource + "/2"), options));
        }
        assertThrows(NullPointerException.class, () -> client.asReadWriteLock(null, PLAIN_ONCE));
        assertThrows(NullPointerException.class, () -> client.asReadWriteLock(resource, null));
        assertEquals(0, existingCount(), "nothing was sent");
    }
}
