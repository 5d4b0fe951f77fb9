package dev.redlock.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;

/**
 * The requests of callers to one lease, as bits of an integer. The lease is its own task: a caller sets a bit, and the
 * caller that sets the first one submits the lease to the event loop, which takes all bits when it runs it. A caller on
 * the event loop is served inside its call.
 *
 * <p>A caller writes the arguments of a request before it sets the bit.
 *
 * @threading any thread
 */
abstract class RequestMailbox extends CallerParking implements Runnable {

    // Executed from the lowest bit up.
    static final int ACQUIRE = 1;
    /** Delivers the outcome of an acquisition that ended inside its own call. */
    static final int DELIVER = 1 << 1;
    static final int CANCEL = 1 << 2;
    static final int EXTEND = 1 << 3;
    static final int RELEASE = 1 << 4;

    private static final VarHandle REQUESTED;
    private static final VarHandle CONDUCTOR;

    static {
        try {
            final MethodHandles.Lookup lookup = MethodHandles.lookup();
            REQUESTED = lookup.findVarHandle(RequestMailbox.class, "requested", int.class);
            CONDUCTOR = lookup.findVarHandle(RequestMailbox.class, "conductor", Conductor.class);
        } catch (final ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int requested;
    private volatile Conductor conductor;
    /** A caller is inside a call on the event loop that is executed at once. Written by the event loop. */
    private boolean isInCall;
    /** Counts uses, so that no request of one use is executed for the next. Racy, but by one only. */
    private short useCount;

    /** Executes one request, on the event loop. */
    abstract void execute(Conductor owner, int request);

    /** A request threw: its caller still gets an outcome. */
    abstract void recover(Conductor owner, int request);

    /** The event loop has ended: completes the requests without it. */
    abstract void completeWithoutLoop(int requests);

    /** Whether an outcome is delivered to a callback, which is never called inside the call that asked for it. */
    abstract boolean hasCallback();

    final Conductor conductor() {
        return conductor;
    }

    final short useCount() {
        return useCount;
    }

    /** A new use starts, with a conductor of its own. */
    final void startUse(final Conductor owner) {
        CONDUCTOR.setRelease(this, owner);
    }

    final void countUse() {
        useCount++;
    }

    final boolean isInCall() {
        return isInCall;
    }

    /** Whether all of the given requests have been taken by the event loop. */
    final boolean isTaken(final int requests) {
        return (requested & requests) == 0;
    }

    /** Hands a request to the event loop, or executes it if this is its thread. */
    final void submit(final int request) {
        // Read once: a callback may use the lease again, with another conductor.
        final Conductor owner = conductor;
        if (owner.isOwnThread()) {
            submitOnLoop(owner, request);
        } else if ((int) REQUESTED.getAndBitwiseOr(this, request) == 0) {
            submitTo(owner);
        } else if (owner.isClosed()) {
            onRejected();
        }
    }

    private void submitOnLoop(final Conductor owner, final int request) {
        if (!owner.nextTurn().enterCall()) {
            deferToNextTurn(owner, request);
            return;
        }
        final boolean wasInCall = isInCall;
        isInCall = true;
        try {
            if (requested == 0) {
                // No earlier request has to come first.
                process(owner, request);
            } else {
                REQUESTED.getAndBitwiseOr(this, request);
                run();
            }
        } finally {
            isInCall = wasInCall;
            owner.nextTurn().leaveCall();
        }
    }

    final void deferToNextTurn(final Conductor owner, final int request) {
        REQUESTED.getAndBitwiseOr(this, request);
        owner.nextTurn().add(this);
    }

    private void submitTo(final Conductor owner) {
        try {
            owner.execute(this);
        } catch (final RejectedExecutionException e) {
            onRejected();
            return;
        }
        if (owner.isClosed()) {
            onRejected();
        }
    }

    /** The loop has ended: the calling thread completes the requests itself, unless that would call a callback. */
    private void onRejected() {
        final int requests = (int) REQUESTED.getAndSet(this, 0);
        if (hasCallback()) {
            completeElsewhere(requests);
        } else {
            completeWithoutLoop(requests);
        }
    }

    /** The same, called on the thread of a loop that is ending. */
    final void completeElsewhere() {
        completeElsewhere((int) REQUESTED.getAndSet(this, 0));
    }

    /** Completes on another thread, because this one may be inside the call that made the request. */
    private void completeElsewhere(final int requests) {
        if (requests == 0) {
            return;
        }
        try {
            CompletableFuture.runAsync(() -> completeWithoutLoop(requests));
        } catch (final RuntimeException | Error e) {
            // No other thread is available.
            completeWithoutLoop(requests);
        }
    }

    /**
     * Executes the requests, on the event loop. A task whose requests were executed by a call on that thread can run
     * when the lease is in use again with another conductor. It then leaves the requests alone, so that none overtakes
     * another.
     */
    @Override
    public final void run() {
        while (true) {
            // Read before the conductor: if the lease moves in between, the requests are no longer the same.
            final int requests = requested;
            if (requests == 0) {
                return;
            }
            final Conductor owner = conductor;
            if (!owner.isOwnThread()) {
                submitTo(owner);
                return;
            }
            if (REQUESTED.compareAndSet(this, requests, 0)) {
                process(owner, requests);
                return;
            }
        }
    }

    /** If one request throws, its caller gets an outcome, and the other requests are executed. */
    private void process(final Conductor owner, final int requests) {
        final short use = useCount;
        // A callback may use the lease again, perhaps with another conductor: the remaining requests belong to this
        // use.
        for (int left = requests; left != 0 && useCount == use; left &= left - 1) {
            final int request = Integer.lowestOneBit(left);
            try {
                execute(owner, request);
            } catch (final RuntimeException | Error e) {
                recover(owner, use, request, e);
            }
        }
    }

    /** Logs behind the outcome: a log handler may throw. */
    private void recover(final Conductor owner, final short use, final int request, final Throwable thrown) {
        try {
            if (useCount == use) {
                recover(owner, request);
            }
        } catch (final RuntimeException | Error e) {
            thrown.addSuppressed(e);
        } finally {
            UserCallbacks.logRequestThrown(thrown);
        }
    }
}
