package dev.redlock.engine;

import dev.redlock.api.IdlePolicy;
import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ManualIoEventLoop;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs one event loop on a thread of the client, with the configured idle policy. The conductor and its I/O share the
 * thread, so they need no queue between them. The loop is a {@link ManualIoEventLoop}: tests run the same engine in
 * virtual time.
 *
 * @threading any thread
 */
final class EventLoopRunner {

    /** About the time from the wake-up of a caller to its next call. */
    static final long BACK_OFF_NS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final NanoClock CLOCK = NanoClock.system();
    private static final long WAIT_NS_MAX = TimeUnit.SECONDS.toNanos(1);
    /** Longest time that tasks run before the loop polls its sockets and timers again. */
    static final long TASKS_NS_MAX = TimeUnit.MILLISECONDS.toNanos(1);

    private final ManualIoEventLoop loop;
    private final Thread thread;
    private final IdlePolicy idlePolicy;
    /** Written by the loop. */
    private final AtomicLong turnCount = new AtomicLong();
    private boolean isIdle;
    private long idleSinceNs;

    /**
     * The result of the creation, for the thread that waits for it. It exists before the thread of the loop, which may
     * find no memory: that thread only stores fields.
     *
     * @threading any thread: that of the loop writes the fields before the end of the wait
     */
    private static final class Creation {

        final CountDownLatch isOver = new CountDownLatch(1);
        EventLoopRunner runner;
        Throwable failure;

        /** Waits also if the calling thread is interrupted, and keeps the interrupt. */
        EventLoopRunner await() {
            boolean wasInterrupted = false;
            while (isOver.getCount() > 0) {
                try {
                    isOver.await();
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
            if (failure instanceof Error error) {
                throw error;
            }
            if (failure != null) {
                throw (RuntimeException) failure;
            }
            return runner;
        }
    }

    private EventLoopRunner(IoHandlerFactory factory, IdlePolicy idlePolicy) {
        this.idlePolicy = idlePolicy;
        this.thread = Thread.currentThread();
        this.loop = new ManualIoEventLoop(thread, factory);
    }

    /**
     * Starts a loop that runs until its shutdown. Its thread creates it, because only the thread of a loop can give its
     * descriptors back: one that cannot start leaves none open.
     */
    static EventLoopRunner start(IoHandlerFactory factory, IdlePolicy idlePolicy, String name) {
        Creation creation = new Creation();
        // Netty pools objects only on threads of this class.
        Thread thread = new FastThreadLocalThread(() -> {
            EventLoopRunner runner = null;
            try {
                runner = new EventLoopRunner(factory, idlePolicy);
                creation.runner = runner;
            } catch (Throwable e) {
                creation.failure = e;
            } finally {
                creation.isOver.countDown();
            }
            if (runner != null) {
                runner.run();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return creation.await();
    }

    ManualIoEventLoop loop() {
        return loop;
    }

    /** @return the turns so far; any thread */
    long turnCount() {
        return turnCount.getOpaque();
    }

    /** @return where the thread is; empty if it has ended */
    StackTraceElement[] stack() {
        return thread.getStackTrace();
    }

    @Override
    public String toString() {
        return thread.getName();
    }

    private void run() {
        while (!loop.isTerminated()) {
            try {
                turnCount.setOpaque(turnCount.getPlain() + 1);
                runOnce();
            } catch (Throwable e) {
                Log.error("the event loop threw; it continues", e);
            }
        }
    }

    private void runOnce() {
        switch (idlePolicy) {
            case BLOCK -> loop.run(WAIT_NS_MAX, TASKS_NS_MAX);
            case BACK_OFF -> backOff();
            case YIELD -> {
                if (loop.runNow(TASKS_NS_MAX) == 0) {
                    Thread.yield();
                }
            }
            case BUSY_SPIN -> {
                if (loop.runNow(TASKS_NS_MAX) == 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    private void backOff() {
        if (loop.runNow(TASKS_NS_MAX) > 0) {
            isIdle = false;
            return;
        }
        long nowNs = CLOCK.nanoTime();
        if (!isIdle) {
            isIdle = true;
            idleSinceNs = nowNs;
        }
        if (nowNs - idleSinceNs < BACK_OFF_NS) {
            Thread.yield();
        } else {
            loop.run(WAIT_NS_MAX, TASKS_NS_MAX);
            isIdle = false;
        }
    }

    /** Shuts the loop down and waits for its thread, unless this is its thread. */
    void shutDown() {
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        boolean wasInterrupted = false;
        while (Thread.currentThread() != thread && thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
