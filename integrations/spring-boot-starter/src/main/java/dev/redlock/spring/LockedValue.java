package dev.redlock.spring;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import java.util.Arrays;
import java.util.concurrent.CancellationException;

/**
 * A call that blocks: the lock is held until the method has returned.
 *
 * @threading caller-confined, but a loss comes from another thread
 */
final class LockedValue implements LeaseListener {

    private final LockedCall call;
    private Thread running;
    private LeaseState lostState;
    private boolean isInterrupted;

    private LockedValue(LockedCall call) {
        this.call = call;
    }

    static Object run(LockedCall call) throws Throwable {
        return new LockedValue(call).run();
    }

    private Object run() throws Throwable {
        AcquireOutcome outcome = acquire();
        if (!outcome.isAcquired()) {
            return call.notAcquired(outcome);
        }
        try (Lease lease = outcome.lease()) {
            return run(lease);
        }
    }

    private AcquireOutcome acquire() throws InterruptedException {
        try {
            return call.acquire(this);
        } catch (InterruptedException e) {
            if (Arrays.stream(call.locked().method().getExceptionTypes())
                    .anyMatch(type -> type.isAssignableFrom(InterruptedException.class))) {
                throw e;
            }
            Thread.currentThread().interrupt();
            CancellationException cancelled = new CancellationException(call.locked().where()
                    + " was interrupted while it waited for its lock and has not run");
            cancelled.initCause(e);
            throw cancelled;
        }
    }

    private Object run(Lease lease) throws Throwable {
        Object value = null;
        Throwable thrown = null;
        start();
        try {
            value = call.proceed(lease);
        } catch (Throwable e) {
            thrown = e;
        }
        if (end()) {
            // The thread serves other tasks, so the interrupt ends with this one.
            Thread.interrupted();
            throw call.locked().lossOf(lease, lostState, thrown);
        }
        LeaseLostException loss = call.locked().lossOf(lease);
        if (thrown != null) {
            throw call.failure(thrown, loss);
        }
        if (loss != null) {
            throw loss;
        }
        if (LockedResults.isPromise(value)) {
            throw new IllegalStateException(call.locked().where() + " returned a " + value.getClass().getName()
                    + ", whose work may continue although the lock is free: declare the type of the result");
        }
        return value;
    }

    private synchronized void start() {
        running = Thread.currentThread();
        interruptIfLost();
    }

    /** Returns whether this has interrupted the thread. It does so no more. */
    private synchronized boolean end() {
        running = null;
        return isInterrupted;
    }

    @Override
    public synchronized void onLost(Lease lease, LeaseState state) {
        lostState = state;
        interruptIfLost();
    }

    private void interruptIfLost() {
        if (running != null && lostState != null) {
            isInterrupted = true;
            running.interrupt();
        }
    }
}
