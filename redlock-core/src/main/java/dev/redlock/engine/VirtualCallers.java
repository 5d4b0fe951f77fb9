package dev.redlock.engine;

import io.netty.channel.EventLoop;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;

/**
 * Wakes the virtual threads that block in calls of the client. If an event loop unparks one, it submits it to the
 * scheduler of virtual threads from outside, and often wakes one of the scheduler's own threads. So the virtual threads
 * of a turn are handed to another one, the <i>waker</i>, which adds them to the queue of the thread that carries it.
 *
 * <p>The waker starts with the first turn that has more than one, and ends with the client. Platform threads are
 * unparked at once. JDK 17 has no virtual threads.
 *
 * @threading event-loop-confined
 */
final class VirtualCallers {

    private static final int THREADS_MIN = 64;
    /** {@code Thread.isVirtual} and {@code Thread.startVirtualThread}; null on a JDK that has none. */
    private static final MethodHandle IS_VIRTUAL = handle("isVirtual", MethodType.methodType(boolean.class), false);
    private static final MethodHandle START = handle("startVirtualThread",
            MethodType.methodType(Thread.class, Runnable.class), true);
    static final boolean ARE_PRESENT = IS_VIRTUAL != null && START != null;

    private final EventLoop loop;
    private final Runnable flush = this::flush;
    /** Those of this turn. */
    private Thread[] threads = new Thread[THREADS_MIN];
    private int count;
    private Waker waker;
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
        if (!isVirtual(thread) || loop.isShuttingDown() || !isFlushed()) {
            LockSupport.unpark(thread);
            return;
        }
        if (count == threads.length) {
            threads = Arrays.copyOf(threads, 2 * count);
        }
        threads[count++] = thread;
    }

    /** Whether the end of this turn unparks what is added now. */
    private boolean isFlushed() {
        if (count == 0) {
            try {
                loop.execute(flush);
            } catch (RejectedExecutionException e) {
                return false;
            }
        }
        return true;
    }

    private void flush() {
        int turn = count;
        count = 0;
        if (turn > 1 && !isClosed && wakeByWaker(turn)) {
            return;
        }
        for (int i = 0; i < turn; i++) {
            LockSupport.unpark(threads[i]);
            threads[i] = null;
        }
    }

    private boolean wakeByWaker(int turn) {
        if (waker == null && !startWaker()) {
            return false;
        }
        for (int i = 0; i < turn; i++) {
            waker.parked.add(threads[i]);
            threads[i] = null;
        }
        LockSupport.unpark(waker.thread);
        return true;
    }

    private boolean startWaker() {
        Waker started = new Waker();
        try {
            started.thread = (Thread) START.invokeExact((Runnable) started);
        } catch (Throwable e) {
            // No memory for it now: the loop unparks them itself.
            return false;
        }
        waker = started;
        return true;
    }

    /** Ends the waker. Threads that wait later are unparked all the same. */
    void close() {
        isClosed = true;
        if (waker != null) {
            waker.isEnding = true;
            LockSupport.unpark(waker.thread);
            waker = null;
        }
    }

    /**
     * Unparks threads from a virtual one.
     *
     * @threading caller-confined to its virtual thread, except the queue
     */
    private static final class Waker implements Runnable {

        private final Queue<Thread> parked = new ConcurrentLinkedQueue<>();
        private Thread thread;
        private volatile boolean isEnding;

        @Override
        public void run() {
            while (true) {
                boolean isLast = isEnding;
                for (Thread next = parked.poll(); next != null; next = parked.poll()) {
                    LockSupport.unpark(next);
                }
                if (isLast) {
                    return;
                }
                if (!isEnding) {
                    LockSupport.park(this);
                }
            }
        }
    }
}
