package dev.redlock.loadtest.driver;

import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.util.List;

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
    public LockSession open(List<NodeAddress> nodes, boolean isFresh) throws IOException {
        return JedisSession.open(nodes);
    }
}
