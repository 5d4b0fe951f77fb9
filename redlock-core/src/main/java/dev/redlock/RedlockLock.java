package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LocalHolds;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockKey;
import dev.redlock.resp.SafeText;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * A {@link Lock} view of one resource, for code that uses that interface. {@link Redlock#asLock} creates it.
 *
 * <p>The lock is reentrant per thread, with a hold count that all views of the resource by one client share. The
 * options of the view that acquires the lock apply to its lease. The lease expires, held or not: use
 * {@link AcquireOptions#autoExtend()}, or check {@link #isHeldByCurrentThread()} before each critical effect. A
 * {@code Lock} cannot report a loss; {@link AcquireOptions#listener} can.
 *
 * <p>Virtual threads may use it: no monitor is held while a thread waits.
 *
 * @threading any thread
 */
public final class RedlockLock implements Lock {

    /** Delay between two tries of {@link #lock} while the client is overloaded; all other waits are the engine's. */
    private static final long OVERLOADED_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Wait budget of one acquisition of {@link #lock}, which acquires again when it has passed. */
    private static final long PATIENCE_NS = TimeUnit.DAYS.toNanos(1);

    private final LockEngine engine;
    private final LocalHolds holds;
    private final LockKey key;
    private final AcquireSpec spec;

    RedlockLock(LockEngine engine, LockKey key, AcquireSpec spec) {
        this.engine = engine;
        this.holds = engine.localHolds();
        this.key = key;
        this.spec = spec;
    }

    /**
     * Acquires the lock without a time limit. An interrupt does not end the wait and stays set.
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
            } catch (InterruptedException e) {
                wasInterrupted = true;
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Acquires the lock without a time limit, unless the thread is interrupted.
     *
     * @throws InterruptedException  if interrupted; the lock is not held, and the attempt is rolled back
     * @throws IllegalStateException as {@link #lock}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        refuseOnLoop("lockInterruptibly()");
        LocalHolds.Hold hold = holds.enter(key);
        boolean isTaken = false;
        try {
            hold.lock().lockInterruptibly();
            try {
                isTaken = isReentry(hold) || acquireForever(hold);
            } finally {
                unlockUnless(isTaken, hold);
            }
        } finally {
            leaveUnless(isTaken);
        }
    }

    /** Checked before the local lock, which blocks too. */
    private void refuseOnLoop(String call) {
        engine.refuseOnLoop(call, "Redlock.acquire with a callback or acquireAsync");
    }

    private static void unlockUnless(boolean isTaken, LocalHolds.Hold hold) {
        if (!isTaken) {
            hold.lock().unlock();
        }
    }

    private void leaveUnless(boolean isTaken) {
        if (!isTaken) {
            holds.leave(key);
        }
    }

    private boolean isReentry(LocalHolds.Hold hold) {
        if (hold.lock().getHoldCount() == 1) {
            return false;
        }
        Lease lease = hold.lease();
        if (!lease.isHeld()) {
            throw new IllegalStateException("the lease of \"" + key
                    + "\" was lost while this thread held the lock: unlock and start over; " + lease);
        }
        return true;
    }

    private boolean acquireForever(LocalHolds.Hold hold) throws InterruptedException {
        while (true) {
            AcquireOutcome outcome = engine.acquireBlocking(key, spec, PATIENCE_NS);
            if (outcome.isAcquired()) {
                hold.lease(outcome.lease());
                return true;
            }
            if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
                throw new IllegalStateException("\"" + key + "\" cannot be locked: the client is closed");
            }
            LockSupport.parkNanos(this, OVERLOADED_PARK_NS);
        }
    }

    /**
     * Acquires the lock if it is free: one attempt, which waits for the nodes' answers only. Returns false if the
     * thread is already interrupted.
     *
     * @return true if the lock is held now
     * @throws IllegalStateException on an event loop of the client
     */
    @Override
    public boolean tryLock() {
        refuseOnLoop("tryLock()");
        LocalHolds.Hold hold = holds.enter(key);
        boolean isTaken = false;
        try {
            if (hold.lock().tryLock()) {
                try {
                    isTaken = isHeldAgain(hold) || acquireWithin(hold, 0);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    unlockUnless(isTaken, hold);
                }
            }
        } finally {
            leaveUnless(isTaken);
        }
        return isTaken;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Objects.requireNonNull(unit, "time unit is null: say what the time is counted in");
        refuseOnLoop("tryLock(time, unit)");
        long deadlineNs = engine.nowNs() + Math.max(0, unit.toNanos(time));
        LocalHolds.Hold hold = holds.enter(key);
        boolean isTaken = false;
        try {
            if (hold.lock().tryLock(time, unit)) {
                try {
                    isTaken = isHeldAgain(hold) || acquireWithin(hold, Math.max(0, deadlineNs - engine.nowNs()));
                } finally {
                    unlockUnless(isTaken, hold);
                }
            }
        } finally {
            leaveUnless(isTaken);
        }
        return isTaken;
    }

    private static boolean isHeldAgain(LocalHolds.Hold hold) {
        return hold.lock().getHoldCount() > 1 && hold.lease().isHeld();
    }

    private boolean acquireWithin(LocalHolds.Hold hold, long waitNs) throws InterruptedException {
        if (hold.lock().getHoldCount() > 1) {
            return false;
        }
        AcquireOutcome outcome = engine.acquireBlocking(key, spec, waitNs);
        if (outcome.isAcquired()) {
            hold.lease(outcome.lease());
        }
        return outcome.isAcquired();
    }

    /**
     * Ends one hold; the last one releases the lock. An expired lease is no error, so that it cannot hide the exception
     * that ended the critical section; {@link #isHeldByCurrentThread} reports the expiry before.
     *
     * @throws IllegalMonitorStateException if this thread does not hold the lock
     */
    @Override
    public void unlock() {
        LocalHolds.Hold hold = heldByCurrentThread();
        if (hold == null) {
            throw new IllegalMonitorStateException("\"" + key + "\" is not locked by thread "
                    + SafeText.of(Thread.currentThread().getName()) + ": only the thread that locked it may unlock it");
        }
        try {
            if (hold.lock().getHoldCount() == 1) {
                Lease last = hold.lease();
                hold.lease(null);
                last.close();
            }
        } finally {
            hold.lock().unlock();
            holds.leave(key);
        }
    }

    private LocalHolds.Hold heldByCurrentThread() {
        LocalHolds.Hold hold = holds.get(key);
        return hold != null && hold.lock().isHeldByCurrentThread() ? hold : null;
    }

    /**
     * Not supported: a condition would need messages between processes that survive the loss of nodes.
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
        LocalHolds.Hold hold = heldByCurrentThread();
        Lease lease = hold == null ? null : hold.lease();
        return lease != null && lease.isHeld();
    }

    /** @return how often this thread holds the lock, through all views of the resource */
    public int holdCount() {
        LocalHolds.Hold hold = heldByCurrentThread();
        return hold == null ? 0 : hold.lock().getHoldCount();
    }

    /**
     * The lease behind the lock, for its validity and its fencing token.
     *
     * @return the lease
     * @throws IllegalMonitorStateException if this thread does not hold the lock
     */
    public Lease lease() {
        LocalHolds.Hold hold = heldByCurrentThread();
        if (hold == null) {
            throw new IllegalMonitorStateException("\"" + key + "\" is not locked by this thread, it has no lease");
        }
        return hold.lease();
    }

    @Override
    public String toString() {
        LocalHolds.Hold hold = holds.get(key);
        boolean isLocked = hold != null && hold.lock().isLocked();
        return "RedlockLock{" + key + ", " + (isLocked ? "locked in this process" : "not locked in this process") + "}";
    }
}
