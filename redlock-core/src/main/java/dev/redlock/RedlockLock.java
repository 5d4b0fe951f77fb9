package dev.redlock;

import dev.redlock.api.Lease;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LocalHolds;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import java.util.concurrent.locks.Lock;

/**
 * A {@link Lock} view of one resource, for code that uses that interface. {@link Redlock#asLock Redlock.asLock} creates
 * it.
 *
 * <p>The lock is reentrant per thread, with a hold count that all views of the resource by one client share. The
 * options of the view that acquires the lock apply to its lease. The lease expires, held or not: use
 * {@link AcquireOptions#autoExtend()}, or check {@link #isHeldByCurrentThread()} before each critical effect. A
 * {@code Lock} cannot report a loss; {@link AcquireOptions#listener} can.
 *
 * <p>After the loss of the lease, {@link #lock} throws, and {@link #tryLock()} returns false once and ends the holds of
 * the thread: its next call may acquire the lock. To unlock them afterwards is no error.
 *
 * <p>Virtual threads may use it: no monitor is held while a thread waits.
 *
 * @threading any thread
 */
public final class RedlockLock extends LockView {

    RedlockLock(LockEngine engine, LockKey key, AcquireSpec spec) {
        super(engine, engine.exclusiveHolds, key, spec);
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
        return hold == null ? 0 : hold.holdCount();
    }

    /**
     * The lease behind the lock, for its validity and its fencing token.
     *
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
        boolean isLocked = hold != null && hold.lock().isWriteLocked();
        return "RedlockLock{" + key + ", " + (isLocked ? "locked in this process" : "not locked in this process") + "}";
    }
}
