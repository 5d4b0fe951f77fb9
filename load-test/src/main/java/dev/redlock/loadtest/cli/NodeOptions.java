package dev.redlock.loadtest.cli;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.Options;
import dev.redlock.cli.SentinelQuestion;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.VoterAddress;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** @threading caller-confined */
public final class NodeOptions {
    private static final int SHARDS_MAX = 20;
    /** The default of the servers. */
    private static final int CLUSTER_NODE_TIMEOUT_MS = 15_000;

    @Option(names = "--nodes", split = ",", paramLabel = "N",
            description = "Node counts to measure, 1 to 63 (default: ${DEFAULT-VALUE}; with --addresses, as many of "
                    + "these as there are addresses for).")
    private List<Integer> nodes;

    @Mixin
    private ServerOptions servers;

    @Option(names = "--fresh",
            description = "The given servers have just started and no other client uses them: they vote at once, "
                    + "without the minute of the restart guard.")
    private boolean fresh;

    @Option(names = "--source", paramLabel = "SOURCE",
            description = "Start nodes from one source only: path, embedded or container (default: the first that "
                    + "works).")
    private Source source;

    @Mixin
    private PinOption pin;

    @Option(names = "--unix-sockets", description = "Connect to the started nodes over Unix sockets instead of TCP.")
    private boolean unixSockets;

    @Option(names = "--tls",
            description = "Start nodes with TLS that require a client certificate, and connect with it. The driver "
                    + "redlock@plain connects without, redlock@tls-jdk and redlock@tls-openssl choose the "
                    + "implementation.")
    private boolean tls;

    @Option(names = "--cluster-shards", paramLabel = "N",
            description = "Start each node as a cluster of this many masters, 1 to 20 (default: single masters).")
    public int clusterShards;

    @Option(names = "--delay", split = ",", paramLabel = "[NODE=]TIME",
            description = "Time that a proxy on this machine adds to every request and again to its reply: "
                    + "2ms for all nodes, 0=10ms for the first one. Whole milliseconds.")
    private List<String> delays = List.of();

    private boolean isCountGiven;

    /** Throws picocli's error, which ends in exit code 2, for anything out of range. */
    public void check(CommandLine line) {
        isCountGiven = line.getParseResult().hasMatchedOption("--nodes");
        Options.require(line,
                !nodes.isEmpty() && nodes.stream().allMatch(n -> n >= 1 && n <= RedisNodesContext.COUNT_MAX),
                "--nodes is " + nodes + ": expected counts of 1 to " + RedisNodesContext.COUNT_MAX);
        Options.requireDistinct(line, "--nodes", nodes);
        Options.require(line, source != Source.GIVEN, "--source given: name the servers with --addresses instead");
        Options.require(line, source == null || servers.isEmpty(), "--source and --addresses exclude each other");
        servers.check(line);
        Options.require(line, servers.isEmpty() || countMax() <= servers.addresses().size(),
                "--nodes asks for " + countMax() + " nodes and --addresses names " + servers.addresses().size());
        pin.check(line);
        Options.require(line, servers.isEmpty() || !PinOption.isGiven(line),
                "--pin is for nodes that load-test starts: servers named with --addresses run where they are");
        Options.require(line, !fresh || !servers.isEmpty(),
                "--fresh is for servers named with --addresses: nodes that load-test starts are always fresh");
        Options.require(line, !unixSockets || servers.isEmpty(),
                "--unix-sockets is for nodes that load-test starts: with --addresses, write unix:///path");
        Options.require(line, !unixSockets || source != Source.CONTAINER,
                "--unix-sockets: nodes in containers have none; choose --source path or embedded");
        checkTls(line);
        checkClusters(line);
        checkDelays(line);
    }

    private void checkTls(CommandLine line) {
        Options.require(line, !tls || servers.isEmpty(), "--tls is for nodes that load-test starts: with --addresses, "
                + "write rediss://host:port and name the certificates by --tls-ca, --tls-cert and --tls-key");
        Options.require(line, !tls || !unixSockets, "--tls and --unix-sockets exclude each other");
        Options.require(line, !tls || source != Source.CONTAINER,
                "--tls: nodes in containers have none; choose --source path");
    }

    private void checkClusters(CommandLine line) {
        if (!line.getParseResult().hasMatchedOption("--cluster-shards")) {
            return;
        }
        Options.requireRange(line, "--cluster-shards", clusterShards, 1, SHARDS_MAX);
        Options.require(line, clusterShards * countMax() <= RedisNodesContext.COUNT_MAX, "--cluster-shards "
                + clusterShards + " with " + countMax() + " nodes: at most " + RedisNodesContext.COUNT_MAX
                + " servers are started");
        Options.require(line, servers.texts().isEmpty(), "--cluster-shards is for nodes that load-test starts");
        Options.require(line, !unixSockets && !tls && source != Source.CONTAINER,
                "--cluster-shards excludes --unix-sockets, --tls and --source container: the servers report their own"
                        + " addresses");
    }

    private void checkDelays(CommandLine line) {
        checkDelays(line, "--delay", delays);
    }

    /** Throws picocli's error for delays that these nodes do not support. */
    public void checkDelays(CommandLine line, String option, List<String> texts) {
        Options.requireParsed(line, option, () -> NodeDelays.parse(texts));
        NodeDelays parsed = NodeDelays.parse(texts);
        Options.require(line, parsed.indexMax() < countMax(), option + " names node " + parsed.indexMax()
                + ": there are " + countMax() + ", counted from 0");
        Options.require(line, parsed.isNone() || clusterShards == 0,
                option + " and --cluster-shards exclude each other: the servers report their own addresses");
        Options.require(line, parsed.isNone() || servers.addresses().stream().allMatch(NodeAddress.class::isInstance),
                option + " and a redis-sentinel:// address exclude each other: a client connects to the server that "
                        + "Sentinels name");
        Options.require(line, parsed.isNone() || !isUnix(),
                option + " needs nodes on TCP: the proxy does not support Unix sockets");
        Options.require(line, parsed.isNone() || !isTls(), (tls ? "--tls" : "a rediss:// address") + " and " + option
                + " exclude each other: leave one of them out");
    }

    public List<Integer> counts() {
        if (isCountGiven || servers.isEmpty()) {
            return nodes;
        }
        int given = servers.addresses().size();
        List<Integer> fitting = nodes.stream()
                .filter(n -> n <= given)
                .collect(Collectors.toCollection(ArrayList::new));
        if (!fitting.contains(given)) {
            fitting.add(given);
        }
        return fitting;
    }

    int countMin() {
        return counts().stream().mapToInt(Integer::intValue).min().orElseThrow();
    }

    public int countMax() {
        return counts().stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    public RedisNodesContext context() {
        RedisNodesContext context = new RedisNodesContext().addresses(servers.texts())
                .clientTls(servers.tlsFiles())
                .count(countMax() * Math.max(1, clusterShards))
                .unixSocket(unixSockets)
                .tls(tls)
                .pin(pin.pin());
        if (clusterShards > 0) {
            RedisCluster.enabled(context, CLUSTER_NODE_TIMEOUT_MS);
        }
        return source == null ? context : context.source(source);
    }

    /** Replicas of the nodes, on the same processor cores; their number and their source are open. */
    public RedisNodesContext replicas() {
        return new RedisNodesContext().pin(pin.pin());
    }

    /** The source that was asked for. */
    public Optional<Source> source() {
        return servers.isEmpty() ? Optional.ofNullable(source) : Optional.of(Source.GIVEN);
    }

    /** Whether the nodes cannot have held locks before. */
    public boolean isFresh() {
        return fresh || servers.isEmpty();
    }

    /** Whether nodes have TLS, started here or given. */
    boolean isTls() {
        return tls || servers.hasTls();
    }

    /** Whether nodes have an address with TLS and one without. */
    boolean isTlsOptional() {
        return tls;
    }

    public boolean isUnixSockets() {
        return unixSockets;
    }

    boolean isUnix() {
        return unixSockets || servers.addresses()
                .stream()
                .anyMatch(address -> address instanceof NodeAddress server && server.isUnixSocket());
    }

    public NodeDelays delays() {
        return NodeDelays.parse(delays);
    }

    /**
     * The options that name servers of the user: their addresses, with user and password, and the files for TLS.
     *
     * @threading caller-confined
     */
    private static final class ServerOptions {
        @Option(names = "--addresses", split = ",", paramLabel = "ADDRESS",
                description = "The servers: host:port, redis://[user:password@]host[:port], the same with rediss:// "
                        + "for TLS, unix:///path, or redis-sentinel://[user:password@]host:port,...,host:port/name "
                        + "(default: start servers).")
        private List<String> addresses = List.of();

        @Mixin
        private TlsFileOptions tlsFiles;

        /** Throws picocli's error for addresses and files that cannot be used. */
        public void check(CommandLine line) {
            addresses = SentinelQuestion.joined(addresses);
            Options.requireParsed(line, "--addresses", this::addresses);
            Options.require(line, !isAnyNamedTwice(),
                    "--addresses names a server twice: name each node once, or the quorum is wrong");
            tlsFiles.check(line, hasTls());
        }

        public boolean isEmpty() {
            return addresses.isEmpty();
        }

        private boolean isAnyNamedTwice() {
            List<VoterAddress> parsed = addresses();
            return IntStream.range(0, parsed.size())
                    .anyMatch(i -> parsed.subList(0, i).stream().anyMatch(parsed.get(i)::isSameVoter));
        }

        public List<VoterAddress> addresses() {
            return addresses.stream().map(SentinelQuestion::parse).toList();
        }

        /** The addresses as they were given, with passwords. */
        List<String> texts() {
            return addresses;
        }

        public boolean hasTls() {
            return addresses().stream().anyMatch(VoterAddress::isTls);
        }

        public ClientTls tlsFiles() {
            return tlsFiles.files();
        }
    }
}
