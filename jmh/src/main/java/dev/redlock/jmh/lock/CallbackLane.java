package dev.redlock.jmh.lock;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.ExtendCallback;
import dev.redlock.ExtendOutcome;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import java.util.concurrent.locks.LockSupport;

/**
 * One lock taken and given back again and again through the callback form, each cycle begun in the callback of the one
 * before, with objects that are made once. Any outcome but the expected one ends the run with an error.
 *
 * @threading any thread; one run at a time
 */
final class CallbackLane {

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

    /** A lane whose acquisitions end as expected, and are extended once if the ttl is not 0. */
    CallbackLane(final Redlock redlock, final ResourceKey key, final AcquireOptions options,
            final AcquireOutcome.Kind expected, final long extendTtlMs) {
        this.redlock = redlock;
        this.key = key;
        this.options = options;
        this.expected = expected;
        this.extendTtlMs = extendTtlMs;
        this.lease = redlock.newLease();
    }

    void begin(final int count) {
        left = count;
        redlock.acquire(key, options, lease, onAcquired);
    }

    /** Waits for all cycles. */
    void await() {
        waiter = Thread.currentThread();
        while (left > 0) {
            LockSupport.park(this);
        }
        waiter = null;
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
    }

    private void end(final String reason) {
        failure = reason;
        left = 0;
        LockSupport.unpark(waiter);
    }

    private void onAcquired(final AcquireOutcome outcome) {
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

    private void onExtended(final Lease extended, final ExtendOutcome outcome) {
        if (outcome == ExtendOutcome.EXTENDED) {
            lease.release(onReleased);
        } else {
            end("not extended: " + outcome);
        }
    }

    private void onReleased(final Lease released, final ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.RELEASED) {
            onCycleEnd();
        } else {
            end("not released: " + outcome);
        }
    }

    private void onCycleEnd() {
        final int rest = left - 1;
        if (rest == 0) {
            end(null);
        } else {
            left = rest;
            redlock.acquire(key, options, lease, onAcquired);
        }
    }
}
