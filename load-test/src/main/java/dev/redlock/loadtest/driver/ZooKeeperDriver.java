package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.loadtest.consensus.PeerLibraries;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;

/**
 * Curator's {@code InterProcessMutex} on ZooKeeper: one session for each client, and blocking calls.
 *
 * @threading any thread
 */
public final class ZooKeeperDriver implements LockDriver {
    /** No options. */
    public ZooKeeperDriver() {
        // Nothing to configure.
    }

    @Override
    public String name() {
        return "zookeeper";
    }

    @Override
    public String version() {
        return PeerLibraries.version("Curator", "curator-recipes");
    }

    @Override
    public String summary() {
        return "Curator's InterProcessMutex on ZooKeeper, one session for each client, blocking calls";
    }

    @Override
    public Optional<ConsensusService> service() {
        return Optional.of(ConsensusService.ZOOKEEPER);
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.WAIT);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        return ZooKeeperSession.open(spec);
    }
}
