package dev.redlock.engine;

import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Blocks a caller until the event loop has an outcome for it; the lowest layer of a lease. The event loop wakes the
 * first blocked thread. A second thread on the same lease polls, because one field holds one thread.
 *
 * @threading any thread
 */
abstract class CallerParking {

    /** Time that a second blocked thread sleeps between two polls. */
    private static final long SECOND_WAITER_PARK_NS = 100_000;
    private static final VarHandle WAITER;

    static {
        try {
            WAITER = MethodHandles.lookup().findVarHandle(CallerParking.class, "waiter", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile Thread waiter;

    /**
     * The outcome that a caller waits for.
     *
     * @threading immutable
     */
    enum Awaited {
        ACQUIRED, RELEASED, EXTENDED
    }

    /** Returns whether the outcome exists. A lease in its next use counts as done. */
    abstract boolean isDone(Awaited awaited, short use);

    /**
     * Blocks until the outcome is there.
     *
     * @param awaited         the outcome
     * @param use             the use of the lease that it belongs to
     * @param isInterruptible whether an interrupt ends the wait; if not, the flag is set again afterwards
     * @param spinNs          time to spin before the thread parks; 0 for none
     * @param clock           the clock to spin by
     */
    final void await(Awaited awaited, short use, boolean isInterruptible, long spinNs, NanoClock clock) {
        if (spinNs > 0 && spin(awaited, use, spinNs, clock)) {
            return;
        }
        Thread current = Thread.currentThread();
        boolean isFirst = WAITER.compareAndSet(this, null, current);
        boolean wasInterrupted = false;
        while (!isDone(awaited, use)) {
            if (isFirst) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, SECOND_WAITER_PARK_NS);
            }
            if (isInterruptible && current.isInterrupted()) {
                break;
            }
            // park() returns immediately while the interrupt flag is set, so the flag is cleared until the end.
            wasInterrupted |= !isInterruptible && Thread.interrupted();
        }
        if (isFirst) {
            waiter = null;
        }
        if (wasInterrupted) {
            current.interrupt();
        }
    }

    private boolean spin(Awaited awaited, short use, long spinNs, NanoClock clock) {
        long startNs = clock.nanoTime();
        while (!isDone(awaited, use)) {
            if (clock.nanoTime() - startNs > spinNs) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    /** Wakes the blocked caller, if any. It needs a full barrier before it: a volatile store of the outcome. */
    final void wakeWaiter() {
        Thread blocked = waiter;
        if (blocked != null) {
            LockSupport.unpark(blocked);
        }
    }
}
