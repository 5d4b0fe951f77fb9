package dev.redlock.loadtest.driver;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Threads for clients with blocking calls: one for each operation in flight, as in a blocking application. A call by
 * one of them stays on it, so a cycle that starts its next step from its listener does not change threads.
 *
 * @threading any thread
 */
final class CallerThreads implements AutoCloseable {
    /** With more blocked threads the measurement would be of the machine's scheduler. */
    static final int THREADS_MAX = 1024;
    private static final long IDLE_SECONDS = 10;

    private final ThreadPoolExecutor pool;
    private final boolean isOneThread;

    CallerThreads(String name) {
        this(name, 0, THREADS_MAX, new SynchronousQueue<>());
    }

    private CallerThreads(String name, int threadsMin, int threadsMax, BlockingQueue<Runnable> queue) {
        isOneThread = threadsMax == 1;
        pool = new ThreadPoolExecutor(threadsMin, threadsMax, IDLE_SECONDS, TimeUnit.SECONDS, queue,
                task -> new Caller(this, task, name));
    }

    /** Uses the same thread for every call, for libraries whose locks belong to threads. */
    static CallerThreads one(String name) {
        return new CallerThreads(name, 1, 1, new LinkedBlockingQueue<>());
    }

    /**
     * Runs the task now if this is one of the threads, otherwise soon on one of them. A thread of another session is as
     * good, unless locks belong to threads: then a cycle of several clients does not change threads.
     */
    void run(Runnable task) {
        if (Thread.currentThread() instanceof Caller caller
                && (caller.owner == this || !isOneThread && !caller.owner.isOneThread)) {
            task.run();
            return;
        }
        try {
            pool.execute(task);
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException(pool.isShutdown()
                    ? "the session is closed"
                    : "a driver that blocks carries at most " + THREADS_MAX + " operations at a time: ask for fewer "
                            + "in flight, or measure an asynchronous driver",
                    e);
        }
    }

    /** Interrupts the operations in flight. */
    @Override
    public void close() {
        pool.shutdownNow();
    }

    /** @threading immutable */
    private static final class Caller extends Thread {
        private final CallerThreads owner;

        Caller(CallerThreads owner, Runnable task, String name) {
            super(task, name + "-caller");
            this.owner = owner;
            setDaemon(true);
        }
    }
}
