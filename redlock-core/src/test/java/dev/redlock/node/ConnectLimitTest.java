package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ConnectLimitTest {

    private final ThreadPoolExecutor lookups = ConnectLimit.newLookups(Thread::new);
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
        awaitPending(0);
        ConnectLimit.drop(lookups);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void awaitPending(int count) {
        while (ConnectLimit.pendingCount(lookups) != count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aThousandLookUpsThatHangOccupyAFewThreads() throws InterruptedException {
        CountDownLatch last = new CountDownLatch(1);
        for (int i = 0; i < 1_000; i++) {
            lookups.execute(this::hang);
        }
        lookups.execute(last::countDown);
        awaitPending(1_001);
        hung.countDown();
        last.await();
        awaitNone();
        assertTrue(threads.stream().distinct().count() <= ConnectLimit.LOOKUP_THREADS_MAX, threads::toString);
    }

    @Test
    void closeDropsTheLookUpsThatWait() throws InterruptedException {
        for (int i = 0; i < ConnectLimit.LOOKUP_THREADS_MAX + 10; i++) {
            lookups.execute(this::hang);
        }
        awaitPending(ConnectLimit.LOOKUP_THREADS_MAX + 10);
        ConnectLimit.drop(lookups);
        awaitPending(ConnectLimit.LOOKUP_THREADS_MAX);
        lookups.execute(this::hang);
        hung.countDown();
        awaitNone();
        assertEquals(ConnectLimit.LOOKUP_THREADS_MAX, threads.size());
    }

    @Test
    void aThreadThatCannotStartIsNotCounted() {
        ThreadPoolExecutor none = ConnectLimit.newLookups(task -> {
            throw new OutOfMemoryError("no thread, thrown by a test");
        });
        for (int i = 0; i < 2 * ConnectLimit.LOOKUP_THREADS_MAX; i++) {
            assertThrows(OutOfMemoryError.class, () -> none.execute(this::hang));
        }
        assertEquals(0, ConnectLimit.pendingCount(none));
    }
}
