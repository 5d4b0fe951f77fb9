package dev.redlock.loadtest.consensus;

import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A consensus service whose servers can be started here.
 *
 * @threading immutable
 */
public enum ConsensusService {
    /** The {@code etcd} of {@code PATH}. */
    ETCD("etcd") {
        @Override
        public Optional<String> missing() {
            return PeerLibraries.missing("io.etcd.jetcd.Client", "jetcd-core").or(EtcdGroup::missing);
        }

        @Override
        String version() {
            return EtcdGroup.version();
        }

        @Override
        ServerGroup group(int count, Path folder) {
            return new EtcdGroup(count, folder);
        }
    },
    /** ZooKeeper's servers from its Maven artifact. */
    ZOOKEEPER("ZooKeeper") {
        @Override
        public Optional<String> missing() {
            return PeerLibraries.missing("org.apache.curator.framework.recipes.locks.InterProcessMutex",
                    "curator-recipes")
                    .or(() -> PeerLibraries.missing("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper"));
        }

        @Override
        String version() {
            return PeerLibraries.version("ZooKeeper", "zookeeper");
        }

        @Override
        ServerGroup group(int count, Path folder) {
            return new ZooKeeperGroup(count, folder);
        }
    };

    /** Larger groups are not in use. */
    public static final int COUNT_MAX = 9;

    private final String title;

    ConsensusService(String title) {
        this.title = title;
    }

    /**
     * Its name for the user.
     *
     * @return as its makers write it
     */
    public String title() {
        return title;
    }

    /**
     * Why it cannot be used on this machine, and how to get it.
     *
     * @return a sentence; empty if it can be used
     */
    public abstract Optional<String> missing();

    /** Product and version. */
    abstract String version();

    /** Servers that have not started yet, with their files in this folder. */
    abstract ServerGroup group(int count, Path folder);

    /**
     * The command lines of the servers of one group, and their readiness.
     *
     * @threading caller-confined
     */
    interface ServerGroup {
        /** The command line of a server; writes its configuration. */
        List<String> command(int index) throws IOException;

        /** The addresses for clients, by index. */
        List<NodeAddress> addresses();

        /** Whether a server takes part in a quorum and answers. */
        boolean isServing(int index);
    }
}
