package dev.redlock.engine;

import dev.redlock.IdlePolicy;
import dev.redlock.node.Log;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ManualIoEventLoop;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.TimeUnit;

/**
 * A thread of the client's own that runs one event loop with the idle policy of the user's choice. Conductor and I/O
 * share the thread, so nothing is handed over between them.
 *
 * @threading any thread
 */
final class EventLoopRunner implements Runnable {

    /** About what a caller that was woken needs until it calls again. */
    static final long BACK_OFF_NS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long WAIT_NS_MAX = TimeUnit.SECONDS.toNanos(1);
    /** How long tasks may run before the loop looks at its sockets and timers again, however many more there are. */
    static final long TASKS_NS_MAX = TimeUnit.MILLISECONDS.toNanos(1);

    private final ManualIoEventLoop loop;
    private final Thread thread;
    private final IdlePolicy idlePolicy;
    private boolean isIdle;
    private long idleSinceNs;

    private EventLoopRunner(final IoHandlerFactory factory, final IdlePolicy idlePolicy, final String name) {
        this.idlePolicy = idlePolicy;
        // Netty's object pools are cheap, and pool at all, only on a thread of its own kind.
        this.thread = new FastThreadLocalThread(this, name);
        this.thread.setDaemon(true);
        this.loop = new ManualIoEventLoop(thread, factory);
    }

    /** A loop that runs until it is shut down. */
    static EventLoopRunner start(final IoHandlerFactory factory, final IdlePolicy idlePolicy, final String name) {
        final EventLoopRunner started = new EventLoopRunner(factory, idlePolicy, name);
        started.thread.start();
        return started;
    }

    ManualIoEventLoop loop() {
        return loop;
    }

    @Override
    public void run() {
        while (!loop.isTerminated()) {
            try {
                runOnce();
            } catch (final RuntimeException | Error e) {
                Log.error("the event loop threw; it goes on", e);
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
        final long nowNs = System.nanoTime();
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

    /** Ends the loop and waits for its thread, unless this is its thread. */
    void shutDown() {
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        boolean wasInterrupted = false;
        while (Thread.currentThread() != thread && thread.isAlive()) {
            try {
                thread.join();
            } catch (final InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
