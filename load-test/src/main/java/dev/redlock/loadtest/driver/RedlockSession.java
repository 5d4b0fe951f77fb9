package dev.redlock.loadtest.driver;

import dev.redlock.AcquireCallback;
import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.Lease;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockCounters;
import dev.redlock.ReleaseCallback;
import dev.redlock.ReleaseOutcome;
import dev.redlock.ResourceKey;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

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
        return handle(LockSpec.of(resource, ttl), listener);
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(redlock, spec, listener);
    }

    @Override
    public Map<String, Long> counters() {
        Map<String, Long> counters = new LinkedHashMap<>();
        RedlockCounters own = redlock.counters();
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            counters.put("outcome." + kind, own.outcomeCount(kind));
        }
        counters.put("attempt.contended", own.contendedAttemptCount());
        counters.put("attempt.noQuorum", own.noQuorumAttemptCount());
        counters.put("attempt.tooSlow", own.tooSlowAttemptCount());
        counters.put("rolledBack", own.rolledBackCount());
        for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
            counters.put("release." + outcome, own.releaseCount(outcome));
        }
        counters.put("extended", own.extendedCount());
        counters.put("raised", own.raisedCount());
        counters.put("lost", own.lostCount());
        counters.put("expired", own.expiredCount());
        counters.put("nodes.granted", sum(NodeStatus::grantedCount));
        counters.put("nodes.refused", sum(NodeStatus::refusedCount));
        counters.put("nodes.errors", sum(NodeStatus::errorCount));
        counters.put("nodes.disconnects", sum(NodeStatus::disconnectCount));
        counters.put("nodes.clockJumps", sum(NodeStatus::clockJumpCount));
        counters.put("nodes.debt", sum(NodeStatus::debtLength));
        counters.put("nodes.debtPaid", sum(NodeStatus::debtPaidCount));
        counters.put("nodes.debtDropped", sum(NodeStatus::debtDroppedCount));
        return counters;
    }

    private long sum(ToLongFunction<NodeStatus> counter) {
        return redlock.nodes().stream().mapToLong(counter).sum();
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

        Handle(Redlock redlock, LockSpec spec, LockListener listener) {
            this.redlock = redlock;
            this.key = redlock.key(spec.resource());
            AcquireOptions plain = AcquireOptions.ofTtl(spec.ttl()).waitUpTo(spec.waitBudget());
            this.options = spec.isFenced() ? plain.fenced() : plain;
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
