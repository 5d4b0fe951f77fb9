package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LookupThreadsTest {

    private final LookupThreads lookups = new LookupThreads(Thread::new);
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final CountDownLatch hung = new CountDownLatch(1);

    private void hang() {
        threads.add(Thread.currentThread());
        try {
            hung.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void awaitNone() throws InterruptedException {
        while (lookups.pendingCount() > 0) {
            Thread.onSpinWait();
        }
        lookups.close();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    @Test
    void aThousandLookUpsThatHangOccupyAFewThreads() throws InterruptedException {
        CountDownLatch last = new CountDownLatch(1);
        for (int i = 0; i < 1_000; i++) {
            lookups.execute(this::hang);
        }
        lookups.execute(last::countDown);
        assertEquals(1_001, lookups.pendingCount());
        hung.countDown();
        last.await();
        awaitNone();
        assertTrue(threads.stream().distinct().count() <= LookupThreads.THREADS_MAX, threads::toString);
    }

    @Test
    void closeDropsTheLookUpsThatWait() throws InterruptedException {
        for (int i = 0; i < LookupThreads.THREADS_MAX + 10; i++) {
            lookups.execute(this::hang);
        }
        lookups.close();
        assertEquals(LookupThreads.THREADS_MAX, lookups.pendingCount());
        lookups.execute(this::hang);
        hung.countDown();
        awaitNone();
        assertEquals(LookupThreads.THREADS_MAX, threads.size());
    }

    @Test
    void aThreadThatCannotStartIsNotCounted() {
        LookupThreads none = new LookupThreads(task -> {
            throw new OutOfMemoryError("no thread, thrown by a test");
        });
        for (int i = 0; i < 2 * LookupThreads.THREADS_MAX; i++) {
            assertThrows(OutOfMemoryError.class, () -> none.execute(this::hang));
        }
        assertEquals(0, none.pendingCount());
    }
}
