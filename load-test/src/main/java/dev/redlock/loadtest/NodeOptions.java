package dev.redlock.loadtest;

import dev.redlock.loadtest.nodes.NodeAddress;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Which nodes, and how far away.
 *
 * @threading caller-confined
 */
final class NodeOptions {
    @Option(names = "--nodes", split = ",", paramLabel = "N",
            description = "Node counts to measure, 1 to 63 (default: ${DEFAULT-VALUE}; with --addresses, as many of "
                    + "these as there are addresses for).")
    private List<Integer> nodes;

    @Option(names = "--addresses", split = ",", paramLabel = "ADDRESS",
            description = "Use these servers: host:port, redis://[user:password@]host:port or unix:///path. Default: "
                    + "start some.")
    private List<String> addresses = List.of();

    @Option(names = "--fresh",
            description = "The given servers were started fresh and nobody else locks on them: they vote at once, "
                    + "without the restart guard's minute.")
    private boolean fresh;

    @Option(names = "--source", paramLabel = "SOURCE",
            description = "Start nodes from one source only: path, embedded or container (default: the first that "
                    + "works).")
    private Source source;

    @Option(names = "--unix-sockets", description = "Talk to the started nodes over Unix sockets instead of TCP.")
    private boolean unixSockets;

    @Option(names = "--delay", split = ",", paramLabel = "[NODE=]TIME",
            description = "Time added to every message to a node and again to its answer, by a proxy on this machine: "
                    + "2ms for all nodes, 0=10ms for the first one. Whole milliseconds.")
    private List<String> delays = List.of();

    private boolean isCountGiven;

    NodeOptions() {
        // picocli fills the fields.
    }

    /** Throws picocli's error, which ends in exit code 2, for anything out of range. */
    void check(CommandLine line) {
        isCountGiven = line.getParseResult().hasMatchedOption("--nodes");
        Options.require(line,
                !nodes.isEmpty() && nodes.stream().allMatch(n -> n >= 1 && n <= RedisNodesContext.COUNT_MAX),
                "--nodes is " + nodes + ": expected counts of 1 to " + RedisNodesContext.COUNT_MAX);
        Options.requireDistinct(line, "--nodes", nodes);
        Options.require(line, source != Source.GIVEN, "--source given: name the servers with --addresses instead");
        Options.require(line, source == null || addresses.isEmpty(), "--source and --addresses exclude each other");
        checkAddresses(line);
        Options.require(line, !fresh || !addresses.isEmpty(),
                "--fresh is for servers named with --addresses: those that are started here are fresh");
        Options.require(line, !unixSockets || addresses.isEmpty(),
                "--unix-sockets is for nodes that are started here: with --addresses, write unix:///path");
        Options.require(line, !unixSockets || source != Source.CONTAINER,
                "--unix-sockets: nodes in containers have none; choose --source path or embedded");
        checkDelays(line);
    }

    private void checkAddresses(CommandLine line) {
        Options.requireParsed(line, "--addresses", () -> addresses.forEach(NodeAddress::parse));
        long distinct = addresses.stream().map(NodeAddress::parse).distinct().count();
        Options.require(line, distinct == addresses.size(), "--addresses names a server twice");
        Options.require(line, addresses.isEmpty() || countMax() <= addresses.size(),
                "--nodes asks for " + countMax() + " nodes and --addresses names " + addresses.size());
    }

    private void checkDelays(CommandLine line) {
        checkDelays(line, "--delay", delays);
    }

    /** Throws picocli's error for delays that cannot be had on these nodes. */
    void checkDelays(CommandLine line, String option, List<String> texts) {
        Options.requireParsed(line, option, () -> NodeDelays.parse(texts));
        NodeDelays parsed = NodeDelays.parse(texts);
        Options.require(line, parsed.indexMax() < countMax(), option + " names node " + parsed.indexMax()
                + ": there are " + countMax() + ", counted from 0");
        Options.require(line, parsed.isNone() || !isUnix(),
                option + " needs nodes on TCP: the proxy cannot stand before a Unix socket");
    }

    List<Integer> counts() {
        if (isCountGiven || addresses.isEmpty()) {
            return nodes;
        }
        List<Integer> fitting = nodes.stream()
                .filter(n -> n <= addresses.size())
                .collect(Collectors.toCollection(ArrayList::new));
        if (!fitting.contains(addresses.size())) {
            fitting.add(addresses.size());
        }
        return fitting;
    }

    int countMax() {
        return counts().stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    RedisNodesContext context() {
        RedisNodesContext context = new RedisNodesContext().addresses(addresses)
                .count(countMax())
                .unixSocket(unixSockets);
        return source == null ? context : context.source(source);
    }

    /** Whether the nodes are known to have held no lock before. */
    boolean isFresh() {
        return fresh || addresses.isEmpty();
    }

    boolean isUnixSockets() {
        return unixSockets;
    }

    /** Whether any node is reached over a Unix socket. */
    boolean isUnix() {
        return unixSockets || addresses.stream().anyMatch(text -> NodeAddress.parse(text).isUnixSocket());
    }

    NodeDelays delays() {
        return NodeDelays.parse(delays);
    }
}
