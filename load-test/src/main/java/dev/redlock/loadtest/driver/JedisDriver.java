package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.util.Set;

/**
 * A hand-written quorum lock over Jedis: pooled connections, a thread for each cycle in flight, one node after the
 * other. Jedis itself has no lock.
 *
 * @threading any thread
 */
public final class JedisDriver implements LockDriver {
    /** No options. */
    public JedisDriver() {
        // Nothing to configure.
    }

    @Override
    public String name() {
        return "jedis";
    }

    @Override
    public String version() {
        return LibraryVersion.of("Jedis", "redis.clients", "jedis");
    }

    @Override
    public String summary() {
        return "a sequential quorum lock written by hand over Jedis, pooled connections";
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return JedisSession.open(spec);
    }
}
