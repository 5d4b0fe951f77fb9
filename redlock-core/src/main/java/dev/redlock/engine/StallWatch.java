package dev.redlock.engine;

import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Logs where an event loop of the client is that has not completed a turn for a second: a callback or a retry policy of
 * the user blocks it, and no lock of the loop is acquired, extended or released meanwhile. A turn without such a call
 * takes some milliseconds at most, and a ttl is rarely shorter than a few seconds.
 *
 * <p>It has a thread, which reads a counter of each loop twice a second. The thread ends with the client. A pause of
 * the whole process, as of a garbage collection, stops that thread too, and is not reported.
 *
 * @threading any thread
 */
final class StallWatch implements Runnable {

    static final long STALL_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(500);
    /** So late, the thread of the watch was stopped too. */
    private static final long LATE_NS = PERIOD_NS / 2;
    private static final long QUIET_NS = TimeUnit.SECONDS.toNanos(10);
    private static final int FRAMES_MAX = 40;

    private final NanoClock clock = NanoClock.system();
    private final List<WatchedLoop> loops;
    private volatile boolean isClosed;
    private volatile Thread thread;
    private boolean hasLogged;
    private long loggedNs;
    private int leftOutCount;

    /**
     * One loop.
     *
     * @threading caller-confined: the thread of the watch
     */
    private static final class WatchedLoop {

        private final EventLoopRunner runner;
        private long turnCount;
        private long sinceNs;
        private boolean isReported;

        WatchedLoop(EventLoopRunner runner) {
            this.runner = runner;
        }
    }

    private StallWatch(List<EventLoopRunner> runners) {
        this.loops = runners.stream().map(WatchedLoop::new).toList();
    }

    /** Starts to watch. Without memory for its thread, the loops are not watched. */
    static StallWatch start(List<EventLoopRunner> runners) {
        StallWatch watch = new StallWatch(runners);
        try {
            Thread thread = new Thread(null, watch, "redlock-watch", 0, false);
            thread.setDaemon(true);
            watch.thread = thread;
            thread.start();
        } catch (RuntimeException | Error e) {
            Log.error("no thread can start that finds callbacks which block the event loop; the client continues"
                    + " without it", e);
        }
        return watch;
    }

    /** Ends the thread. */
    void close() {
        isClosed = true;
        LockSupport.unpark(thread);
    }

    @Override
    public void run() {
        long lastNs = clock.nanoTime();
        while (!isClosed) {
            LockSupport.parkNanos(this, PERIOD_NS);
            if (isClosed) {
                // The loops end, and the class loader of the client may be closed.
                return;
            }
            long nowNs = clock.nanoTime();
            boolean isLate = nowNs - lastNs > PERIOD_NS + LATE_NS;
            lastNs = nowNs;
            for (WatchedLoop loop : loops) {
                check(loop, nowNs, isLate);
            }
        }
    }

    private void check(WatchedLoop loop, long nowNs, boolean isLate) {
        long turnCount = loop.runner.turnCount();
        if (turnCount != loop.turnCount || isLate) {
            loop.turnCount = turnCount;
            loop.sinceNs = nowNs;
            loop.isReported = loop.isReported && isLate;
        } else if (!loop.isReported && nowNs - loop.sinceNs >= STALL_NS) {
            loop.isReported = true;
            report(loop.runner, nowNs - loop.sinceNs, nowNs);
        } else if (!loop.isReported) {
            // An idle loop may wait as long as that, so it gets a turn.
            wake(loop.runner);
        }
    }

    private static void wake(EventLoopRunner runner) {
        try {
            runner.loop().execute(() -> {
            });
        } catch (RejectedExecutionException e) {
            // It ends.
        }
    }

    private void report(EventLoopRunner runner, long stallNs, long nowNs) {
        StackTraceElement[] stack = runner.stack();
        if (stack.length == 0) {
            // The loop has ended.
            return;
        }
        if (hasLogged && nowNs - loggedNs < QUIET_NS) {
            leftOutCount++;
            return;
        }
        StringBuilder text = new StringBuilder("the event loop ").append(runner)
                .append(" has not completed a turn for ")
                .append(TimeUnit.NANOSECONDS.toMillis(stallNs))
                .append(" ms: no lock of it is acquired, extended or released. Callbacks and retry policies must not"
                        + " block it; functions that block belong to completion stages and listeners with an executor"
                        + " (RedlockContext.callbackExecutor). ");
        if (leftOutCount > 0) {
            text.append(leftOutCount).append(" such lines were left out before this one. ");
        }
        text.append("It is at");
        for (int i = 0; i < Math.min(FRAMES_MAX, stack.length); i++) {
            text.append("\n\tat ").append(stack[i]);
        }
        hasLogged = true;
        loggedNs = nowNs;
        leftOutCount = 0;
        Log.log(System.Logger.Level.WARNING, "{0}", text.toString());
    }
}
