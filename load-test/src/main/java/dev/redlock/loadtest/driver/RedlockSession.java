package dev.redlock.loadtest.driver;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import java.time.Duration;

/**
 * One client of ours.
 *
 * @threading any thread
 */
final class RedlockSession implements LockSession {
    private final Redlock redlock;
    private final ApiForm form;
    private final CallerThreads threads = new CallerThreads("redlock");

    RedlockSession(Redlock redlock, ApiForm form) {
        this.redlock = redlock;
        this.form = form;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        return switch (form) {
            case CALLBACK -> new CallbackHandle(redlock, resource, ttl, listener);
            case BLOCKING -> new WaitingHandle(threads, redlock, resource, ttl, listener);
            case STAGE -> new StageHandle(redlock, resource, ttl, listener);
        };
    }

    @Override
    public void close() {
        threads.close();
        redlock.close();
    }

    /**
     * One reused key and lease.
     *
     * @threading caller-confined between a call and its outcome
     */
    private static final class CallbackHandle implements LockHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private final Lease lease;
        private final LockListener listener;
        // Method references, made once: one for each call would be an allocation for each call.
        private final AcquireCallback onOutcome = this::onOutcome;
        private final ReleaseCallback onReleased = this::onReleased;

        CallbackHandle(Redlock redlock, String resource, Duration ttl, LockListener listener) {
            this.redlock = redlock;
            this.key = redlock.key(resource);
            this.options = AcquireOptions.ofTtl(ttl);
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
            listener.onAcquire(RedlockVerdicts.of(outcome.kind()),
                    outcome.isAcquired() ? lease.remainingValidityNs() : 0);
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            listener.onRelease(RedlockVerdicts.of(outcome));
        }
    }

    /**
     * A lease for each acquire, as a caller of the short form has it.
     *
     * @threading caller-confined between a call and its outcome
     */
    private static final class WaitingHandle extends BlockingHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private Lease lease;

        WaitingHandle(CallerThreads threads, Redlock redlock, String resource, Duration ttl, LockListener listener) {
            super(threads, listener);
            this.redlock = redlock;
            this.key = redlock.key(resource);
            this.options = AcquireOptions.ofTtl(ttl);
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
    private static final class StageHandle implements LockHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private final LockListener listener;
        private Lease lease;

        StageHandle(Redlock redlock, String resource, Duration ttl, LockListener listener) {
            this.redlock = redlock;
            this.key = redlock.key(resource);
            this.options = AcquireOptions.ofTtl(ttl);
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
