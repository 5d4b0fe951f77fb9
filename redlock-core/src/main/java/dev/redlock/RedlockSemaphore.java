package dev.redlock;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.Lease;
import dev.redlock.api.LockInspection;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.LockInspector;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.PermitHolds;
import dev.redlock.resp.SafeText;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A view of a semaphore with the methods of {@link java.util.concurrent.Semaphore} that a lease allows.
 * {@link Redlock#asSemaphore Redlock.asSemaphore} creates it.
 *
 * <p>It differs in two ways:
 * <ul>
 * <li>A permit is a lease, so it expires, held or not. {@link #lease} reports whether it is still held.
 * <li>A thread releases the permits that it has taken, through any view of the semaphore by this client. To release a
 * permit in another thread, take it with {@link Redlock#acquire(String, AcquireOptions)} and pass the lease.
 * </ul>
 *
 * @threading any thread
 */
public final class RedlockSemaphore {

    private final LockEngine engine;
    private final PermitHolds holds;
    private final LockKey key;
    private final AcquireSpec spec;

    RedlockSemaphore(LockEngine engine, LockKey key, AcquireSpec spec) {
        this.engine = engine;
        this.holds = engine.permitHolds;
        this.key = key;
        this.spec = spec;
    }

    /**
     * Takes a permit without a time limit, unless the thread is interrupted.
     *
     * @throws InterruptedException  if interrupted; no permit is taken
     * @throws IllegalStateException if the client is closed or its event loop has ended, or on its event loop
     */
    public void acquire() throws InterruptedException {
        refuseOnLoop("acquire()");
        RepeatLog failures = null;
        while (true) {
            AcquireOutcome outcome = engine.acquireBlocking(key, spec, LockEngine.UNLIMITED_WAIT_NS);
            if (isTaken(outcome)) {
                return;
            }
            failures = failures == null ? LockView.failuresFrom(engine, key) : failures;
            failures.onFailed(outcome, engine.nowNs());
            LockSupport.parkNanos(this, LockView.OVERLOADED_PARK_NS);
        }
    }

    /**
     * Takes a permit without a time limit. An interrupt does not end the wait and stays set, also if this throws.
     *
     * @throws IllegalStateException as {@link #acquire}
     */
    public void acquireUninterruptibly() {
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    acquire();
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
     * Takes a permit if one is free, without waiting for other holders. Returns false if the thread is already
     * interrupted.
     *
     * @return true if a permit is taken
     * @throws IllegalStateException as {@link #acquire}
     */
    @CheckReturnValue
    public boolean tryAcquire() {
        refuseOnLoop("tryAcquire()");
        try {
            return isTaken(engine.acquireBlocking(key, spec, 0));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Takes a permit if one becomes free within a time.
     *
     * @param time the longest time to wait; zero or less for one attempt
     * @return true if a permit is taken
     * @throws InterruptedException  if interrupted; no permit is taken
     * @throws IllegalStateException as {@link #acquire}
     */
    @CheckReturnValue
    public boolean tryAcquire(long time, TimeUnit unit) throws InterruptedException {
        Objects.requireNonNull(unit, "time unit is null: say what the time is counted in");
        refuseOnLoop("tryAcquire(time, unit)");
        return isTaken(engine.acquireBlocking(key, spec, Math.max(0, unit.toNanos(time))));
    }

    private void refuseOnLoop(String call) {
        engine.refuseOnLoop(call, "Redlock.acquire with a callback or acquireAsync");
    }

    private boolean isTaken(AcquireOutcome outcome) {
        if (outcome.isAcquired()) {
            holds.add(key, outcome.lease());
        } else if (outcome.kind() == AcquireOutcome.Kind.CLOSED) {
            throw new LockNotAcquiredException("no permit of \"" + key + "\" can be taken: " + outcome.advice(),
                    outcome);
        }
        return outcome.isAcquired();
    }

    /**
     * Releases the permit that this thread has taken last. An expired permit is no error.
     *
     * @throws IllegalMonitorStateException if this thread has no permit of the semaphore
     */
    public void release() {
        Lease last = holds.removeLast(key);
        if (last == null) {
            throw new IllegalMonitorStateException("thread " + SafeText.of(Thread.currentThread().getName())
                    + " has no permit of \"" + key + "\": only the thread that took a permit may release it");
        }
        last.close();
    }

    /** @return the lease of the permit that the calling thread has taken last; null if it has none */
    public Lease lease() {
        return holds.last(key);
    }

    /**
     * Asks all nodes for the keys of the permits, as {@link Redlock#inspect Redlock.inspect} does for a lock.
     *
     * @return the answers of the nodes for each permit. Allocates
     */
    public List<LockInspection> inspect() throws InterruptedException {
        return LockInspector.showPermits(engine, key, spec.permitCount);
    }

    @Override
    public String toString() {
        return "RedlockSemaphore{" + key + ", " + spec.permitCount + " permits}";
    }
}
