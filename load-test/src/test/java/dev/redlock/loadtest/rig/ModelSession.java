package dev.redlock.loadtest.rig;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** A client in virtual time with one latency for each verb, which can stall, reject, and grant held locks. */
final class ModelSession implements LockSession {
    static final long ACQUIRE_NS = 70_000;
    static final long RELEASE_NS = 30_000;

    private final RigTime time;
    private final Set<String> held = new HashSet<>();
    private boolean isExclusive = true;
    private boolean isSilent;
    private boolean isInline;
    private long stallFromNs;
    private long stallUntilNs;
    private int failEvery = Integer.MAX_VALUE;
    private AcquireOutcome.Kind failure = AcquireOutcome.Kind.NO_QUORUM;
    private int calls;
    private int slowness = 1;
    private ReleaseOutcome released = ReleaseOutcome.RELEASED;

    ModelSession(RigTime time) {
        this.time = time;
        this.stallFromNs = time.nowNs();
        this.stallUntilNs = time.nowNs();
    }

    ModelSession grantingEverything() {
        isExclusive = false;
        return this;
    }

    ModelSession silent() {
        isSilent = true;
        return this;
    }

    /** Takes ten times as long. */
    ModelSession slower() {
        slowness = 10;
        return this;
    }

    /** Releases say that the client retains the lock. */
    ModelSession retaining() {
        released = ReleaseOutcome.RETAINED;
        return this;
    }

    /** Outcomes come before the call returns, until the clock advances. */
    ModelSession inline() {
        isInline = true;
        return this;
    }

    ModelSession stalling(Duration from, Duration length) {
        stallFromNs = time.nowNs() + from.toNanos();
        stallUntilNs = stallFromNs + length.toNanos();
        return this;
    }

    ModelSession failing(int every, AcquireOutcome.Kind verdict) {
        failEvery = every;
        failure = verdict;
        return this;
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        String resource = spec.resource();
        Duration ttl = spec.ttl();
        return new LockHandle() {
            @Override
            public void acquire() {
                finish(ACQUIRE_NS, () -> onAcquire(resource, ttl, listener));
            }

            @Override
            public void release() {
                finish(RELEASE_NS, () -> {
                    held.remove(resource);
                    listener.onRelease(released);
                });
            }
        };
    }

    private void onAcquire(String resource, Duration ttl, LockListener listener) {
        if (++calls % failEvery == 0) {
            listener.onAcquire(failure, 0);
        } else if (isExclusive && !held.add(resource)) {
            listener.onAcquire(AcquireOutcome.Kind.CONTENDED, 0);
        } else {
            listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, ttl.toNanos());
        }
    }

    private void finish(long tookNs, Runnable outcome) {
        if (isInline && calls < 100_000) {
            outcome.run();
            return;
        }
        long endNs = time.nowNs() + slowness * tookNs;
        if (endNs - stallFromNs >= 0 && endNs - stallUntilNs < 0) {
            endNs = stallUntilNs + tookNs;
        }
        if (!isSilent) {
            time.schedule(outcome, endNs - time.nowNs());
        }
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
