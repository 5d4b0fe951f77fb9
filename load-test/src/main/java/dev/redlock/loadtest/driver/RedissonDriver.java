package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;

/**
 * Redisson's own locks: its RedLock over one client for each node, or one of its locks on the first node.
 *
 * @threading any thread
 */
public final class RedissonDriver implements LockDriver {
    private final Kind kind;

    /**
     * Which of its locks.
     *
     * @threading immutable
     */
    public enum Kind {
        /** {@code RedissonRedLock} over all nodes. */
        RED_LOCK("redisson", "Redisson's RedLock (its multi-lock with a majority), asynchronous calls"),
        /** {@code RLock} on the first node. */
        SINGLE("redisson-single", "Redisson's RLock on the first node, asynchronous calls"),
        /** {@code RFencedLock} on the first node. */
        FENCED("redisson-fenced", "Redisson's RFencedLock on the first node, with a fencing token, asynchronous calls");

        private final String driverName;
        private final String summary;

        Kind(String driverName, String summary) {
            this.driverName = driverName;
            this.summary = summary;
        }
    }

    /**
     * A driver of one of its locks.
     *
     * @param kind which lock
     */
    public RedissonDriver(Kind kind) {
        this.kind = kind;
    }

    @Override
    public String name() {
        return kind.driverName;
    }

    @Override
    public String version() {
        return LibraryVersion.of("Redisson", "org.redisson", "redisson");
    }

    @Override
    public String summary() {
        return kind.summary;
    }

    @Override
    public boolean isQuorum() {
        return kind == Kind.RED_LOCK;
    }

    @Override
    public Set<DriverOption> options() {
        return kind == Kind.FENCED
                ? EnumSet.of(DriverOption.TLS, DriverOption.WAIT, DriverOption.FENCED)
                : EnumSet.of(DriverOption.TLS, DriverOption.WAIT);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return RedissonSession.open(spec, kind);
    }
}
