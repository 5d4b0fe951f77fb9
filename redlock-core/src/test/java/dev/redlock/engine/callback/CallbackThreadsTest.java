package dev.redlock.engine.callback;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads for the functions of users: as many as needed, each task once. */
@Timeout(60)
class CallbackThreadsTest {

    private static final int TASKS = 50_000;
    private static final int CALLERS = 4;

    @Test
    void eachTaskRunsOnce() throws InterruptedException {
        CallbackThreads threads = new CallbackThreads("test");
        AtomicIntegerArray runs = new AtomicIntegerArray(CALLERS * TASKS);
        AtomicInteger left = new AtomicInteger(CALLERS * TASKS);
        List<Thread> callers = new ArrayList<>();
        for (int caller = 0; caller < CALLERS; caller++) {
            int first = caller * TASKS;
            callers.add(new Thread(() -> {
                for (int i = first; i < first + TASKS; i++) {
                    int task = i;
                    threads.execute(() -> {
                        runs.incrementAndGet(task);
                        left.decrementAndGet();
                    });
                }
            }));
        }
        callers.forEach(Thread::start);
        for (Thread caller : callers) {
            caller.join();
        }
        Await.until("all tasks have run", () -> left.get() == 0);
        for (int i = 0; i < runs.length(); i++) {
            assertEquals(1, runs.get(i));
        }
        threads.close();
        Await.until("the threads have ended", () -> threads.count() == 0);
        CountDownLatch after = new CountDownLatch(1);
        threads.execute(after::countDown);
        after.await();
        Await.until("its thread has ended", () -> threads.count() == 0);
    }

    @Test
    void aThreadThatIsIdleServesTheNextTask() throws Exception {
        CallbackThreads threads = new CallbackThreads("test");
        for (int i = 0; i < 200; i++) {
            CompletableFuture<Thread> served = new CompletableFuture<>();
            threads.execute(() -> served.complete(Thread.currentThread()));
            Thread thread = served.get();
            // Only then it is idle; until then another task needs another thread.
            Await.until("the thread waits", () -> thread.getState() == Thread.State.TIMED_WAITING);
        }
        assertEquals(1, threads.count(), "threads for one task at a time");
        threads.close();
    }

    @Test
    void tasksBeyondTheLimitWait() throws InterruptedException {
        CallbackThreads threads = new CallbackThreads("test");
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch started = new CountDownLatch(CallbackThreads.THREADS_MAX);
        CountDownLatch ended = new CountDownLatch(2 * CallbackThreads.THREADS_MAX);
        for (int i = 0; i < 2 * CallbackThreads.THREADS_MAX; i++) {
            threads.execute(() -> {
                started.countDown();
                try {
                    blocked.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                ended.countDown();
            });
        }
        started.await();
        assertEquals(CallbackThreads.THREADS_MAX, threads.count());
        blocked.countDown();
        ended.await();
        threads.close();
    }

    /** One thread at a time, unless tasks wait: then others help, also if none is blocked. */
    @Test
    void tasksThatTakeTimeGetMoreThreads() throws InterruptedException {
        CallbackThreads threads = new CallbackThreads("test");
        int tasks = 50;
        CountDownLatch done = new CountDownLatch(tasks);
        for (int i = 0; i < tasks; i++) {
            threads.execute(() -> {
                long startNs = System.nanoTime();
                Await.until("some time", () -> System.nanoTime() - startNs > 5_000_000);
                done.countDown();
            });
        }
        done.await();
        int count = threads.count();
        assertTrue(count > 2, () -> count + " threads");
        threads.close();
        Await.until("the threads have ended", () -> threads.count() == 0);
    }

    /** It would end the wait of a task that is another's. */
    @Test
    void anInterruptThatATaskLeavesIsNotThatOfTheNextOne() {
        CallbackThreads threads = new CallbackThreads("test");
        AtomicInteger sameThreadCount = new AtomicInteger();
        AtomicInteger interruptedCount = new AtomicInteger();
        Await.until("a thread runs two tasks", () -> {
            CountDownLatch done = new CountDownLatch(1);
            threads.execute(() -> {
                Thread first = Thread.currentThread();
                threads.execute(() -> {
                    interruptedCount.addAndGet(Thread.currentThread().isInterrupted() ? 1 : 0);
                    sameThreadCount.addAndGet(Thread.currentThread() == first ? 1 : 0);
                    done.countDown();
                });
                first.interrupt();
            });
            Await.until("both have run", () -> done.getCount() == 0);
            return sameThreadCount.get() > 0;
        });
        assertEquals(0, interruptedCount.get());
        threads.close();
    }

    @Test
    void anInterruptThatAnEventLeavesIsNotThatOfTheNextOne() throws Exception {
        CallbackThreads threads = new CallbackThreads("test");
        CallbackExecutor executor = new CallbackExecutor(null, false, threads, threads, threads);
        CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
        executor.executeInOrder(this, () -> {
            executor.executeInOrder(this, () -> isInterrupted.complete(Thread.currentThread().isInterrupted()));
            Thread.currentThread().interrupt();
        });
        assertFalse(isInterrupted.get());
        threads.close();
    }

    /** A task is executed or refused, never both. */
    @Test
    void aThreadThatCannotStartRefusesTheTask() {
        AtomicBoolean isFailing = new AtomicBoolean(true);
        CallbackThreads threads = new CallbackThreads(worker -> {
            if (isFailing.get()) {
                throw new OutOfMemoryError("thrown by a test");
            }
            return new Thread(worker);
        });
        CallbackExecutor executor = new CallbackExecutor(null, false, threads, threads, threads);
        List<Thread> ran = new ArrayList<>();
        assertThrows(OutOfMemoryError.class, () -> threads.execute(() -> ran.add(null)));
        for (int i = 0; i < 3; i++) {
            executor.execute(() -> ran.add(Thread.currentThread()));
        }
        assertEquals(List.of(Thread.currentThread(), Thread.currentThread(), Thread.currentThread()), ran);
        isFailing.set(false);
        CountDownLatch done = new CountDownLatch(1);
        executor.execute(done::countDown);
        Await.until("it runs", () -> done.getCount() == 0);
        threads.close();
    }
}
