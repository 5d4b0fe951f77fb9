package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockKey;
import dev.redlock.engine.SharedHolds;
import dev.redlock.resp.SafeText;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A {@link ReadWriteLock} view of one resource, for code that uses that interface.
 * {@link Redlock#asReadWriteLock} creates it.
 *
 * <p>Both locks are reentrant per thread, with holds that all views of the resource by one client share. Each thread
 * that reads has a lease of its own. As with {@link RedlockLock}, a lease expires, held or not.
 * <ul>
 * <li>A thread that holds the write lock may take the read lock too. The write lease then stays until its last hold.
 * <li>A thread that holds the read lock alone must release it before it takes the write lock.
 * </ul>
 *
 * @threading any thread
 */
public final class RedlockReadWriteLock implements ReadWriteLock {

    /** Delay between two tries while the client is overloaded; all other waits are the engine's. */
    private static final long OVERLOADED_PARK_NS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Wait budget of one acquisition of {@code lock()}, which acquires again when it has passed. */
    private static final long PATIENCE_NS = TimeUnit.DAYS.toNanos(1);

    private final LockEngine engine;
    private final SharedHolds holds;
    private final LockKey key;
    private final View reading;
    private final View writing;

    RedlockReadWriteLock(LockEngine engine, LockKey key, AcquireSpec readSpec, AcquireSpec writeSpec) {
        this.engine = engine;
        this.holds = engine.sharedHolds();
        this.key = key;
        this.reading = new View(readSpec, false);
        this.writing = new View(writeSpec, true);
    }

    @Override
    public Lock readLock() {
        return reading;
    }

    @Override
    public Lock writeLock() {
        return writing;
    }

    /** @return the lease of the calling thread; null if it holds neither lock */
    public Lease lease() {
        SharedHolds.Hold hold = holds.get(key);
        return hold == null ? null : hold.lease();
    }

    @Override
    public String toString() {
        return "RedlockReadWriteLock{" + key + "}";
    }

    /**
     * The read lock or the write lock.
     *
     * @threading any thread
     */
    private final class View implements Lock {
        private final AcquireSpec spec;
        private final boolean isWriting;

        View(AcquireSpec spec, boolean isWriting) {
            this.spec = spec;
            this.isWriting = isWriting;
        }

        private Lock local(SharedHolds.Hold hold) {
            return isWriting ? hold.lock().writeLock() : hold.lock().readLock();
        }

        @Override
        public void lock() {
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

        @Override
        public void lockInterruptibly() throws InterruptedException {
            SharedHolds.Hold hold = enter("lockInterruptibly()");
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

        @Override
        public boolean tryLock() {
            SharedHolds.Hold hold = enter("tryLock()");
            boolean isTaken = false;
            try {
                if (!isUpgrade(hold) && local(hold).tryLock()) {
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
            SharedHolds.Hold hold = enter("tryLock(time, unit)");
            long deadlineNs = engine.nowNs() + Math.max(0, unit.toNanos(time));
            boolean isTaken = false;
            try {
                refuseUpgrade(hold);
                if (local(hold).tryLock(time, unit)) {
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

        private SharedHolds.Hold enter(String call) {
            engine.refuseOnLoop(call, "Redlock.acquire with a callback or acquireAsync");
            return holds.enter(key);
        }

        /** Two readers that wait for each other to leave would wait for ever. */
        private boolean isUpgrade(SharedHolds.Hold hold) {
            return isWriting && hold.lock().getReadHoldCount() > 0 && !hold.lock().isWriteLockedByCurrentThread();
        }

        private void refuseUpgrade(SharedHolds.Hold hold) {
            if (isUpgrade(hold)) {
                throw new IllegalStateException("this thread reads \"" + key + "\": release the read lock before you"
                        + " take the write lock, because other readers may wait for it too");
            }
        }

        private boolean isReentry(SharedHolds.Hold hold) {
            if (hold.holdCount() == 1) {
                return false;
            }
            if (!hold.lease().isHeld()) {
                throw new IllegalStateException("the lease of \"" + key
                        + "\" was lost while this thread held the lock: unlock and start over; " + hold.lease());
            }
            return true;
        }

        private boolean isHeldAgain(SharedHolds.Hold hold) {
            return hold.holdCount() > 1 && hold.lease().isHeld();
        }

        private boolean acquireForever(SharedHolds.Hold hold) throws InterruptedException {
            while (true) {
                AcquireOutcome outcome = engine.acquireBlocking(key, spec, PATIENCE_NS);
                if (outcome.isAcquired()) {
                    hold.keep(outcome.lease());
                    return true;
                }
                if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
                    throw new IllegalStateException("\"" + key + "\" cannot be locked: the client is closed");
                }
                LockSupport.parkNanos(this, OVERLOADED_PARK_NS);
            }
        }

        private boolean acquireWithin(SharedHolds.Hold hold, long waitNs) throws InterruptedException {
            if (hold.holdCount() > 1) {
                return false;
            }
            AcquireOutcome outcome = engine.acquireBlocking(key, spec, waitNs);
            if (outcome.isAcquired()) {
                hold.keep(outcome.lease());
            }
            return outcome.isAcquired();
        }

        private void unlockUnless(boolean isTaken, SharedHolds.Hold hold) {
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
         * Ends one hold; the last one of the thread releases the lease. An expired lease is no error.
         *
         * @throws IllegalMonitorStateException if this thread does not hold this lock
         */
        @Override
        public void unlock() {
            SharedHolds.Hold hold = holds.get(key);
            boolean isHeld = hold != null && (isWriting
                    ? hold.lock().isWriteLockedByCurrentThread()
                    : hold.lock().getReadHoldCount() > 0);
            if (!isHeld) {
                throw new IllegalMonitorStateException("\"" + key + "\" is not locked for "
                        + (isWriting ? "writing" : "reading") + " by thread "
                        + SafeText.of(Thread.currentThread().getName())
                        + ": only the thread that locked it may unlock it");
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

        @Override
        public String toString() {
            return (isWriting ? "write" : "read") + " lock of " + RedlockReadWriteLock.this;
        }
    }
}
