package dev.redlock.shedlock;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
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
    private final CompletableFuture<Void> end;

    LeaseLock(RedlockLockProvider provider, LockConfiguration configuration, Lease lease) {
        super(configuration);
        long mostNs = TimeUnit.NANOSECONDS.convert(configuration.getLockAtMostFor());
        this.provider = provider;
        this.lease = lease;
        this.endNs = System.nanoTime() + mostNs;
        // The task of a cancelled future is removed from the timer.
        this.end = new CompletableFuture<Void>().completeOnTimeout(null, mostNs, TimeUnit.NANOSECONDS);
        end.thenRun(lease::releaseAsync);
    }

    @Override
    protected void doUnlock() {
        end.cancel(false);
        lease.release();
    }

    /** If the extension fails, the lock ends when it would have ended without. */
    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration next) {
        if (endNs - System.nanoTime() <= 0) {
            lease.release();
            return Optional.empty();
        }
        if (lease.extend(provider.ttl(next)) == ExtendOutcome.EXTENDED && end.cancel(false)) {
            lease.holdAtLeast(next.getLockAtLeastFor());
            return Optional.of(new LeaseLock(provider, next, lease));
        }
        return Optional.empty();
    }
}
