package dev.redlock.node;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/**
 * A few threads for the look-ups of the host names that one cluster names. A thread ends after a second
 * without a look-up.
 *
 * @threading any thread
 */
final class LookupThreads implements Executor {

    static final int THREADS_MAX = 4;
    private static final long IDLE_MS_MAX = 1_000;

    private final ThreadFactory threads;
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int threadCount;
    private int runningCount;
    private boolean isClosed;

    LookupThreads(ThreadFactory threads) {
        this.threads = threads;
    }

    @Override
    public void execute(Runnable lookup) {
        synchronized (this) {
            if (isClosed) {
                return;
            }
            if (threadCount == THREADS_MAX || runningCount + waiting.size() < threadCount) {
                waiting.add(lookup);
                notify();
                return;
            }
            threadCount++;
            runningCount++;
        }
        boolean isStarted = false;
        try {
            threads.newThread(() -> run(lookup)).start();
            isStarted = true;
        } finally {
            if (!isStarted) {
                onNotStarted();
            }
        }
    }

    private void run(Runnable first) {
        for (Runnable lookup = first; lookup != null; lookup = next()) {
            lookup.run();
        }
    }

    private synchronized Runnable next() {
        runningCount--;
        awaitNext();
        Runnable next = waiting.poll();
        if (next == null) {
            threadCount--;
        } else {
            runningCount++;
        }
        return next;
    }

    private void awaitNext() {
        try {
            if (waiting.isEmpty() && !isClosed) {
                wait(IDLE_MS_MAX);
            }
        } catch (InterruptedException e) {
            // The thread belongs to the client: nobody else interrupts it.
            Thread.currentThread().interrupt();
        }
    }

    /** Look-ups that have not ended. */
    synchronized int pendingCount() {
        return runningCount + waiting.size();
    }

    private synchronized void onNotStarted() {
        threadCount--;
        runningCount--;
    }

    /** Drops the look-ups that have not started: each thread ends, at the latest with the look-up that it runs. */
    synchronized void close() {
        isClosed = true;
        waiting.clear();
        notifyAll();
    }
}
