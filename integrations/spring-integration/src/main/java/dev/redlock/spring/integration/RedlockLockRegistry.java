package dev.redlock.spring.integration;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockLock;
import dev.redlock.api.ExtendOutcome;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.util.Assert;

/**
 * A lock registry of Spring Integration 6.5 and 7. The interface is raw because it has no type parameter in 6.5.
 *
 * <p>The client extends a lock until it is unlocked, except a lock that was taken with a ttl of its own. An unlock
 * throws {@link java.util.ConcurrentModificationException} if the lock was lost before.
 *
 * @threading any thread
 */
@SuppressWarnings("rawtypes")
public final class RedlockLockRegistry implements RenewableLockRegistry {

    private static final boolean HAS_DISTRIBUTED_LOCK = RenewableLockRegistry.class.getTypeParameters().length > 0;

    private final Redlock redlock;
    private final Duration ttl;

    /** Locks with a ttl of 30 s. The caller closes the client. */
    public RedlockLockRegistry(Redlock redlock) {
        this(redlock, Duration.ofSeconds(30));
    }

    /**
     * Locks with another ttl.
     *
     * @param redlock a client, which the caller closes
     * @param ttl     time after which the lock of a dead process is free, at most the client's {@code maxTtl}
     */
    public RedlockLockRegistry(Redlock redlock, Duration ttl) {
        this.redlock = Objects.requireNonNull(redlock, "redlock is null");
        this.ttl = Objects.requireNonNull(ttl, "ttl is null");
    }

    /** @return a lock of the resource with the name of the key; on version 7 a {@code DistributedLock} */
    @Override
    public Lock obtain(Object lockKey) {
        RedlockLock lock = view(lockKey, AcquireOptions.ofTtl(ttl).autoExtend());
        if (HAS_DISTRIBUTED_LOCK) {
            return new RegistryLock.WithTtl(lock, ownTtl -> view(lockKey, AcquireOptions.ofTtl(ownTtl)));
        }
        return new RegistryLock(lock);
    }

    @Override
    public void renewLock(Object lockKey) {
        renewLock(lockKey, ttl);
    }

    /** @throws IllegalStateException if a quorum does not confirm the ttl */
    @Override
    public void renewLock(Object lockKey, Duration nextTtl) {
        ExtendOutcome outcome = view(lockKey, AcquireOptions.ofTtl(ttl)).lease().extend(nextTtl);
        Assert.state(outcome == ExtendOutcome.EXTENDED, () -> "\"" + lockKey + "\" was not renewed: " + outcome);
    }

    private RedlockLock view(Object lockKey, AcquireOptions options) {
        Assert.isInstanceOf(String.class, lockKey, "the key of a lock is the name of its resource: ");
        return redlock.asLock((String) lockKey, options.watchLoss());
    }
}
