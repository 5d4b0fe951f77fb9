package dev.redlock.loadtest.driver;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonFencedLock;
import org.redisson.api.RLock;

/**
 * One of Redisson's locks. It releases on every node regardless of the others, like the blocking {@code unlock()} of
 * its RedLock, but on all nodes at once: {@code unlockAsync} fails when one node of the minority did not hold the lock.
 * It waits for every reply: the next acquire has the same owner and may use another connection, where a late release
 * could arrive after it and delete the new lock.
 *
 * @threading caller-confined between a call and its outcome
 */
final class RedissonHandle implements LockHandle {
    /** One attempt: any wait, even of zero, waits for unlock messages. */
    private static final long NO_WAIT_MS = -1;
    /** One attempt of the fenced lock, which waits for ever if this is negative. */
    private static final long NO_FENCED_WAIT_MS = 0;

    private final List<RLock> nodes;
    private final RLock lock;
    private final long threadId;
    private final Duration ttl;
    private final long waitMs;
    private final LockListener listener;

    /** A handle that waits for a message of the holder's release, if the spec has a wait budget. */
    RedissonHandle(List<RLock> nodes, RLock lock, long threadId, LockSpec spec, LockListener listener) {
        this.nodes = nodes;
        this.lock = lock;
        this.threadId = threadId;
        this.ttl = spec.ttl();
        this.waitMs = spec.waitBudget().toMillis();
        this.listener = listener;
    }

    private boolean isWaiting() {
        return waitMs > 0;
    }

    @Override
    public void acquire() {
        long startNs = System.nanoTime();
        if (lock instanceof RedissonFencedLock fenced) {
            fenced.tryLockAndGetTokenAsync(isWaiting() ? waitMs : NO_FENCED_WAIT_MS, ttl.toMillis(),
                    TimeUnit.MILLISECONDS, threadId)
                    .whenComplete((token, failure) -> onOutcome(startNs, token != null, failure));
        } else {
            lock.tryLockAsync(isWaiting() ? waitMs : NO_WAIT_MS, ttl.toMillis(), TimeUnit.MILLISECONDS, threadId)
                    .whenComplete((isAcquired, failure) -> onOutcome(startNs, isAcquired, failure));
        }
    }

    private void onOutcome(long startNs, Boolean isAcquired, Throwable failure) {
        if (failure != null) {
            listener.onAcquire(AcquireVerdict.NO_QUORUM, 0);
        } else if (isAcquired) {
            // The library reports no validity: the ttl less the time spent is an upper bound.
            long validityNs = ttl.toNanos() - (System.nanoTime() - startNs);
            listener.onAcquire(AcquireVerdict.ACQUIRED, Math.max(0, validityNs));
        } else {
            listener.onAcquire(isWaiting() ? AcquireVerdict.TIMED_OUT : AcquireVerdict.CONTENDED, 0);
        }
    }

    @Override
    public void release() {
        Release release = new Release();
        for (RLock node : nodes) {
            node.unlockAsync(threadId).whenComplete((nothing, failure) -> release.onAnswer(failure));
        }
    }

    /**
     * Counts the replies of one release.
     *
     * @threading any thread; counted under its monitor
     */
    private final class Release {
        private final VoteCount votes = new VoteCount(nodes.size());
        private int answered;

        Release() {
            // Fields have their defaults.
        }

        void onAnswer(Throwable failure) {
            if (count(failure)) {
                listener.onRelease(votes.released());
            }
        }

        private synchronized boolean count(Throwable failure) {
            if (failure == null) {
                votes.onReply(1);
            } else if (isNotOurs(failure) || isNotOurs(failure.getCause())) {
                votes.onReply(0);
            } else {
                votes.onFailure();
            }
            answered++;
            return answered == nodes.size();
        }

        private static boolean isNotOurs(Throwable failure) {
            return failure instanceof IllegalMonitorStateException;
        }
    }
}
