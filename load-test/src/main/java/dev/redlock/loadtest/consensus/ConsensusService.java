package dev.redlock.loadtest.consensus;

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
import java.util.stream.IntStream;

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

    /** Its name for the user. */
    public String title() {
        return title;
    }

    /** Why it cannot be used on this machine, and how to get it; empty if it can be used. */
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

    /** @threading caller-confined */
    private static final class ZooKeeperGroup implements ConsensusService.ServerGroup {
        private static final String MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
        /** Enough for the locks of a comparison; the default would be a quarter of the memory for each server. */
        private static final String HEAP = "256m";
        private static final int PROBE_LIMIT_MS = 1_000;

        private final Path folder;
        private final List<Integer> followPorts;
        private final List<Integer> electionPorts;
        private final List<NodeAddress> addresses;

        ZooKeeperGroup(int count, Path folder) {
            Ports ports = new Ports();
            this.folder = folder;
            this.followPorts = IntStream.range(0, count).mapToObj(i -> ports.next()).toList();
            this.electionPorts = IntStream.range(0, count).mapToObj(i -> ports.next()).toList();
            this.addresses = IntStream.range(0, count).mapToObj(i -> ports.nextAddress()).toList();
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
                    "dataDir=" + data, "clientPortAddress=" + Ports.HOST, "clientPort=" + addresses.get(index).port(),
                    "maxClientCnxns=0", "maxSessionTimeout=60000", "4lw.commands.whitelist=srvr",
                    "admin.enableServer=false"));
            for (int i = 0; i < addresses.size() && addresses.size() > 1; i++) {
                lines.add(
                        "server." + (i + 1) + "=" + Ports.HOST + ":" + followPorts.get(i) + ":" + electionPorts.get(i));
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
            return isServing(addresses.get(index));
        }

        private static boolean isServing(NodeAddress address) {
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
