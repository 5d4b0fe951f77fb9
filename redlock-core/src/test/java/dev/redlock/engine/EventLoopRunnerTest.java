package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.IdlePolicy;
import dev.redlock.testing.Await;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The idle policies, seen by the I/O handler: whether the loop lets its polls block. */
@Timeout(120)
class EventLoopRunnerTest {

    /** Enough polls to show that a policy never blocks. */
    private static final int POLLS = 10_000;

    private final Events events = new Events();
    private EventLoopRunner thread;
    private volatile boolean isOver;

    @AfterEach
    void shutDown() {
        if (thread != null) {
            thread.shutDown();
        }
    }

    private void start(IdlePolicy policy) {
        thread = EventLoopRunner.start(executor -> events, policy, "test-loop");
    }

    /** A thread that cannot start, for lack of memory, has opened nothing. */
    @Test
    void theThreadOfTheLoopOpensItsDescriptors() {
        CompletableFuture<String> opened = new CompletableFuture<>();
        thread = EventLoopRunner.start(executor -> {
            opened.complete(Thread.currentThread().getName());
            return events;
        }, IdlePolicy.BLOCK, "test-loop");
        assertEquals("test-loop", opened.join());
    }

    @Test
    void aLoopThatCannotOpenItsDescriptorsThrowsAndEndsItsThread() {
        AtomicReference<Thread> opening = new AtomicReference<>();
        for (Throwable failure : List.of(new OutOfMemoryError("thrown by a test"),
                new IllegalStateException("too many open files, thrown by a test"))) {
            assertSame(failure, assertThrows(failure.getClass(), () -> EventLoopRunner.start(executor -> {
                opening.set(Thread.currentThread());
                if (failure instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) failure;
            }, IdlePolicy.BLOCK, "test-loop")));
            Await.until("ended", () -> !opening.get().isAlive());
        }
    }

    @Test
    void aCreatorThatIsInterruptedWaitsAndKeepsTheInterrupt() {
        Thread creator = Thread.currentThread();
        creator.interrupt();
        try {
            thread = EventLoopRunner.start(executor -> {
                Await.until("the creator has noticed the interrupt", () -> !creator.isInterrupted());
                return events;
            }, IdlePolicy.BLOCK, "test-loop");
        } finally {
            assertTrue(Thread.interrupted(), "the interrupt is kept");
        }
    }

    /**
     * An I/O handler without events. It counts the polls that may not block, and records what happened before each
     * block.
     */
    private static final class Events implements IoHandler {
        /**
         * The polls before a blocking poll.
         *
         * @param polls  without sleeping, since the sleep before
         * @param spanNs from the first of them
         */
        record Sleep(int polls, long spanNs) {
        }

        final LinkedBlockingQueue<Sleep> sleeps = new LinkedBlockingQueue<>();
        final CountDownLatch manyPolls = new CountDownLatch(POLLS);
        private final Semaphore wakeUps = new Semaphore(0);
        private volatile int failures;
        private int polls;
        private long firstPollNs;

        @Override
        public int run(IoHandlerContext context) {
            if (failures > 0) {
                failures--;
                throw new IllegalStateException("the I/O of a loop, thrown by a test");
            }
            long nowNs = System.nanoTime();
            if (!context.canBlock()) {
                firstPollNs = polls == 0 ? nowNs : firstPollNs;
                polls++;
                manyPolls.countDown();
                return 0;
            }
            sleeps.add(new Sleep(polls, polls == 0 ? 0 : nowNs - firstPollNs));
            polls = 0;
            wakeUps.acquireUninterruptibly();
            wakeUps.drainPermits();
            return 0;
        }

        @Override
        public void wakeup() {
            wakeUps.release();
        }

        @Override
        public IoRegistration register(IoHandle handle) {
            throw new UnsupportedOperationException("nothing can be registered here");
        }

        @Override
        public boolean isCompatible(Class<? extends IoHandle> handleType) {
            return false;
        }
    }

    private void runTask() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        thread.loop().execute(ran::countDown);
        assertTrue(ran.await(60, TimeUnit.SECONDS), "a task wakes the loop");
    }

    @Test
    void backOffPollsBeforeItBlocksAndAgainAfterEachTask() throws InterruptedException {
        start(IdlePolicy.BACK_OFF);
        assertPollsBeforeSleep(events.sleeps.take());
        for (int i = 0; i < 3; i++) {
            runTask();
            assertPollsBeforeSleep(events.sleeps.take());
        }
    }

    private static void assertPollsBeforeSleep(Events.Sleep sleep) {
        assertTrue(sleep.polls > 1, sleep::toString);
        assertTrue(sleep.spanNs >= EventLoopRunner.BACK_OFF_NS, sleep::toString);
    }

    @Test
    void blockBlocksImmediately() throws InterruptedException {
        start(IdlePolicy.BLOCK);
        assertEquals(0, events.sleeps.take().polls, "polls before the first block");
        runTask();
        Events.Sleep second = events.sleeps.take();
        assertTrue(second.polls <= 1, second::toString);
    }

    /** If the thread ended with an exception, no caller of its loop would get an outcome. */
    @Test
    void aLogHandlerThatThrowsDoesNotEndTheThread() throws InterruptedException {
        Logger log = Logger.getLogger("dev.redlock");
        CountDownLatch logged = new CountDownLatch(2);
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord message) {
                logged.countDown();
                throw new AssertionError("a handler of the log, thrown by a test");
            }

            @Override
            public void flush() {
                // Nothing is buffered.
            }

            @Override
            public void close() {
                // There is nothing to close.
            }
        };
        Level level = log.getLevel();
        Handler[] others = log.getHandlers();
        for (Handler other : others) {
            log.removeHandler(other);
        }
        log.addHandler(handler);
        log.setLevel(Level.ALL);
        try {
            events.failures = 2;
            start(IdlePolicy.BLOCK);
            assertTrue(logged.await(60, TimeUnit.SECONDS), "both failures are logged");
            runTask();
        } finally {
            log.removeHandler(handler);
            for (Handler other : others) {
                log.addHandler(other);
            }
            log.setLevel(level);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.INCLUDE, names = {"YIELD", "BUSY_SPIN"})
    void yieldAndSpinNeverBlock(IdlePolicy policy) throws InterruptedException {
        start(policy);
        runTask();
        assertTrue(events.manyPolls.await(60, TimeUnit.SECONDS), "polls continue");
        assertTrue(events.sleeps.isEmpty(), events.sleeps::toString);
    }

    /** Tasks of the loop itself and tasks that other threads submit faster than they run have the same effect. */
    @ParameterizedTest
    @EnumSource
    void endlessTasksDoNotStarveEvents(IdlePolicy policy) throws InterruptedException {
        start(policy);
        CountDownLatch somePolls = new CountDownLatch(3);
        Runnable[] again = new Runnable[1];
        int[] pollsBefore = new int[1];
        again[0] = () -> {
            if (events.polls != pollsBefore[0]) {
                pollsBefore[0] = events.polls;
                somePolls.countDown();
            }
            if (somePolls.getCount() > 0 && !isOver) {
                thread.loop().execute(again[0]);
            }
        };
        thread.loop().execute(again[0]);
        try {
            assertTrue(somePolls.await(60, TimeUnit.SECONDS), "polls continue");
        } finally {
            isOver = true;
        }
    }

    /** A client that is never closed does not keep the process alive. */
    @Test
    void theThreadIsADaemon() throws InterruptedException {
        start(IdlePolicy.BLOCK);
        assertFalse(Thread.currentThread().isDaemon(), "it does not inherit this");
        LinkedBlockingQueue<Boolean> isDaemon = new LinkedBlockingQueue<>();
        thread.loop().execute(() -> isDaemon.add(Thread.currentThread().isDaemon()));
        assertEquals(true, isDaemon.poll(60, TimeUnit.SECONDS));
    }

    /** The loop is inside a task, so its thread cannot end yet. */
    @Test
    void anInterruptDoesNotEndTheWaitForTheThreadAndIsKept() throws InterruptedException {
        start(IdlePolicy.BLOCK);
        CountDownLatch isTaskOver = new CountDownLatch(1);
        thread.loop().execute(() -> {
            try {
                isTaskOver.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        LinkedBlockingQueue<Boolean> interrupted = new LinkedBlockingQueue<>();
        Thread caller = new Thread(() -> {
            thread.shutDown();
            interrupted.add(thread.loop().isTerminated() && Thread.currentThread().isInterrupted());
        });
        caller.setDaemon(true);
        caller.start();
        try {
            Await.until("it waits", () -> caller.getState() == Thread.State.WAITING);
            caller.interrupt();
            Await.until("it waits again",
                    () -> !caller.isInterrupted() && caller.getState() == Thread.State.WAITING);
        } finally {
            isTaskOver.countDown();
        }
        assertEquals(true, interrupted.poll(60, TimeUnit.SECONDS), "the loop has ended, and the flag is set again");
    }
}
