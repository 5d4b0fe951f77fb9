package dev.redlock.trial.nodes;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.SentinelQuestion;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import dev.redlock.transport.VoterAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Options for {@link RedisNodes}. The defaults suit a test: three fresh nodes from the first source that works, without
 * persistence.
 *
 * @threading caller-confined until {@link RedisNodes#start(RedisNodesContext)} takes it
 */
public final class RedisNodesContext {
    /** The most nodes that one lock may span. */
    public static final int COUNT_MAX = 63;

    final List<GivenAddress> addresses = new ArrayList<>();
    final List<String> configLines = new ArrayList<>();
    CorePin pin = CorePin.NONE;
    Path clockLibrary;
    private List<NodePlace> places = List.of();
    int count;
    private Source source;
    boolean appendOnly;
    boolean unixSocket;
    boolean tls;
    /** Files to share with other nodes; null for files of their own. */
    NodeTls issued;
    ClientTls clientTls = ClientTls.DEFAULTS;
    Duration readyTimeout = Duration.ofSeconds(20);
    /** The only folder with servers; null for those of PATH and all other sources. */
    String serverFolder = System.getProperty(ServerFiles.FOLDER_PROPERTY);
    final String image = System.getProperty(ContainerProcess.IMAGE_PROPERTY, ContainerProcess.IMAGE_DEFAULT);

    /** The number of nodes: 1 to 63, default 3, or as many as addresses are given. */
    public RedisNodesContext count(int nodes) {
        if (nodes < 1 || nodes > COUNT_MAX) {
            throw new IllegalArgumentException("count is " + nodes + ": expected 1 to " + COUNT_MAX + " nodes");
        }
        count = nodes;
        return this;
    }

    /**
     * Forces one source; no other is tried. Default: the first that works, in the order of {@link Source}; with
     * {@code -Dtrial.nodes.folder=FOLDER}, the server in this folder alone.
     */
    public RedisNodesContext source(Source only) {
        source = only;
        return this;
    }

    /**
     * Servers that already run, each as {@code host:port}, as another form of {@link NodeAddress}, or as the primary
     * that {@code redis-sentinel://} names. They cannot be changed.
     */
    public RedisNodesContext addresses(List<String> given) {
        given.forEach(text -> addresses.add(new GivenAddress(text.trim(), SentinelQuestion.parse(text.trim()))));
        return this;
    }

    /** The files for servers that already run and have TLS. Default: the certificates that the JDK trusts. */
    public RedisNodesContext clientTls(ClientTls files) {
        clientTls = files;
        return this;
    }

    /** Append-only file, written through at each command: a restart can keep the data. Default off. */
    public RedisNodesContext appendOnly(boolean on) {
        appendOnly = on;
        return this;
    }

    /** Listen on a Unix socket too. Default off; containers refuse it. */
    public RedisNodesContext unixSocket(boolean on) {
        unixSocket = on;
        return this;
    }

    /** Listen with TLS on a second port, which requires a client certificate. Default off; containers refuse it. */
    public RedisNodesContext tls(boolean on) {
        tls = on;
        return this;
    }

    /** The library behind {@link RedisNode#setClock}, for processes here. Default: the machine's clock. */
    public RedisNodesContext clockLibrary(Path libfaketime) {
        clockLibrary = libfaketime;
        return this;
    }

    /** Places by index, for processes here. Default: loopback. */
    public RedisNodesContext places(List<NodePlace> where) {
        places = List.copyOf(where);
        return this;
    }

    /** The processor cores of the nodes, for processes here. Default: the kernel chooses. */
    public RedisNodesContext pin(CorePin cores) {
        pin = cores;
        return this;
    }

    /** A line to add to the configuration file of every node, such as {@code requirepass secret}. */
    public RedisNodesContext config(String line) {
        configLines.add(line);
        return this;
    }

    /** The longest time from the start of a node to its first PONG. Default 20 s. */
    public RedisNodesContext readyTimeout(Duration timeout) {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("readyTimeout is " + timeout + ": expected more than zero");
        }
        readyTimeout = timeout;
        return this;
    }

    /**
     * The address of a server that already runs.
     *
     * @param text with its password, as it was given
     * @threading immutable
     */
    record GivenAddress(String text, VoterAddress voter) {
        /** Whether Sentinels name the server. */
        boolean isOfSentinels() {
            return voter instanceof SentinelAddress;
        }

        /** Leaves the password out. */
        @Override
        public String toString() {
            return voter.toString();
        }
    }

    void conclude() {
        Set<VoterAddress> seen = new HashSet<>();
        for (GivenAddress address : addresses) {
            if (!seen.add(address.voter())) {
                throw new IllegalArgumentException("node address " + address + " is given twice");
            }
        }
        if (count == 0) {
            count = addresses.isEmpty() ? 3 : addresses.size();
        }
        if (!addresses.isEmpty() && addresses.size() < count) {
            throw new IllegalArgumentException(
                    "count is " + count + " but only " + addresses.size() + " addresses are given");
        }
    }

    Optional<Source> source() {
        return Optional.ofNullable(source == null && serverFolder != null ? Source.PATH : source);
    }

    NodePlace place(int index) {
        return places.isEmpty() ? NodePlace.LOOPBACK : places.get(index);
    }

    /** Where the nodes listen, loopback aside. */
    Set<String> hosts() {
        Set<String> hosts = places.stream().map(NodePlace::host).collect(Collectors.toCollection(TreeSet::new));
        hosts.remove(NodePlace.LOOPBACK.host());
        return hosts;
    }

    String serverPassword() {
        return configLines.stream()
                .filter(line -> line.startsWith("requirepass "))
                .map(line -> line.substring("requirepass ".length()).trim())
                .findFirst()
                .orElse(null);
    }
}
