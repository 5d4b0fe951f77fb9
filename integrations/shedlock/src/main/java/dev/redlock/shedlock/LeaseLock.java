package dev.redlock.shedlock;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * A lock of ShedLock: a lease that the client extends until a timer of the JDK releases it.
 *
 * @threading any thread
 */
final class LeaseLock extends AbstractSimpleLock {

    private final RedlockLockProvider provider;
    private final Lease lease;
    private final long endNs;
    private final long keepUntilNs;
    private final CompletableFuture<Void> end;

    /** Keeps a lease beyond its own shortest hold for a time that an extension has given. */
    LeaseLock(RedlockLockProvider provider, LockConfiguration configuration, Lease lease, Duration least) {
        super(configuration);
        long nowNs = System.nanoTime();
        this.provider = provider;
        this.lease = lease;
        this.endNs = nowNs + TimeUnit.NANOSECONDS.convert(configuration.getLockAtMostFor());
        this.keepUntilNs = nowNs + TimeUnit.NANOSECONDS.convert(least);
        this.end = releaseAt(endNs, nowNs);
    }

    /** The task of a cancelled future is removed from the timer. */
    private CompletableFuture<Void> releaseAt(long timeNs, long nowNs) {
        CompletableFuture<Void> timer = new CompletableFuture<>();
        timer.completeOnTimeout(null, timeNs - nowNs, TimeUnit.NANOSECONDS);
        timer.thenRun(lease::releaseAsync);
        return timer;
    }

    @Override
    protected void doUnlock() {
        end.cancel(false);
        long nowNs = System.nanoTime();
        if (keepUntilNs - nowNs > 0) {
            releaseAt(keepUntilNs, nowNs);
        } else {
            lease.release();
        }
    }

    /** If the extension fails, the lock ends when it would have ended without. */
    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration next) {
        if (endNs - System.nanoTime() <= 0) {
            lease.release();
            return Optional.empty();
        }
        if (lease.extend(provider.ttl(next)) == ExtendOutcome.EXTENDED && end.cancel(false)) {
            return Optional.of(new LeaseLock(provider, next, lease, next.getLockAtLeastFor()));
        }
        return Optional.empty();
    }
}
