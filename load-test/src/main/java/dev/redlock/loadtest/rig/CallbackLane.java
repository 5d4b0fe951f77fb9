package dev.redlock.loadtest.rig;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendCallback;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import java.util.concurrent.locks.LockSupport;

/**
 * One lock, acquired and released repeatedly in the callback form with reused objects, for benchmarks and for tests of
 * the allocation of a cycle. Any outcome but the expected one ends the run with an error.
 *
 * @threading any thread; one run at a time
 */
public final class CallbackLane {

    private final Redlock redlock;
    private final ResourceKey key;
    private final AcquireOptions options;
    private final AcquireOutcome.Kind expected;
    private final long extendTtlMs;
    private final Lease lease;
    private final AcquireCallback onAcquired = this::onAcquired;
    private final ReleaseCallback onReleased = this::onReleased;
    private final ExtendCallback onExtended = this::onExtended;
    private volatile int left;
    private volatile String failure;
    private volatile Thread waiter;

    /** A lane whose leases are released as soon as they are acquired. */
    public CallbackLane(Redlock redlock, ResourceKey key, AcquireOptions options) {
        this(redlock, key, options, AcquireOutcome.Kind.ACQUIRED, 0);
    }

    /** Each acquisition must end as expected. The ttl is that of one extension before each release; 0 for none. */
    public CallbackLane(Redlock redlock, ResourceKey key, AcquireOptions options,
            AcquireOutcome.Kind expected, long extendTtlMs) {
        this.redlock = redlock;
        this.key = key;
        this.options = options;
        this.expected = expected;
        this.extendTtlMs = extendTtlMs;
        this.lease = redlock.newLease();
    }

    /** Starts each cycle from the calling thread, after the end of the cycle before it. */
    public void runFromCaller(int count) {
        for (int i = 0; i < count; i++) {
            runOnLoop(1);
        }
    }

    /** Starts each cycle in the callback of the one before, and waits for the last. */
    public void runOnLoop(int count) {
        begin(count);
        await();
    }

    /** Starts the first cycle; the others follow on the event loop. */
    public void begin(int count) {
        left = count;
        redlock.acquire(key, options, lease, onAcquired);
    }

    /** Parks until all cycles have ended; throws IllegalStateException if one did not end as expected. */
    public void await() {
        waiter = Thread.currentThread();
        while (left > 0) {
            LockSupport.park(this);
        }
        waiter = null;
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
    }

    private void end(String reason) {
        failure = reason;
        left = 0;
        LockSupport.unpark(waiter);
    }

    private void onAcquired(AcquireOutcome outcome) {
        if (outcome.kind() != expected) {
            end("expected " + expected + ": " + outcome);
        } else if (expected != AcquireOutcome.Kind.ACQUIRED) {
            onCycleEnd();
        } else if (extendTtlMs > 0) {
            lease.extend(extendTtlMs, onExtended);
        } else {
            lease.release(onReleased);
        }
    }

    private void onExtended(Lease extended, ExtendOutcome outcome) {
        if (outcome == ExtendOutcome.EXTENDED) {
            lease.release(onReleased);
        } else {
            end("not extended: " + outcome);
        }
    }

    private void onReleased(Lease released, ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.RELEASED) {
            onCycleEnd();
        } else {
            end("not released: " + outcome);
        }
    }

    private void onCycleEnd() {
        int rest = left - 1;
        if (rest == 0) {
            end(null);
        } else {
            left = rest;
            redlock.acquire(key, options, lease, onAcquired);
        }
    }
}
