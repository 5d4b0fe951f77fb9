package dev.redlock;

import dev.redlock.api.Lease;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LocalHolds;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.key.LockKey;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A {@link ReadWriteLock} view of one resource, for code that uses that interface.
 * {@link Redlock#asReadWriteLock Redlock.asReadWriteLock} creates it.
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

    private final LockView reading;
    private final LockView writing;

    RedlockReadWriteLock(LockEngine engine, LockKey key, AcquireSpec readSpec, AcquireSpec writeSpec) {
        this.reading = new LockView(engine, engine.sharedHolds, key, readSpec);
        this.writing = new LockView(engine, engine.sharedHolds, key, writeSpec);
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
        LocalHolds.Hold hold = reading.holds.get(reading.key);
        return hold == null ? null : hold.lease();
    }

    @Override
    public String toString() {
        return "RedlockReadWriteLock{" + reading.key + "}";
    }
}
