package dev.redlock.shedlock;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Provides the locks of ShedLock from a client of redlock.
 *
 * <p>The client extends each lock automatically, so {@code lockAtMostFor} may be longer than the ttl of the keys on the
 * nodes. If the process dies, its locks are free after that ttl, also before {@code lockAtLeastFor} has passed.
 *
 * @threading any thread
 */
public final class RedlockLockProvider implements ExtensibleLockProvider {

    private static final System.Logger LOG = System.getLogger("dev.redlock");
    /** Validity needs some milliseconds; a shorter lock is released when its time has passed. */
    private static final Duration TTL_MIN = Duration.ofMillis(100);

    private final Redlock redlock;
    private final Duration ttl;

    /** Locks with a ttl of 30 s, or of {@code lockAtMostFor} if that is shorter. The caller closes the client. */
    public RedlockLockProvider(Redlock redlock) {
        this(redlock, Duration.ofSeconds(30));
    }

    /**
     * Locks with another ttl.
     *
     * @param redlock a client, which the caller closes
     * @param ttl     time after which the lock of a dead process is free; {@code lockAtMostFor} if that is shorter. At
     *                most the client's {@code maxTtl}
     */
    public RedlockLockProvider(Redlock redlock, Duration ttl) {
        this.redlock = Objects.requireNonNull(redlock, "redlock is null");
        this.ttl = Objects.requireNonNull(ttl, "ttl is null");
    }

    /**
     * The lock, or empty, so that ShedLock skips the run. If no other holder has the lock, but for example too few
     * nodes vote, a WARNING says so.
     *
     * @return the lock; empty if another holder has it, if it cannot be acquired now, or if the thread is interrupted
     * @throws IllegalArgumentException if the ttl is above the client's {@code maxTtl}, or the name is too long
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        AcquireOptions options = AcquireOptions.ofTtl(ttl(configuration))
                .autoExtend()
                .holdAtLeast(configuration.getLockAtLeastFor());
        AcquireOutcome outcome;
        try {
            outcome = redlock.tryAcquire(configuration.getName(), options);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
        if (outcome.isAcquired()) {
            return Optional.of(new LeaseLock(this, configuration, outcome.lease()));
        }
        if (outcome.kind() != AcquireOutcome.Kind.CONTENDED) {
            // An exception would be an ERROR with a stack trace for each run: the scheduler logs it.
            LOG.log(System.Logger.Level.WARNING, "{0}", "\"" + configuration.getName()
                    + "\" is not locked, and ShedLock skips this run: " + outcome.advice() + "; " + outcome);
        }
        return Optional.empty();
    }

    Duration ttl(LockConfiguration configuration) {
        Duration most = configuration.getLockAtMostFor();
        Duration shorter = most.compareTo(ttl) < 0 ? most : ttl;
        return shorter.compareTo(TTL_MIN) < 0 ? TTL_MIN : shorter;
    }
}
