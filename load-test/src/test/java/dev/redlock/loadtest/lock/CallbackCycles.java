package dev.redlock.loadtest.lock;

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

/** One lock taken and given back again and again through the callback form, with objects that are made once. */
final class CallbackCycles {

    private final Redlock redlock;
    private final ResourceKey key;
    private final AcquireOptions options;
    private final Lease lease;
    private final AcquireCallback onAcquired = this::onAcquired;
    private final ReleaseCallback onReleased = this::onReleased;
    private final ExtendCallback onExtended = this::onExtended;
    private volatile int left;
    private volatile Thread waiter;
    private volatile String failure;

    /** What each acquisition must end as. */
    AcquireOutcome.Kind expected = AcquireOutcome.Kind.ACQUIRED;
    /** If not 0, each lease is extended once before it is released. */
    long extendTtlMs;

    CallbackCycles(final Redlock redlock, final ResourceKey key, final AcquireOptions options) {
        this.redlock = redlock;
        this.key = key;
        this.options = options;
        this.lease = redlock.newLease();
    }

    /** Begins each cycle from the calling thread, when the one before has ended. */
    void runFromCaller(final int count) {
        for (int i = 0; i < count; i++) {
            begin(1);
            await();
        }
    }

    /** Begins each cycle in the callback of the one before. */
    void runOnLoop(final int count) {
        begin(count);
        await();
    }

    void begin(final int count) {
        left = count;
        redlock.acquire(key, options, lease, onAcquired);
    }

    /** Parks until all cycles have ended. */
    void await() {
        waiter = Thread.currentThread();
        while (left > 0) {
            LockSupport.park(this);
        }
        waiter = null;
        if (failure != null) {
            throw new AssertionError(failure);
        }
    }

    private void fail(final String what) {
        failure = what;
        end();
    }

    private void end() {
        left = 0;
        LockSupport.unpark(waiter);
    }

    private void onAcquired(final AcquireOutcome outcome) {
        if (outcome.kind() != expected) {
            fail("expected " + expected + ": " + outcome);
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
            fail("not extended: " + outcome);
        }
    }

    private void onReleased(final Lease released, final ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.RELEASED) {
            onCycleEnd();
        } else {
            fail("not released: " + outcome);
        }
    }

    private void onCycleEnd() {
        final int rest = left - 1;
        if (rest == 0) {
            end();
        } else {
            left = rest;
            redlock.acquire(key, options, lease, onAcquired);
        }
    }
}
