package dev.redlock.loadtest.consensus;

import dev.redlock.loadtest.nodes.FreePorts;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/**
 * A consensus service whose servers can be started here.
 *
 * @threading immutable
 */
public enum ConsensusService {
    /** The {@code etcd} of {@code PATH}. */
    ETCD("etcd", EtcdGroup::version, EtcdGroup::new) {
        @Override
        public Optional<String> missing() {
            return PeerLibraries.missing("io.etcd.jetcd.Client", "jetcd-core").or(EtcdGroup::missing);
        }
    },
    /** ZooKeeper's servers from its Maven artifact. */
    ZOOKEEPER("ZooKeeper", () -> PeerLibraries.version("ZooKeeper", "zookeeper"), ZooKeeperGroup::new) {
        @Override
        public Optional<String> missing() {
            return PeerLibraries.missing("org.apache.curator.framework.recipes.locks.InterProcessMutex",
                    "curator-recipes")
                    .or(() -> PeerLibraries.missing(ZooKeeperGroup.MAIN_CLASS, "zookeeper"));
        }
    };

    /** Larger groups are not in use. */
    public static final int COUNT_MAX = 9;

    static final String HOST = "127.0.0.1";

    private final String title;
    private final Supplier<String> version;
    private final BiFunction<Integer, Path, ServerGroup> groups;

    ConsensusService(String title, Supplier<String> version, BiFunction<Integer, Path, ServerGroup> groups) {
        this.title = title;
        this.version = version;
        this.groups = groups;
    }

    static List<NodeAddress> addresses(List<Integer> ports) {
        return ports.stream().map(port -> NodeAddress.parse(HOST + ":" + port)).toList();
    }

    public String title() {
        return title;
    }

    /** Why it cannot be used on this machine, and how to get it; empty if it can be used. */
    public abstract Optional<String> missing();

    String version() {
        return version.get();
    }

    /** Servers that have not started yet, with their files in this folder. */
    ServerGroup group(int count, Path folder) {
        return groups.apply(count, folder);
    }

    /**
     * The command lines of the servers of one group, and their readiness.
     *
     * @threading caller-confined
     */
    interface ServerGroup {
        /** The command line of a server; writes its configuration. */
        List<String> command(int index) throws IOException;

        List<NodeAddress> addresses();

        /** Whether a server takes part in a quorum and answers. */
        boolean isServing(int index);
    }

    /** @threading caller-confined */
    private static final class ZooKeeperGroup implements ServerGroup {
        static final String MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
        /** Enough for the locks of a comparison; the default would be a quarter of the memory for each server. */
        private static final String HEAP = "256m";
        private static final int PROBE_LIMIT_MS = 1_000;

        private final Path folder;
        private final List<Integer> followPorts;
        private final List<Integer> electionPorts;
        private final List<NodeAddress> addresses;

        ZooKeeperGroup(int count, Path folder) {
            List<Integer> ports = FreePorts.distinct(3 * count);
            this.folder = folder;
            this.followPorts = ports.subList(0, count);
            this.electionPorts = ports.subList(count, 2 * count);
            this.addresses = ConsensusService.addresses(ports.subList(2 * count, 3 * count));
        }

        @Override
        public List<String> command(int index) throws IOException {
            Path data = Files.createDirectories(folder.resolve("zookeeper" + index));
            Files.writeString(data.resolve("myid"), index + 1 + "\n");
            Path config = Files.write(folder.resolve("zookeeper" + index + ".cfg"), config(index, data));
            return List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xms" + HEAP,
                    "-Xmx" + HEAP,
                    "-Dslf4j.provider=org.slf4j.simple.SimpleServiceProvider",
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", PeerLibraries.classPath(), MAIN_CLASS,
                    config.toString());
        }

        private List<String> config(int index, Path data) {
            List<String> lines = new ArrayList<>(List.of("tickTime=2000", "initLimit=10", "syncLimit=5",
                    "dataDir=" + data, "clientPortAddress=" + HOST, "clientPort=" + addresses.get(index).port(),
                    "maxClientCnxns=0", "maxSessionTimeout=60000", "4lw.commands.whitelist=srvr",
                    "admin.enableServer=false"));
            for (int i = 0; i < addresses.size() && addresses.size() > 1; i++) {
                lines.add(
                        "server." + (i + 1) + "=" + HOST + ":" + followPorts.get(i) + ":" + electionPorts.get(i));
            }
            return lines;
        }

        @Override
        public List<NodeAddress> addresses() {
            return addresses;
        }

        /** Its reply to {@code srvr} has a line with its mode only if it leads or follows. */
        @Override
        public boolean isServing(int index) {
            NodeAddress address = addresses.get(index);
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(address.host(), address.port()), PROBE_LIMIT_MS);
                socket.setSoTimeout(PROBE_LIMIT_MS);
                socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
                socket.getOutputStream().flush();
                return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).contains("Mode: ");
            } catch (IOException e) {
                return false;
            }
        }
    }
}
