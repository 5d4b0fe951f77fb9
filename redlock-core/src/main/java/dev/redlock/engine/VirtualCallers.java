package dev.redlock.engine;

import io.netty.channel.EventLoop;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Wakes the virtual threads that block in calls of the client. If an event loop unparks one, it submits it to the
 * scheduler of virtual threads from outside, and often wakes one of the scheduler's own threads. So the virtual threads
 * of a turn are handed to another one, the <i>waker</i>, which adds them to the queue of the thread that carries it.
 *
 * <p>The waker starts with the first turn that has more than one, and ends with the client. Platform threads are
 * unparked at once. JDK 17 has no virtual threads.
 *
 * <p>Nobody may depend on the waker alone: it runs only if the scheduler has a free thread. If callers are pinned to
 * all of them, each waits for its own wake-up, and the loop can unpark it where it is. So the loop looks after the
 * waker a little later, and unparks the threads that it finds there itself. It does the same where there is no memory.
 *
 * @threading event-loop-confined
 */
final class VirtualCallers {

    private static final int THREADS_MIN = 64;
    /** A waker that has woken nobody in this time may never run. */
    private static final long CHECK_MS = 2;
    /** {@code Thread.isVirtual} and {@code Thread.startVirtualThread}; null on a JDK that has none. */
    private static final MethodHandle IS_VIRTUAL = handle("isVirtual", MethodType.methodType(boolean.class), false);
    private static final MethodHandle START = handle("startVirtualThread",
            MethodType.methodType(Thread.class, Runnable.class), true);
    static final boolean ARE_PRESENT = IS_VIRTUAL != null && START != null;

    private final EventLoop loop;
    private final Runnable flush = this::flush;
    private final Runnable check = this::check;
    /** Those of this turn. */
    private Thread[] threads = new Thread[THREADS_MIN];
    private int count;
    private Waker waker;
    private boolean isCheckDue;
    /** As the last check has found it. */
    private long wokenCount;
    private boolean isClosed;

    VirtualCallers(EventLoop loop) {
        this.loop = loop;
    }

    private static MethodHandle handle(String name, MethodType type, boolean isStatic) {
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            return isStatic
                    ? lookup.findStatic(Thread.class, name, type)
                    : lookup.findVirtual(Thread.class, name, type);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static boolean isVirtual(Thread thread) {
        try {
            return ARE_PRESENT && (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable e) {
            return false;
        }
    }

    /** Unparks a thread, at the end of this turn if it is a virtual one. */
    void wake(Thread thread) {
        // A loop that ends may not run another task.
        if (!isVirtual(thread) || isClosed || loop.isShuttingDown() || !add(thread)) {
            unpark(thread);
        }
    }

    /** Keeps a thread for the end of this turn; false if there is no memory for it, or the loop takes no task. */
    private boolean add(Thread thread) {
        try {
            if (count == 0) {
                loop.execute(flush);
            } else if (count == threads.length) {
                threads = Arrays.copyOf(threads, 2 * count);
            }
        } catch (RuntimeException | Error e) {
            return false;
        }
        threads[count++] = thread;
        return true;
    }

    private void flush() {
        int turn = count;
        count = 0;
        Waker woken = turn > 1 && isWakerReady() ? waker : null;
        for (int i = 0; i < turn; i++) {
            Thread thread = threads[i];
            threads[i] = null;
            if (woken == null || !woken.add(thread)) {
                unpark(thread);
            }
        }
        if (woken != null) {
            unpark(woken.thread);
        }
    }

    /** Whether the waker may get threads: it has been started, and will be looked after. */
    private boolean isWakerReady() {
        if (isClosed) {
            return false;
        }
        try {
            if (waker == null) {
                Waker started = new Waker();
                started.thread = (Thread) START.invokeExact((Runnable) started);
                waker = started;
            }
            if (!isCheckDue) {
                loop.schedule(check, CHECK_MS, TimeUnit.MILLISECONDS);
                isCheckDue = true;
            }
            return true;
        } catch (Throwable e) {
            // There is no memory now.
            return false;
        }
    }

    private void check() {
        isCheckDue = false;
        if (isClosed || waker.isEmpty()) {
            return;
        }
        long before = wokenCount;
        wokenCount = waker.wokenCount();
        if (wokenCount == before || !isWakerReady()) {
            waker.wakeAll();
        }
    }

    /** Ends the waker. Threads that wait later are unparked all the same. */
    void close() {
        isClosed = true;
        flush();
        if (waker != null) {
            waker.end();
        }
    }

    /** A scheduler without memory must not keep the other threads asleep. */
    private static void unpark(Thread thread) {
        try {
            LockSupport.unpark(thread);
        } catch (RuntimeException | Error e) {
            // It has lost this thread.
        }
    }

    /**
     * Unparks threads from a virtual one.
     *
     * @threading caller-confined to its virtual thread, except {@link #add}, {@link #isEmpty}, {@link #wokenCount},
     *            {@link #wakeAll} and {@link #end}
     */
    private static final class Waker implements Runnable {

        private final Queue<Thread> parked = new ConcurrentLinkedQueue<>();
        /** Written by the waker alone. */
        private final AtomicLong wokenCount = new AtomicLong();
        private Thread thread;
        private volatile boolean isEnding;

        /** Takes a thread; false if there is no memory for it. */
        boolean add(Thread added) {
            try {
                return parked.add(added);
            } catch (RuntimeException | Error e) {
                return false;
            }
        }

        boolean isEmpty() {
            return parked.isEmpty();
        }

        long wokenCount() {
            return wokenCount.getOpaque();
        }

        void wakeAll() {
            for (Thread next = parked.poll(); next != null; next = parked.poll()) {
                unpark(next);
            }
        }

        @Override
        public void run() {
            while (true) {
                boolean isLast = isEnding;
                for (Thread next = parked.poll(); next != null; next = parked.poll()) {
                    unpark(next);
                    wokenCount.setOpaque(wokenCount.getPlain() + 1);
                }
                if (isLast) {
                    return;
                }
                if (!isEnding) {
                    park();
                }
            }
        }

        private void park() {
            try {
                LockSupport.park(this);
            } catch (RuntimeException | Error e) {
                // There is no memory now: it looks again.
            }
        }

        void end() {
            isEnding = true;
            wakeAll();
            unpark(thread);
        }
    }
}
