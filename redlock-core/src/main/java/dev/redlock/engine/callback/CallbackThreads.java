package dev.redlock.engine.callback;

import dev.redlock.telemetry.Log;
import dev.redlock.time.NanoClock;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * Threads of a client for the functions of its user, as many as are needed up to a limit. A thread ends when it has
 * been idle for a time, or when the client is closed. It is logged once if all threads are busy and tasks wait.
 *
 * <p>To wake a thread for each task would cost more than most tasks. So while a thread is active, new tasks are left to
 * it, and a second one stands by: each millisecond it looks whether tasks wait that did so at its last look, since the
 * active one may be blocked. Then it is active too, and another one stands by.
 *
 * <p>No executor of the JDK does this. Some start a thread for each task up to their limit, and others may lose a task
 * when a thread cannot start. This one has no lock, so a stopped thread stops no event loop.
 *
 * @threading any thread
 */
final class CallbackThreads implements Executor {

    /** So many functions may block at a time where there is a limit; further ones wait. */
    static final int THREADS_MAX = 16;
    private static final long IDLE_NS = TimeUnit.SECONDS.toNanos(10);
    private static final long LOOK_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Looks without a task after which no thread stands by: 20 ms. */
    private static final int QUIET_LOOKS = 20;

    private final NanoClock clock = NanoClock.system();
    private final String name;
    private final int threadsMax;
    private final Function<Runnable, Thread> factory;
    /** That of the client's creator. The event loop may have another one. */
    private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedDeque<Worker> idle = new ConcurrentLinkedDeque<>();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicInteger startedCount = new AtomicInteger();
    private final AtomicInteger activeCount = new AtomicInteger();
    private final AtomicBoolean hasStandby = new AtomicBoolean();
    private final AtomicLong addedCount = new AtomicLong();
    private final AtomicLong takenCount = new AtomicLong();
    private volatile boolean isClosed;
    /** The value of {@link #addedCount} at the last call of {@link #logIfStuck}. */
    private volatile long addedCountBefore;
    private volatile boolean isStuckLogged;

    /** With a limit of {@link #THREADS_MAX}. */
    CallbackThreads(String name) {
        this(name, THREADS_MAX);
    }

    CallbackThreads(String name, int threadsMax) {
        this.name = name;
        this.threadsMax = threadsMax;
        // Without the values of inheritable thread locals: they would be those of one caller.
        this.factory = worker -> new Thread(null, worker, name + "-" + startedCount.getAndIncrement(), 0, false);
    }

    /** With threads from a factory. */
    CallbackThreads(Function<Runnable, Thread> factory) {
        this.name = "factory";
        this.threadsMax = THREADS_MAX;
        this.factory = factory;
    }

    /**
     * Executes a task, also after the close.
     *
     * @param task catches what it throws
     * @throws RuntimeException or Error if no thread can start; then the task is not executed
     */
    @Override
    public void execute(Runnable task) {
        tasks.add(task);
        addedCount.getAndIncrement();
        try {
            if (activeCount.compareAndSet(0, 1)) {
                wakeActive();
            } else {
                wakeStandby();
            }
        } catch (RuntimeException | Error e) {
            if (tasks.remove(task)) {
                takenCount.getAndIncrement();
                throw e;
            }
        }
    }

    private void wakeActive() {
        boolean isAwake = false;
        try {
            // Without one, those that are about to be idle find the task.
            isAwake = wakeOrStart(true);
        } finally {
            if (!isAwake) {
                activeCount.getAndDecrement();
            }
        }
    }

    private void wakeStandby() {
        if (hasStandby.get() || !hasStandby.compareAndSet(false, true)) {
            return;
        }
        boolean isAwake = false;
        try {
            isAwake = wakeOrStart(false);
        } finally {
            if (!isAwake) {
                hasStandby.set(false);
            }
        }
    }

    /** Returns false if all threads are in use. */
    private boolean wakeOrStart(boolean isActive) {
        Worker woken = idle.pollFirst();
        if (woken != null) {
            woken.wake(isActive);
            return true;
        }
        int before = count.get();
        while (before < threadsMax) {
            if (count.compareAndSet(before, before + 1)) {
                start(isActive);
                return true;
            }
            before = count.get();
        }
        return false;
    }

    private void start(boolean isActive) {
        boolean isStarted = false;
        try {
            Worker worker = new Worker(isActive);
            worker.thread = factory.apply(worker);
            worker.thread.setDaemon(true);
            worker.thread.setContextClassLoader(loader);
            worker.thread.start();
            isStarted = true;
        } finally {
            if (!isStarted) {
                count.getAndDecrement();
            }
        }
    }

    /** Logs once if all threads are busy, and a task waits that waited at the last call too. */
    void logIfStuck() {
        long addedBefore = addedCountBefore;
        addedCountBefore = addedCount.get();
        boolean isStuck = count.get() >= threadsMax && !tasks.isEmpty() && takenCount.get() - addedBefore < 0;
        if (isStuck && !isStuckLogged) {
            isStuckLogged = true;
            Log.log(System.Logger.Level.WARNING, "all {0} {1} threads are busy, and further functions have waited for a"
                    + " second: do not block in the functions of stages and listeners, or set callbackExecutor",
                    threadsMax, name);
        }
    }

    /** The threads end when they have no task. */
    void close() {
        isClosed = true;
        for (Worker worker = idle.pollFirst(); worker != null; worker = idle.pollFirst()) {
            activeCount.getAndIncrement();
            worker.wake(true);
        }
    }

    /** @return threads that have not ended */
    int count() {
        return count.get();
    }

    /**
     * One thread: active, on standby, or idle.
     *
     * @threading any thread
     */
    private final class Worker implements Runnable {

        private Thread thread;
        private volatile boolean isIdle;
        private volatile boolean isActive;

        Worker(boolean isActive) {
            this.isActive = isActive;
        }

        void wake(boolean isActiveNow) {
            isActive = isActiveNow;
            isIdle = false;
            LockSupport.unpark(thread);
        }

        @Override
        public void run() {
            do {
                if (isActive || standBy()) {
                    runTasks();
                }
            } while (waitForTask() || !isEnding());
        }

        private void runTasks() {
            do {
                for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                    takenCount.getAndIncrement();
                    if (!tasks.isEmpty()) {
                        prepareStandby();
                    }
                    // The task before may have left the flag.
                    Thread.interrupted();
                    task.run();
                }
                activeCount.getAndDecrement();
            } while (isActiveAgain());
        }

        /** This task may block, and the others need a thread then. */
        private void prepareStandby() {
            try {
                wakeStandby();
            } catch (RuntimeException | Error e) {
                // The next task tries again.
            }
        }

        /** A task that came before the count has woken no other thread. */
        private boolean isActiveAgain() {
            if (tasks.isEmpty()) {
                return false;
            }
            activeCount.getAndIncrement();
            return true;
        }

        /** Returns true if a task waits for too long, so that this thread is active now. */
        private boolean standBy() {
            int quietLooks = 0;
            long addedBefore = addedCount.get();
            while (quietLooks < QUIET_LOOKS) {
                LockSupport.parkNanos(CallbackThreads.this, LOOK_NS);
                Thread.interrupted();
                if (tasks.isEmpty()) {
                    quietLooks += isClosed ? QUIET_LOOKS : 1;
                } else if (takenCount.get() - addedBefore < 0) {
                    activeCount.getAndIncrement();
                    hasStandby.set(false);
                    return true;
                } else {
                    quietLooks = 0;
                }
                addedBefore = addedCount.get();
            }
            hasStandby.set(false);
            // A task that came before has woken no other thread.
            return isActiveAgain();
        }

        /** Returns false after a time without a task. */
        private boolean waitForTask() {
            isIdle = true;
            idle.addFirst(this);
            while ((isClosed || !tasks.isEmpty()) && idle.remove(this)) {
                isActive = isActiveAgain();
                if (isActive || isClosed) {
                    isIdle = false;
                    return isActive;
                }
                idle.addFirst(this);
            }
            long startNs = clock.nanoTime();
            while (isIdle) {
                long leftNs = IDLE_NS - (clock.nanoTime() - startNs);
                if (leftNs <= 0 && idle.remove(this)) {
                    return false;
                }
                // A thread that has taken this one from the list is about to wake it.
                LockSupport.parkNanos(CallbackThreads.this, leftNs <= 0 ? IDLE_NS : leftNs);
                // A function may have left the flag, with which no thread parks.
                Thread.interrupted();
            }
            return true;
        }

        /** A task that came before the count has started no other thread. */
        private boolean isEnding() {
            count.getAndDecrement();
            if (!isActiveAgain()) {
                return true;
            }
            isActive = true;
            count.getAndIncrement();
            return false;
        }
    }
}
