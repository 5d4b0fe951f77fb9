package dev.redlock.loadtest.consensus;

import dev.redlock.loadtest.result.LibraryVersion;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.FreePorts;
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
    ETCD("etcd", "EtcdSession$Opening", EtcdGroup::missing, EtcdGroup::version, EtcdGroup::new),
    /** ZooKeeper's servers from its Maven artifact. */
    ZOOKEEPER("ZooKeeper", "ZooKeeperSession$Opening", Optional::empty,
            () -> LibraryVersion.of("ZooKeeper", "org.apache.zookeeper", "zookeeper"), ZooKeeperGroup::new);

    /** Larger groups are not in use. */
    public static final int COUNT_MAX = 9;

    static final String HOST = "127.0.0.1";

    private static final String DRIVERS = "dev.redlock.loadtest.driver.";

    private final String title;
    private final String driver;
    private final Supplier<Optional<String>> missingServer;
    private final Supplier<String> version;
    private final BiFunction<Integer, Path, ServerGroup> groups;

    ConsensusService(String title, String driver, Supplier<Optional<String>> missingServer, Supplier<String> version,
            BiFunction<Integer, Path, ServerGroup> groups) {
        this.title = title;
        this.driver = DRIVERS + driver;
        this.missingServer = missingServer;
        this.version = version;
        this.groups = groups;
    }

    public String title() {
        return title;
    }

    /** Why it cannot be used on this machine, and how to get it; empty if it can be used. */
    public Optional<String> missing() {
        return missing(driver).or(missingServer);
    }

    static Optional<String> missing(String driver) {
        try {
            Class.forName(driver);
            return Optional.empty();
        } catch (ClassNotFoundException e) {
            return Optional.of("this program was built without it: build it with mvn -Pconsensus -pl load-test -am "
                    + "-DskipTests package");
        }
    }

    /** The class of its driver, which only a program built with the Maven profile "consensus" has. */
    public Class<?> driver() throws ClassNotFoundException {
        return Class.forName(driver);
    }

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
    abstract static class ServerGroup {
        final Path folder;
        final List<NodeAddress> addresses;
        private final List<Integer> ownPorts;

        /** Each server has a port for clients, and further ones for the group. */
        ServerGroup(int count, Path folder, int ownPortsEach) {
            List<Integer> ports = FreePorts.distinct(count * (1 + ownPortsEach));
            this.folder = folder;
            this.addresses = ports.subList(0, count)
                    .stream()
                    .map(port -> NodeAddress.parse(HOST + ":" + port))
                    .toList();
            this.ownPorts = ports.subList(count, ports.size());
        }

        /** One of the ports of a server for the group, counted from 0. */
        final int ownPort(int index, int which) {
            return ownPorts.get(which * addresses.size() + index);
        }

        /** The command line of a server; writes its configuration. */
        abstract List<String> command(int index) throws IOException;

        /** Whether a server takes part in a quorum and answers. */
        abstract boolean isServing(int index);
    }

    /** @threading caller-confined */
    private static final class ZooKeeperGroup extends ServerGroup {
        static final String MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
        /** Enough for the locks of a comparison; the default would be a quarter of the memory for each server. */
        private static final String HEAP = "256m";
        private static final int PROBE_LIMIT_MS = 1_000;

        ZooKeeperGroup(int count, Path folder) {
            super(count, folder, 2);
        }

        @Override
        List<String> command(int index) throws IOException {
            Path data = Files.createDirectories(folder.resolve("zookeeper" + index));
            Files.writeString(data.resolve("myid"), index + 1 + "\n");
            Path config = Files.write(folder.resolve("zookeeper" + index + ".cfg"), config(index, data));
            return List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xms" + HEAP,
                    "-Xmx" + HEAP,
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", System.getProperty("java.class.path"),
                    MAIN_CLASS,
                    config.toString());
        }

        private List<String> config(int index, Path data) {
            List<String> lines = new ArrayList<>(List.of("tickTime=2000", "initLimit=10", "syncLimit=5",
                    "dataDir=" + data, "clientPortAddress=" + HOST, "clientPort=" + addresses.get(index).port(),
                    "maxClientCnxns=0", "maxSessionTimeout=60000", "4lw.commands.whitelist=srvr",
                    "admin.enableServer=false"));
            for (int i = 0; i < addresses.size() && addresses.size() > 1; i++) {
                lines.add("server." + (i + 1) + "=" + HOST + ":" + ownPort(i, 0) + ":" + ownPort(i, 1));
            }
            return lines;
        }

        /** Its reply to {@code srvr} has a line with its mode only if it leads or follows. */
        @Override
        boolean isServing(int index) {
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
