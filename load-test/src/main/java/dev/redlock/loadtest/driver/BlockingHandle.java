package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;

/**
 * A handle over blocking calls.
 *
 * @threading caller-confined between a call and its outcome
 */
abstract class BlockingHandle implements LockHandle {
    private final CallerThreads threads;
    private final LockListener listener;
    private final Runnable acquire = this::acquireNow;
    private final Runnable release = this::releaseNow;
    private long validUntilNs;

    BlockingHandle(CallerThreads threads, LockListener listener) {
        this.threads = threads;
        this.listener = listener;
    }

    /** Makes one attempt; sets {@link #validUntilNs} if it acquires the lock. */
    abstract AcquireOutcome.Kind tryAcquire() throws InterruptedException;

    abstract ReleaseOutcome tryRelease();

    /** For libraries that report no validity: the rest of the ttl, counted from before the call. */
    final void validUntil(long startNs, Duration ttl) {
        validUntilNs = startNs + ttl.toNanos();
    }

    final void validFor(long remainingNs) {
        validUntilNs = System.nanoTime() + remainingNs;
    }

    @Override
    public final void acquire() {
        threads.run(acquire);
    }

    @Override
    public final void release() {
        threads.run(release);
    }

    /** Acquires on the calling thread. */
    final void acquireNow() {
        AcquireOutcome.Kind verdict;
        try {
            verdict = tryAcquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            verdict = AcquireOutcome.Kind.CLOSED;
        }
        boolean isAcquired = verdict == AcquireOutcome.Kind.ACQUIRED;
        listener.onAcquire(verdict, isAcquired ? Math.max(0, validUntilNs - System.nanoTime()) : 0);
    }

    /** Releases on the calling thread. */
    final void releaseNow() {
        listener.onRelease(tryRelease());
    }
}
