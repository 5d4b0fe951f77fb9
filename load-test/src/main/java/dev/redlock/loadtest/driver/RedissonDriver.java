package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.Set;

/**
 * Redisson's own locks: its RedLock over one client for each node, or its plain lock on the first node.
 *
 * @threading any thread
 */
public final class RedissonDriver implements LockDriver {
    private final boolean isSingle;

    /**
     * A driver of one of its locks.
     *
     * @param isSingle true for {@code RLock} on the first node, false for {@code RedissonRedLock} over all
     */
    public RedissonDriver(boolean isSingle) {
        this.isSingle = isSingle;
    }

    @Override
    public String name() {
        return isSingle ? "redisson-single" : "redisson";
    }

    @Override
    public String version() {
        return LibraryVersion.of("Redisson", "org.redisson", "redisson");
    }

    @Override
    public String summary() {
        return isSingle
                ? "Redisson's RLock on the first node, asynchronous calls"
                : "Redisson's RedLock (its multi-lock with a majority), asynchronous calls";
    }

    @Override
    public boolean isQuorum() {
        return !isSingle;
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return RedissonSession.open(spec, isSingle);
    }
}
