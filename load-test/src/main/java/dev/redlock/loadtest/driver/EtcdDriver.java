package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.consensus.ConsensusService;
import dev.redlock.loadtest.consensus.PeerLibraries;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;

/**
 * The lock service of etcd over jetcd: one lease for each client, kept alive, and blocking calls.
 *
 * @threading any thread
 */
public final class EtcdDriver implements LockDriver {
    /** No options. */
    public EtcdDriver() {
        // Nothing to configure.
    }

    @Override
    public String name() {
        return "etcd";
    }

    @Override
    public String version() {
        return PeerLibraries.version("jetcd", "jetcd-core");
    }

    @Override
    public String summary() {
        return "etcd's lock service over jetcd, one lease for each client, blocking calls";
    }

    @Override
    public Optional<ConsensusService> service() {
        return Optional.of(ConsensusService.ETCD);
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.WAIT);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        return EtcdSession.open(spec);
    }
}
