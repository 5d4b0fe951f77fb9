package dev.redlock;

import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockKey;
import dev.redlock.resp.SafeText;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A {@link Lock} view of one resource, for code that knows only that interface. Made by {@link Redlock#asLock}; threads
 * that are to exclude each other inside one process may share a view or use several, the nodes decide either way.
 *
 * <p>Reentrant per thread with a hold count. The lease ends when its ttl does, held or not: choose options with
 * {@link AcquireOptions#autoExtend()} or ask {@link #isHeldByCurrentThread()} before what matters. A {@code Lock}
 * cannot say that it was lost; {@link AcquireOptions#listener} can.
 *
 * <p>Virtual threads may use it: no monitor is held while a thread waits.
 *
 * @threading any thread
 */
public final class RedlockLock implements Lock {

    /** Between two tries of {@link #lock} when the client itself is overloaded; other waits belong to the engine. */
    private static final long OVERLOADED_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** The wait budget of one turn of {@link #lock}, which acquires again when it has passed. */
    private static final long PATIENCE_NS = TimeUnit.DAYS.toNanos(1);

    private final LockEngine engine;
    private final LockKey key;
    private final AcquireSpec spec;
    /** Who of this view's threads holds it, and how often; the distributed lock is taken inside the first hold. */
    private final ReentrantLock local = new ReentrantLock(true);
    private volatile Lease lease;

    RedlockLock(final LockEngine engine, final LockKey key, final AcquireSpec spec) {
        this.engine = engine;
        this.key = key;
        this.spec = spec;
    }

    /**
     * Takes the lock, however long it takes; an interrupt does not end the wait and stays set.
     *
     * @throws IllegalStateException if the client is closed, if this thread holds a lease that was lost, or on the
     *                               client's event loop
     */
    @Override
    public void lock() {
        refuseOnLoop("lock()");
        boolean wasInterrupted = false;
        while (true) {
            try {
                lockInterruptibly();
                break;
            } catch (final InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Takes the lock, however long it takes, unless the thread is interrupted.
     *
     * @throws InterruptedException  if interrupted; the lock is not held then and what was begun is rolled back
     * @throws IllegalStateException as {@link #lock}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        refuseOnLoop("lockInterruptibly()");
        local.lockInterruptibly();
        boolean isTaken = false;
        try {
            isTaken = isReentry() || acquireForever();
        } finally {
            if (!isTaken) {
                local.unlock();
            }
        }
    }

    /** Before the local lock, for which a thread would wait as well. */
    private void refuseOnLoop(final String call) {
        engine.refuseOnLoop(call, "Redlock.acquire with a callback or acquireAsync");
    }

    private boolean isReentry() {
        if (local.getHoldCount() == 1) {
            return false;
        }
        if (!lease.isHeld()) {
            throw new IllegalStateException(
                    "the lease of \"" + key + "\" was lost while this thread held the lock: unlock and"
                            + " start over; " + lease);
        }
        return true;
    }

    private boolean acquireForever() throws InterruptedException {
        while (true) {
            final AcquireOutcome outcome = engine.acquireBlocking(key, spec, PATIENCE_NS);
            if (outcome.isAcquired()) {
                lease = outcome.lease();
                return true;
            }
            if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
                throw new IllegalStateException("\"" + key + "\" cannot be locked: the client is closed");
            }
            LockSupport.parkNanos(this, OVERLOADED_PARK_NS);
        }
    }

    /**
     * Takes the lock if it is free: one attempt, which waits for the nodes' answers and for nothing else. An interrupt
     * that is set already makes it false.
     *
     * @return true if it is held now
     * @throws IllegalStateException on an event loop of the client
     */
    @Override
    public boolean tryLock() {
        refuseOnLoop("tryLock()");
        if (!local.tryLock()) {
            return false;
        }
        boolean isTaken = false;
        try {
            isTaken = isHeldAgain() || acquireWithin(0);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (!isTaken) {
                local.unlock();
            }
        }
        return isTaken;
    }

    @Override
    public boolean tryLock(final long time, final TimeUnit unit) throws InterruptedException {
        Objects.requireNonNull(unit, "time unit is null: say what the time is counted in");
        refuseOnLoop("tryLock(time, unit)");
        final long deadlineNs = engine.nowNs() + Math.max(0, unit.toNanos(time));
        if (!local.tryLock(time, unit)) {
            return false;
        }
        boolean isTaken = false;
        try {
            isTaken = isHeldAgain() || acquireWithin(Math.max(0, deadlineNs - engine.nowNs()));
        } finally {
            if (!isTaken) {
                local.unlock();
            }
        }
        return isTaken;
    }

    private boolean isHeldAgain() {
        return local.getHoldCount() > 1 && lease.isHeld();
    }

    private boolean acquireWithin(final long waitNs) throws InterruptedException {
        if (local.getHoldCount() > 1) {
            return false;
        }
        final AcquireOutcome outcome = engine.acquireBlocking(key, spec, waitNs);
        if (outcome.isAcquired()) {
            lease = outcome.lease();
        }
        return outcome.isAcquired();
    }

    /**
     * Gives one hold back; the last one releases the lock. That the lease has expired is no error here, so that it
     * cannot hide the exception that the critical section ended with; {@link #isHeldByCurrentThread} tells before.
     *
     * @throws IllegalMonitorStateException if this thread does not hold it
     */
    @Override
    public void unlock() {
        if (!local.isHeldByCurrentThread()) {
            throw new IllegalMonitorStateException("\"" + key + "\" is not locked by thread "
                    + SafeText.of(Thread.currentThread().getName()) + ": only the thread that locked it may unlock it");
        }
        try {
            if (local.getHoldCount() == 1) {
                final Lease last = lease;
                lease = null;
                last.close();
            }
        } finally {
            local.unlock();
        }
    }

    /**
     * Not offered: a condition would need messages between processes that survive the loss of nodes.
     *
     * @return never
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "a distributed lock has no conditions: wait for changes at the resource itself");
    }

    /** @return true if this thread holds the lock and its lease is valid at this moment */
    public boolean isHeldByCurrentThread() {
        final Lease current = lease;
        return local.isHeldByCurrentThread() && current != null && current.isHeld();
    }

    /** @return how often this thread holds the lock */
    public int holdCount() {
        return local.getHoldCount();
    }

    /**
     * The lease behind the lock, for its validity and its fencing token.
     *
     * @return the lease
     * @throws IllegalMonitorStateException if this thread does not hold the lock
     */
    public Lease lease() {
        if (!local.isHeldByCurrentThread()) {
            throw new IllegalMonitorStateException("\"" + key + "\" is not locked by this thread, it has no lease");
        }
        return lease;
    }

    @Override
    public String toString() {
        return "RedlockLock{" + key + ", "
                + (local.isLocked() ? "locked in this process" : "not locked in this process")
                + "}";
    }
}
