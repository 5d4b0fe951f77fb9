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

    RedlockSession(Redlock redlock) {
        this.redlock = redlock;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        return new Handle(redlock, resource, ttl, listener);
    }

    @Override
    public void close() {
        redlock.close();
    }

    /**
     * One reused key and lease.
     *
     * @threading caller-confined between a call and its outcome
     */
    private static final class Handle implements LockHandle {
        private final Redlock redlock;
        private final ResourceKey key;
        private final AcquireOptions options;
        private final Lease lease;
        private final LockListener listener;
        // Method references, made once: one for each call would be an allocation for each call.
        private final AcquireCallback onOutcome = this::onOutcome;
        private final ReleaseCallback onReleased = this::onReleased;

        Handle(Redlock redlock, String resource, Duration ttl, LockListener listener) {
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
            listener.onAcquire(verdict(outcome.kind()), outcome.isAcquired() ? lease.remainingValidityNs() : 0);
        }

        private void onReleased(Lease released, ReleaseOutcome outcome) {
            listener.onRelease(switch (outcome) {
                case RELEASED -> ReleaseVerdict.RELEASED;
                case EXPIRED -> ReleaseVerdict.EXPIRED;
                case UNKNOWN -> ReleaseVerdict.UNKNOWN;
            });
        }

        private static AcquireVerdict verdict(AcquireOutcome.Kind kind) {
            return switch (kind) {
                case ACQUIRED -> AcquireVerdict.ACQUIRED;
                case CONTENDED -> AcquireVerdict.CONTENDED;
                case NO_QUORUM -> AcquireVerdict.NO_QUORUM;
                case TOO_SLOW -> AcquireVerdict.TOO_SLOW;
                case TIMED_OUT -> AcquireVerdict.TIMED_OUT;
                case OVERLOADED -> AcquireVerdict.OVERLOADED;
                case CLOSED, CANCELLED -> AcquireVerdict.CLOSED;
            };
        }
    }
}
