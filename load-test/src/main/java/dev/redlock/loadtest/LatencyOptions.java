package dev.redlock.loadtest;

import dev.redlock.loadtest.nodes.NodeAddress;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * What the user can set for a sweep, and the checks that an option alone cannot make.
 *
 * @threading caller-confined
 */
final class LatencyOptions {
    private static final List<Integer> NODES_DEFAULT = List.of(1, 3, 5, 7);
    private static final int OUTSTANDING_MAX = 4096;
    private static final Duration TTL_MIN = Duration.ofMillis(100);
    private static final Duration DURATION_MIN = Duration.ofMillis(10);

    @Option(names = "--nodes", split = ",", paramLabel = "N",
            description = "Node counts to measure, 1 to 63 (default: 1,3,5,7; with --addresses, as many of these as "
                    + "there are addresses for).")
    private List<Integer> nodes = List.of();

    @Option(names = "--outstanding", split = ",", paramLabel = "K",
            description = "Cycles in flight at a time, 1 to 4096 (default: 1,64: alone, and under load).")
    private List<Integer> outstanding = List.of(1, 64);

    @Option(names = "--duration", paramLabel = "TIME", defaultValue = "4500ms", converter = DurationConverter.class,
            description = "Recorded time of each measurement (default: ${DEFAULT-VALUE}).")
    private Duration duration;

    @Option(names = "--warmup", paramLabel = "TIME", defaultValue = "1s", converter = DurationConverter.class,
            description = "Unrecorded time before each measurement (default: ${DEFAULT-VALUE}).")
    private Duration warmup;

    @Option(names = "--jvm-warmup", paramLabel = "TIME", defaultValue = "8s", converter = DurationConverter.class,
            description = "Unrecorded load at the start, for the compiler (default: ${DEFAULT-VALUE}).")
    private Duration jvmWarmup;

    @Option(names = "--ttl", paramLabel = "TIME", defaultValue = "30s", converter = DurationConverter.class,
            description = "Time to live of each lock, at least 100ms (default: ${DEFAULT-VALUE}).")
    private Duration ttl;

    @Option(names = "--addresses", split = ",", paramLabel = "ADDRESS",
            description = "Use these servers: host:port or redis://[user:password@]host:port. Default: start some.")
    private List<String> addresses = List.of();

    @Option(names = "--source", paramLabel = "SOURCE",
            description = "Start nodes from one source only: path, embedded or container (default: the first that "
                    + "works).")
    private Source source;

    @Option(names = "--driver", paramLabel = "NAME", defaultValue = Drivers.DEFAULT,
            description = "The lock client to measure: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).",
            completionCandidates = Drivers.Names.class)
    private String driver;

    LatencyOptions() {
        // picocli fills the fields.
    }

    /** Throws picocli's error, which ends in exit code 2, for anything out of range. */
    void check(CommandLine line) {
        require(line, nodes.stream().allMatch(n -> n >= 1 && n <= RedisNodesContext.COUNT_MAX),
                "--nodes is " + nodes + ": expected counts of 1 to " + RedisNodesContext.COUNT_MAX);
        require(line, outstanding.stream().allMatch(k -> k >= 1 && k <= OUTSTANDING_MAX),
                "--outstanding is " + outstanding + ": expected 1 to " + OUTSTANDING_MAX);
        require(line, duration.compareTo(DURATION_MIN) >= 0,
                "--duration is " + duration.toMillis() + "ms: expected at least " + DURATION_MIN.toMillis() + "ms");
        require(line, ttl.compareTo(TTL_MIN) >= 0,
                "--ttl is " + ttl.toMillis() + "ms: expected at least " + TTL_MIN.toMillis() + "ms");
        checkDriver(line);
        require(line, source != Source.GIVEN, "--source given: name the servers with --addresses instead");
        require(line, source == null || addresses.isEmpty(), "--source and --addresses exclude each other");
        checkAddresses(line);
    }

    private void checkDriver(CommandLine line) {
        try {
            Drivers.named(driver);
        } catch (IllegalArgumentException e) {
            throw new CommandLine.ParameterException(line, "--driver is " + e.getMessage());
        }
    }

    private void checkAddresses(CommandLine line) {
        try {
            addresses.forEach(NodeAddress::parse);
        } catch (IllegalArgumentException e) {
            throw new CommandLine.ParameterException(line, "--addresses: " + e.getMessage());
        }
        long distinct = addresses.stream().map(NodeAddress::parse).distinct().count();
        require(line, distinct == addresses.size(), "--addresses names a server twice");
        require(line, addresses.isEmpty() || nodesMax() <= addresses.size(),
                "--nodes asks for " + nodesMax() + " nodes and --addresses names " + addresses.size());
    }

    private static void require(CommandLine line, boolean isRight, String otherwise) {
        if (!isRight) {
            throw new CommandLine.ParameterException(line, otherwise);
        }
    }

    List<Integer> nodeCounts() {
        if (!nodes.isEmpty()) {
            return nodes;
        }
        if (addresses.isEmpty()) {
            return NODES_DEFAULT;
        }
        List<Integer> fitting = NODES_DEFAULT.stream()
                .filter(n -> n <= addresses.size())
                .collect(Collectors.toCollection(ArrayList::new));
        if (!fitting.contains(addresses.size())) {
            fitting.add(addresses.size());
        }
        return fitting;
    }

    int nodesMax() {
        return nodeCounts().stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    RedisNodesContext nodesContext() {
        RedisNodesContext context = new RedisNodesContext().addresses(addresses).count(nodesMax());
        return source == null ? context : context.source(source);
    }

    boolean isFresh() {
        return addresses.isEmpty();
    }

    List<Integer> outstanding() {
        return outstanding;
    }

    Duration duration() {
        return duration;
    }

    Duration warmup() {
        return warmup;
    }

    Duration jvmWarmup() {
        return jvmWarmup;
    }

    Duration ttl() {
        return ttl;
    }

    String driver() {
        return driver;
    }
}
