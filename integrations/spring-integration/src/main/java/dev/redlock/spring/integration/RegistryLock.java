package dev.redlock.spring.integration;

import dev.redlock.RedlockLock;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.springframework.integration.support.locks.DistributedLock;

/** @threading any thread */
class RegistryLock implements Lock {

    private final RedlockLock lock;

    RegistryLock(RedlockLock lock) {
        this.lock = lock;
    }

    @Override
    public void lock() {
        lock.lock();
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        lock.lockInterruptibly();
    }

    @Override
    public boolean tryLock() {
        return lock.tryLock();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return lock.tryLock(time, unit);
    }

    @Override
    public void unlock() {
        var last = lock.holdCount() == 1 && lock.isHeldByCurrentThread() ? lock.lease() : null;
        boolean isLost = lock.holdCount() <= 1 && last == null;
        lock.unlock();
        if (isLost || last != null && last.release() == dev.redlock.api.ReleaseOutcome.EXPIRED) {
            throw new ConcurrentModificationException(
                    lock + " was lost before the unlock: another holder may have changed what it protects");
        }
    }

    @Override
    public Condition newCondition() {
        return lock.newCondition();
    }

    /** @threading any thread */
    static final class WithTtl extends RegistryLock implements DistributedLock {

        private final Function<Duration, Lock> views;

        WithTtl(RedlockLock lock, Function<Duration, Lock> views) {
            super(lock);
            this.views = views;
        }

        @Override
        public void lock(Duration ttl) {
            views.apply(ttl).lock();
        }

        @Override
        public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
            return views.apply(ttl).tryLock(waitTime.toMillis(), TimeUnit.MILLISECONDS);
        }
    }
}
