package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LocalHolds;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.resp.SafeText;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * A {@link Lock} view of one resource, exclusive or for readers. A thread takes the distributed lock inside its first
 * hold of a lock of this process.
 *
 * @threading any thread
 */
class LockView implements Lock {

    /** Delay between two tries of {@link #lock} while the client is overloaded; all other waits are the engine's. */
    static final long OVERLOADED_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);

    /** Failing of an acquisition without a time limit that is not logged yet. */
    private static final long FAILING_NS_MAX = TimeUnit.SECONDS.toNanos(10);

    private final LockEngine engine;
    final LocalHolds holds;
    final LockKey key;
    private final AcquireSpec spec;
    private final boolean isReading;

    LockView(LockEngine engine, LocalHolds holds, LockKey key, AcquireSpec spec) {
        this.engine = engine;
        this.holds = holds;
        this.key = key;
        this.spec = spec;
        this.isReading = spec.kind == LockKind.READ;
    }

    private Lock local(LocalHolds.Hold hold) {
        return isReading ? hold.lock().readLock() : hold.lock().writeLock();
    }

    /**
     * Acquires the lock without a time limit. An interrupt does not end the wait and stays set, also if this throws.
     *
     * @throws IllegalStateException if the client is closed or its event loop has ended, if this thread holds a lease
     *                               that was lost, or on the client's event loop
     */
    @Override
    public void lock() {
        refuseOnLoop("lock()");
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    lockInterruptibly();
                    return;
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Acquires the lock without a time limit, unless the thread is interrupted.
     *
     * @throws InterruptedException  if interrupted; the lock is not held, and an attempt in progress is rolled back
     * @throws IllegalStateException as {@link #lock}
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        LocalHolds.Hold hold = enter("lockInterruptibly()");
        boolean isTaken = false;
        try {
            refuseUpgrade(hold);
            local(hold).lockInterruptibly();
            try {
                isTaken = isReentry(hold) || acquireForever(hold);
            } finally {
                unlockUnless(isTaken, hold);
            }
        } finally {
            leaveUnless(isTaken);
        }
    }

    /**
     * Acquires the lock if it is free: one attempt, which waits for the nodes' answers only. Returns false if the
     * thread is already interrupted. If this thread holds a lease that was lost, its holds end and the call returns
     * false; the next call may acquire the lock.
     *
     * @return true if the lock is held now
     * @throws IllegalStateException on an event loop of the client
     */
    @CheckReturnValue
    @Override
    public boolean tryLock() {
        LocalHolds.Hold hold = enter("tryLock()");
        boolean isTaken = false;
        try {
            isTaken = !isUpgrade(hold) && local(hold).tryLock() && acquireWithin(hold, 0);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            leaveUnless(isTaken);
        }
        return isTaken;
    }

    /** Acquires the lock within a time, unless the thread is interrupted; otherwise as {@link #tryLock()}. */
    @CheckReturnValue
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Objects.requireNonNull(unit, "time unit is null: say what the time is counted in");
        LocalHolds.Hold hold = enter("tryLock(time, unit)");
        long deadlineNs = engine.nowNs() + Math.max(0, unit.toNanos(time));
        boolean isTaken = false;
        try {
            refuseUpgrade(hold);
            isTaken = local(hold).tryLock(time, unit) && acquireWithin(hold, Math.max(0, deadlineNs - engine.nowNs()));
        } finally {
            leaveUnless(isTaken);
        }
        return isTaken;
    }

    private LocalHolds.Hold enter(String call) {
        refuseOnLoop(call);
        return holds.enter(key);
    }

    /** Checked before the local lock, which blocks too. */
    private void refuseOnLoop(String call) {
        engine.refuseOnLoop(call, "Redlock.acquire with a callback or acquireAsync");
    }

    /** Two readers that wait for each other to leave would wait for ever. */
    private boolean isUpgrade(LocalHolds.Hold hold) {
        return !isReading && hold.lock().getReadHoldCount() > 0 && !hold.lock().isWriteLockedByCurrentThread();
    }

    private void refuseUpgrade(LocalHolds.Hold hold) {
        if (isUpgrade(hold)) {
            throw new IllegalStateException("this thread reads \"" + key + "\": release the read lock before you"
                    + " take the write lock, because other readers may wait for it too");
        }
    }

    private boolean isReentry(LocalHolds.Hold hold) {
        if (hold.holdCount() == 1) {
            return false;
        }
        if (!hold.lease().isHeld()) {
            throw new IllegalStateException("the lease of \"" + key
                    + "\" was lost while this thread held the lock: unlock and start over; " + hold.lease());
        }
        return true;
    }

    private boolean acquireForever(LocalHolds.Hold hold) throws InterruptedException {
        RepeatLog failures = null;
        while (true) {
            AcquireOutcome outcome = engine.acquireBlocking(key, spec, LockEngine.UNLIMITED_WAIT_NS);
            if (outcome.isAcquired()) {
                hold.keep(outcome.lease());
                return true;
            }
            if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
                throw new LockNotAcquiredException("\"" + key + "\" cannot be locked: " + outcome.advice(), outcome);
            }
            failures = failures == null ? failuresFrom(engine, key) : failures;
            failures.onFailed(outcome, engine.nowNs());
            LockSupport.parkNanos(this, OVERLOADED_PARK_NS);
        }
    }

    /** For the first failure of an acquisition without a time limit. A short overload is not logged. */
    static RepeatLog failuresFrom(LockEngine engine, LockKey key) {
        return new RepeatLog("a thread that waits without a time limit", key, engine.nowNs() + FAILING_NS_MAX);
    }

    /** Acquires the lock inside the local lock, which is unlocked again without success. */
    private boolean acquireWithin(LocalHolds.Hold hold, long waitNs) throws InterruptedException {
        boolean isTaken = false;
        try {
            if (hold.holdCount() == 1) {
                AcquireOutcome outcome = engine.acquireBlocking(key, spec, waitNs);
                isTaken = outcome.isAcquired();
                if (isTaken) {
                    hold.keep(outcome.lease());
                }
            } else if (hold.lease().isHeld()) {
                isTaken = true;
            } else {
                // The lease was lost. To acquire it now would look like a re-entry.
                holds.endLost(key, hold, local(hold));
            }
        } finally {
            unlockUnless(isTaken, hold);
        }
        return isTaken;
    }

    private void unlockUnless(boolean isTaken, LocalHolds.Hold hold) {
        if (!isTaken) {
            local(hold).unlock();
        }
    }

    private void leaveUnless(boolean isTaken) {
        if (!isTaken) {
            holds.leave(key);
        }
    }

    /**
     * Ends one hold; the last one of the thread releases the lease. An expired lease is no error, so that it cannot
     * hide the exception that ended the critical section.
     *
     * @throws IllegalMonitorStateException if this thread does not hold the lock
     */
    @Override
    public void unlock() {
        LocalHolds.Hold hold = heldByCurrentThread();
        if (hold == null && holds.unlockLost(key)) {
            return;
        }
        if (hold == null) {
            String role = isReading ? " for reading" : spec.kind == LockKind.WRITE ? " for writing" : "";
            throw new IllegalMonitorStateException("\"" + key + "\" is not locked" + role + " by thread "
                    + SafeText.of(Thread.currentThread().getName()) + ": only the thread that locked it may unlock it");
        }
        try {
            if (hold.holdCount() == 1) {
                hold.take().close();
            }
        } finally {
            local(hold).unlock();
            holds.leave(key);
        }
    }

    /** The hold of a thread that has this lock; null if it has not. */
    final LocalHolds.Hold heldByCurrentThread() {
        LocalHolds.Hold hold = holds.get(key);
        boolean isHeld = hold != null
                && (isReading ? hold.lock().getReadHoldCount() > 0 : hold.lock().isWriteLockedByCurrentThread());
        return isHeld ? hold : null;
    }

    /**
     * Not supported: a condition would need messages between processes that survive the loss of nodes.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "a distributed lock has no conditions: wait for changes at the resource itself");
    }

    @Override
    public String toString() {
        return (isReading ? "read" : "write") + " lock of RedlockReadWriteLock{" + key + "}";
    }
}
