package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.IdlePolicy;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a loop does when there is nothing to do, seen from below: whether its looks for events may sleep. */
@Timeout(30)
class EventLoopRunnerTest {

    /** Enough looks to see that a policy never sleeps. */
    private static final int LOOKS = 10_000;

    private final Events events = new Events();
    private EventLoopRunner thread;
    private volatile boolean isOver;

    @AfterEach
    void shutDown() {
        thread.shutDown();
    }

    private void start(final IdlePolicy policy) {
        thread = EventLoopRunner.start(executor -> events, policy, "test-loop");
    }

    /** Events that never come. It counts the looks that may not sleep, and keeps what happened before each sleep. */
    private static final class Events implements IoHandler {
        /**
         * How it came to a sleep.
         *
         * @param looks  without sleeping, since the sleep before
         * @param spanNs from the first of them
         */
        record Sleep(int looks, long spanNs) {
        }

        final LinkedBlockingQueue<Sleep> sleeps = new LinkedBlockingQueue<>();
        final CountDownLatch manyLooks = new CountDownLatch(LOOKS);
        private final Semaphore wakeUps = new Semaphore(0);
        private volatile int failures;
        private int looks;
        private long firstLookNs;

        @Override
        public int run(final IoHandlerContext context) {
            if (failures > 0) {
                failures--;
                throw new IllegalStateException("the I/O of a loop, thrown by a test");
            }
            final long nowNs = System.nanoTime();
            if (!context.canBlock()) {
                firstLookNs = looks == 0 ? nowNs : firstLookNs;
                looks++;
                manyLooks.countDown();
                return 0;
            }
            sleeps.add(new Sleep(looks, looks == 0 ? 0 : nowNs - firstLookNs));
            looks = 0;
            wakeUps.acquireUninterruptibly();
            wakeUps.drainPermits();
            return 0;
        }

        @Override
        public void wakeup() {
            wakeUps.release();
        }

        @Override
        public IoRegistration register(final IoHandle handle) {
            throw new UnsupportedOperationException("nothing can be registered here");
        }

        @Override
        public boolean isCompatible(final Class<? extends IoHandle> handleType) {
            return false;
        }
    }

    private void runTask() throws InterruptedException {
        final CountDownLatch ran = new CountDownLatch(1);
        thread.loop().execute(ran::countDown);
        assertTrue(ran.await(20, TimeUnit.SECONDS), "a task wakes the loop");
    }

    @Test
    void backOffLooksForItsTimeBeforeItSleepsAndAgainAfterEachTask() throws InterruptedException {
        start(IdlePolicy.BACK_OFF);
        assertLooksBeforeSleep(events.sleeps.take());
        for (int i = 0; i < 3; i++) {
            runTask();
            assertLooksBeforeSleep(events.sleeps.take());
        }
    }

    private static void assertLooksBeforeSleep(final Events.Sleep sleep) {
        assertTrue(sleep.looks > 1, sleep::toString);
        assertTrue(sleep.spanNs >= EventLoopRunner.BACK_OFF_NS, sleep::toString);
    }

    @Test
    void blockSleepsAtOnce() throws InterruptedException {
        start(IdlePolicy.BLOCK);
        assertEquals(0, events.sleeps.take().looks, "looks before the first sleep");
        runTask();
        final Events.Sleep second = events.sleeps.take();
        assertTrue(second.looks <= 1, second::toString);
    }

    /** A thread that ends with an exception leaves every caller of its loop without an answer. */
    @Test
    void aLogHandlerThatThrowsDoesNotEndTheThread() throws InterruptedException {
        final Logger log = Logger.getLogger("dev.redlock");
        final CountDownLatch logged = new CountDownLatch(2);
        final Handler handler = new Handler() {
            @Override
            public void publish(final LogRecord message) {
                logged.countDown();
                throw new AssertionError("a handler of the log, thrown by a test");
            }

            @Override
            public void flush() {
                // nothing is kept back
            }

            @Override
            public void close() {
                // nothing to close
            }
        };
        final Level level = log.getLevel();
        final Handler[] others = log.getHandlers();
        for (final Handler other : others) {
            log.removeHandler(other);
        }
        log.addHandler(handler);
        log.setLevel(Level.ALL);
        try {
            events.failures = 2;
            start(IdlePolicy.BLOCK);
            assertTrue(logged.await(20, TimeUnit.SECONDS), "both failures are logged");
            runTask();
        } finally {
            log.removeHandler(handler);
            for (final Handler other : others) {
                log.addHandler(other);
            }
            log.setLevel(level);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.INCLUDE, names = {"YIELD", "BUSY_SPIN"})
    void yieldAndSpinNeverSleep(final IdlePolicy policy) throws InterruptedException {
        start(policy);
        runTask();
        assertTrue(events.manyLooks.await(20, TimeUnit.SECONDS), "looks go on");
        assertTrue(events.sleeps.isEmpty(), events.sleeps::toString);
    }

    /** Whatever it comes from: tasks that other threads hand in faster than they are done are no different. */
    @ParameterizedTest
    @EnumSource
    void tasksThatNeverRunOutDoNotKeepTheLoopFromItsEvents(final IdlePolicy policy) throws InterruptedException {
        start(policy);
        final CountDownLatch someLooks = new CountDownLatch(3);
        final Runnable[] again = new Runnable[1];
        final int[] looksBefore = new int[1];
        again[0] = () -> {
            if (events.looks != looksBefore[0]) {
                looksBefore[0] = events.looks;
                someLooks.countDown();
            }
            if (someLooks.getCount() > 0 && !isOver) {
                thread.loop().execute(again[0]);
            }
        };
        thread.loop().execute(again[0]);
        try {
            assertTrue(someLooks.await(10, TimeUnit.SECONDS), "looks go on");
        } finally {
            isOver = true;
        }
    }
}
