package dev.redlock.loadtest.driver;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;

/**
 * A handle for each form of the API of {@code redlock-core}.
 *
 * @threading caller-confined between a call and its outcome
 */
final class RedlockHandles {
    private RedlockHandles() {
    }

    private static AcquireOptions optionsOf(LockSpec spec) {
        AcquireOptions plain = AcquireOptions.ofTtl(spec.ttl()).waitUpTo(spec.waitBudget());
        return spec.isFenced() ? plain.fenced() : plain;
    }

    /**
     * One reused key and lease.
     *
     * @threading caller-confined between a call and its outcome
     */
    static final class Callback implements LockHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private final boolean isValidityReported;
        private final Lease lease;
        private final LockListener listener;
        // Method references are created once: one for each call would allocate.
        private final AcquireCallback onOutcome = this::onOutcome;
        private final ReleaseCallback onReleased = this::onReleased;

        Callback(Redlock redlock, LockSpec spec, boolean isWatched, LockListener listener) {
            this.redlock = redlock;
            this.key = redlock.key(spec.resource());
            this.options = isWatched ? optionsOf(spec).watchLoss() : optionsOf(spec);
            this.isValidityReported = spec.isValidityReported();
            this.lease = redlock.newLease();
            this.listener = listener;
        }

        @Override
        public void acquire() {
            redlock.acquire(key, options, lease, onOutcome);
        }

        @Override
        public void release() {
            lease.release(onReleased);
        }

        private void onOutcome(AcquireOutcome outcome) {
            // Reads the clock.
            long validityNs = isValidityReported && outcome.isAcquired() ? lease.remainingValidityNs() : 0;
            listener.onAcquire(RedlockVerdicts.of(outcome.kind()), validityNs);
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            listener.onRelease(RedlockVerdicts.of(outcome));
        }
    }

    /**
     * A lease for each acquire, as in the short form.
     *
     * @threading caller-confined between a call and its outcome
     */
    static final class Blocking extends BlockingHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private Lease lease;

        Blocking(CallerThreads threads, Redlock redlock, LockSpec spec, LockListener listener) {
            super(threads, listener);
            this.redlock = redlock;
            this.key = redlock.key(spec.resource());
            this.options = optionsOf(spec);
        }

        @Override
        AcquireVerdict tryAcquire() throws InterruptedException {
            AcquireOutcome outcome = redlock.acquire(key, options);
            if (outcome.isAcquired()) {
                lease = outcome.lease();
                validFor(lease.remainingValidityNs());
            }
            return RedlockVerdicts.of(outcome.kind());
        }

        @Override
        ReleaseVerdict tryRelease() {
            return lease == null ? ReleaseVerdict.EXPIRED : RedlockVerdicts.of(lease.release());
        }
    }

    /**
     * A future and a lease for each acquire.
     *
     * @threading caller-confined between a call and its outcome
     */
    static final class Stage implements LockHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private final LockListener listener;
        private Lease lease;

        Stage(Redlock redlock, LockSpec spec, LockListener listener) {
            this.redlock = redlock;
            this.key = redlock.key(spec.resource());
            this.options = optionsOf(spec);
            this.listener = listener;
        }

        @Override
        public void acquire() {
            redlock.acquireAsync(key, options).thenAccept(this::onOutcome);
        }

        @Override
        public void release() {
            if (lease == null) {
                listener.onRelease(ReleaseVerdict.EXPIRED);
                return;
            }
            lease.releaseAsync().thenAccept(outcome -> listener.onRelease(RedlockVerdicts.of(outcome)));
        }

        private void onOutcome(AcquireOutcome outcome) {
            if (outcome.isAcquired()) {
                lease = outcome.lease();
            }
            listener.onAcquire(RedlockVerdicts.of(outcome.kind()),
                    outcome.isAcquired() ? lease.remainingValidityNs() : 0);
        }
    }
}
