package dev.redlock.loadtest.driver;

import dev.redlock.AcquireOptions;
import dev.redlock.AcquireOutcome;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockCounters;
import dev.redlock.ReleaseOutcome;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * One client of {@code redlock-core}.
 *
 * @threading any thread
 */
final class RedlockSession implements LockSession {
    private final Redlock redlock;
    private final ApiForm form;
    private final CallerThreads threads = new CallerThreads("lock");

    RedlockSession(Redlock redlock, ApiForm form) {
        this.redlock = redlock;
        this.form = form;
    }

    @Override
    public LockHandle handle(String resource, Duration ttl, LockListener listener) {
        return handle(LockSpec.of(resource, ttl), listener);
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return switch (form) {
            case CALLBACK -> new RedlockHandles.Callback(redlock, spec, false, listener);
            case WATCHED -> new RedlockHandles.Callback(redlock, spec, true, listener);
            case BLOCKING -> new RedlockHandles.Blocking(threads, redlock, spec, listener);
            case STAGE -> new RedlockHandles.Stage(redlock, spec, listener);
        };
    }

    @Override
    public HeldLeases hold(String keyPrefix, Duration ttl, boolean isFenced, int count, long countedMs) {
        AcquireOptions plain = AcquireOptions.ofTtl(ttl).tryOnce();
        return new HeldLeases(redlock, isFenced ? plain.fenced() : plain, keyPrefix, count, countedMs);
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
        counters.put("nodes.debt", sum(NodeStatus::undeliveredReleaseCount));
        counters.put("nodes.debtPaid", sum(NodeStatus::undeliveredReleaseDeliveredCount));
        counters.put("nodes.debtDropped", sum(NodeStatus::undeliveredReleaseDroppedCount));
        return counters;
    }

    private long sum(ToLongFunction<NodeStatus> counter) {
        return redlock.nodes().stream().mapToLong(counter).sum();
    }

    @Override
    public void close() {
        threads.close();
        redlock.close();
    }
}
