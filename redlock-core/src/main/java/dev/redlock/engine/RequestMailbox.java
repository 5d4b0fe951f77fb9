package dev.redlock.engine;

import dev.redlock.time.NanoClock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;

/**
 * Passes the requests of callers to the event loop, as bits of an integer. The lease is its own task: the caller that
 * sets the first bit submits the lease to the event loop, which then takes all bits. On the event loop itself, a
 * request runs inside its call.
 *
 * <p>A caller writes the arguments of a request before it sets the bit. It may block until the event loop has an
 * outcome for it. The event loop wakes the first blocked thread. A second thread on the same lease polls, because one
 * field holds one thread.
 *
 * @threading any thread
 */
abstract class RequestMailbox implements Runnable {

    // Executed from the lowest bit up.
    static final int ACQUIRE = 1;
    /** Delivers the outcome of an acquisition that ended inside the call of its caller. */
    static final int DELIVER = 1 << 1;
    static final int CANCEL = 1 << 2;
    static final int EXTEND = 1 << 3;
    /** Changes the shortest hold, before a release that follows it. */
    static final int HOLD = 1 << 4;
    static final int RELEASE = 1 << 5;
    /** Requests that always run: their callers may have no handle any more, so nobody would submit them again. */
    private static final int ENDING = CANCEL | RELEASE;

    /** Time that a second blocked thread sleeps between two polls. */
    private static final long SECOND_WAITER_PARK_NS = 100_000;
    private static final VarHandle WAITER;
    private static final VarHandle REQUESTED;
    private static final VarHandle LOOP;
    private static final VarHandle NEXT_UNSUBMITTED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            WAITER = lookup.findVarHandle(RequestMailbox.class, "waiter", Thread.class);
            REQUESTED = lookup.findVarHandle(RequestMailbox.class, "requested", int.class);
            LOOP = lookup.findVarHandle(RequestMailbox.class, "loop", LeaseLoop.class);
            NEXT_UNSUBMITTED = lookup.findVarHandle(RequestMailbox.class, "nextUnsubmitted", RequestMailbox.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * The outcome that a caller waits for.
     *
     * @threading immutable
     */
    enum Awaited {
        ACQUIRED, RELEASED, EXTENDED
    }

    private volatile Thread waiter;
    private volatile int requested;
    private volatile LeaseLoop loop;
    /** Null unless it is one of {@link UnsubmittedRequests}; itself at the end of them. */
    private volatile RequestMailbox nextUnsubmitted;
    /** A request of this lease runs inside its call. Written by the event loop. */
    private boolean isInCall;
    /** Counts uses, so that a request of one use never runs for the next. A racy read is off by one at most. */
    private short useCount;

    /** Executes one request. On the event loop. */
    abstract void execute(LeaseLoop owner, int request);

    /** A request that may fail was not submitted, for want of memory. Its caller gets the error, and no outcome. */
    abstract void onNotSubmitted(int request);

    /** Returns whether a callback receives an outcome; the client never runs it inside the call that passed it. */
    abstract boolean hasCallback();

    /** Returns whether the outcome exists. A lease in its next use counts as done. */
    abstract boolean isDone(Awaited awaited, short use);

    final LeaseLoop loop() {
        return loop;
    }

    final short useCount() {
        return useCount;
    }

    /** Starts a new use, perhaps on another loop. */
    final void startUse(LeaseLoop owner) {
        LOOP.setRelease(this, owner);
    }

    final void countUse() {
        useCount++;
    }

    final boolean isInCall() {
        return isInCall;
    }

    /** Returns whether the event loop has taken all given requests. */
    final boolean isTaken(int requests) {
        return (requested & requests) == 0;
    }

    /** Submits a request to the event loop, or executes it if this is its thread. */
    final void submit(int request) {
        // Read once: a callback may reuse the lease on another loop.
        LeaseLoop owner = loop;
        try {
            if (owner.isOwnThread()) {
                submitOnLoop(owner, request);
            } else if ((int) REQUESTED.getAndBitwiseOr(this, request) == 0) {
                submitTo(owner);
            } else if (owner.isClosed()) {
                LeaseRecovery.onRejected(this, takeRequests());
            }
        } catch (Throwable e) {
            if ((request & ENDING) == 0) {
                withdraw(owner, request);
                throw e;
            }
            submitLater();
        }
    }

    /** The loop has no memory for a task: it executes the requests after it has polled its timers. */
    private void submitLater() {
        LeaseLoop owner = loop;
        owner.addUnsubmitted(this);
        if (owner.isClosed()) {
            LeaseRecovery.onRejected(this, takeRequests());
        }
    }

    /**
     * There was no memory for the task of this request. Its caller may try again, so it must not look as if a task were
     * on its way; and a request that another thread has added since needs one.
     */
    private void withdraw(LeaseLoop owner, int request) {
        int left = (int) REQUESTED.getAndBitwiseAnd(this, ~request) & ~request;
        onNotSubmitted(request);
        if (left != 0 && !owner.isOwnThread()) {
            try {
                submitTo(owner);
            } catch (Throwable e) {
                submitLater();
            }
        }
    }

    private void submitOnLoop(LeaseLoop owner, int request) {
        if (!owner.enterCall()) {
            deferToNextTurn(owner, request);
            return;
        }
        boolean wasInCall = isInCall;
        isInCall = true;
        try {
            if (requested == 0) {
                process(useCount, request);
            } else {
                REQUESTED.getAndBitwiseOr(this, request);
                run();
            }
        } finally {
            isInCall = wasInCall;
            owner.leaveCall();
        }
    }

    final void deferToNextTurn(LeaseLoop owner, int request) {
        REQUESTED.getAndBitwiseOr(this, request);
        try {
            owner.addToNextTurn(this);
        } catch (RuntimeException | Error e) {
            if ((request & ENDING) == 0) {
                REQUESTED.getAndBitwiseAnd(this, ~request);
                throw e;
            }
            submitLater();
        }
    }

    private void submitTo(LeaseLoop owner) {
        try {
            owner.execute(this);
        } catch (RejectedExecutionException e) {
            LeaseRecovery.onRejected(this, takeRequests());
            return;
        }
        if (owner.isClosed()) {
            LeaseRecovery.onRejected(this, takeRequests());
        }
    }

    /** Takes the requests that no loop has taken. */
    final int takeRequests() {
        return (int) REQUESTED.getAndSet(this, 0);
    }

    /**
     * Executes the requests, on the event loop. A call on that thread may have executed them before this task runs, and
     * the lease may have a new use on another loop. Then that loop executes the new requests, in order.
     */
    @Override
    public final void run() {
        while (true) {
            short use = useCount;
            // Read before the loop: a new use in between changes the requests, so the compare-and-set fails.
            int requests = requested;
            if (requests == 0) {
                return;
            }
            if (use != useCount) {
                continue;
            }
            LeaseLoop owner = loop;
            if (!owner.isOwnThread()) {
                submitTo(owner);
                return;
            }
            if (REQUESTED.compareAndSet(this, requests, 0)) {
                process(use, requests);
                return;
            }
        }
    }

    /** Executes requests that no task has, on the event loop. */
    final void runUnsubmitted() {
        try {
            run();
        } catch (Throwable e) {
            // The lease has a new use on another loop, which has no memory either.
            submitLater();
        }
    }

    /** Returns false if it is one of the unsubmitted requests already. */
    final boolean enterUnsubmitted() {
        return NEXT_UNSUBMITTED.compareAndSet(this, null, this);
    }

    final void linkUnsubmitted(RequestMailbox next) {
        nextUnsubmitted = next == null ? this : next;
    }

    /** Its requests from now on need an entry of their own. Returns the next one; null at the end. */
    final RequestMailbox leaveUnsubmitted() {
        RequestMailbox next = nextUnsubmitted;
        nextUnsubmitted = null;
        return next == this ? null : next;
    }

    /**
     * If one request throws, its caller gets an outcome, and the other requests still run. A callback may reuse the
     * lease, perhaps on another loop; so may another thread. The remaining requests belong to the old use.
     */
    private void process(short use, int requests) {
        for (int left = requests; left != 0 && useCount == use; left &= left - 1) {
            int request = Integer.lowestOneBit(left);
            try {
                // The grant of a retained lock has changed it, on the same thread.
                execute(loop, request);
            } catch (Throwable e) {
                LeaseRecovery.recover(this, loop, use, request, e);
            }
        }
    }

    // ---- blocked callers --------------------------------------------------------------------------------------------

    /**
     * Blocks until the outcome is there.
     *
     * @param use             the use of the lease that it belongs to
     * @param isInterruptible whether an interrupt ends the wait; if not, the flag is set again afterwards
     * @param spinNs          time to spin before the thread parks; 0 for none
     */
    final void await(Awaited awaited, short use, boolean isInterruptible, long spinNs, NanoClock clock) {
        if (isDone(awaited, use) || spinNs > 0 && spin(awaited, use, spinNs, clock)) {
            return;
        }
        Thread current = Thread.currentThread();
        boolean isFirst = WAITER.compareAndSet(this, null, current);
        boolean wasInterrupted = false;
        try {
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
        } finally {
            if (isFirst) {
                waiter = null;
            }
            if (wasInterrupted) {
                current.interrupt();
            }
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
            // A callback may have reused the lease on another loop.
            LeaseLoop owner = loop;
            if (VirtualCallers.ARE_PRESENT && owner != null && owner.isOwnThread()) {
                owner.wake(blocked);
            } else {
                LockSupport.unpark(blocked);
            }
        }
    }
}
