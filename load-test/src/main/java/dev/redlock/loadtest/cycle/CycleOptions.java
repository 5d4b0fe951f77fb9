package dev.redlock.loadtest.cycle;

import dev.redlock.RedlockContext;
import dev.redlock.api.IdlePolicy;
import dev.redlock.cli.Options;
import dev.redlock.cli.SentinelQuestion;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The options of the commands that measure cycles: nodes, load and time.
 *
 * @threading caller-confined
 */
final class CycleOptions {

    private static final int CLUSTER_NODE_TIMEOUT_MS = 15_000;
    private static final int IN_FLIGHT_MAX = 16_384;
    /** The bounds of {@link RedlockContext}. */
    private static final int RELEASE_BATCH_MAX = 64;
    private static final double SECONDS_MIN = 0.1;
    private static final int SECONDS_MAX = 3_600;
    private static final double RATE_MAX = 1_000_000;

    @Option(names = "--nodes", split = ",", paramLabel = "ADDRESS",
            description = "Addresses of running nodes: host:port or unix:///path.")
    private List<String> nodes = List.of();

    @Option(names = "--start", paramLabel = "COUNT",
            description = "Start this number of nodes instead, and end them afterwards.")
    private int startCount;

    @Option(names = "--cluster-shards", paramLabel = "COUNT",
            description = "Start each node as a cluster of this number of masters.")
    private int clusterShards;

    @Option(names = "--in-process", paramLabel = "COUNT",
            description = "No servers, but this number of model nodes inside each event loop; for cycles only.")
    private int inProcessCount;

    @Option(names = "--unix-sockets", description = "Connect to the started nodes over Unix sockets.")
    private boolean isUnix;

    @Option(names = "--server-pids", split = ",", paramLabel = "PID",
            description = "Processes whose CPU time counts as the servers'; not needed with --start.")
    private List<Long> serverPids = List.of();

    @Option(names = "--in-flight", paramLabel = "COUNT", defaultValue = "64",
            description = "Cycles in flight, with --rate at most (default: ${DEFAULT-VALUE}).")
    private int inFlight;

    @Option(names = "--rate", paramLabel = "RATE",
            description = "Open loop: start this many cycles a second, regardless of unfinished ones; latency counts "
                    + "from the intended time (default: closed loop).")
    private double rate;

    @Option(names = "--warmup", paramLabel = "SECONDS", defaultValue = "8",
            description = "Seconds before the measured time (default: ${DEFAULT-VALUE}).")
    private double warmupSeconds;

    @Option(names = "--seconds", paramLabel = "SECONDS", defaultValue = "8",
            description = "Measured seconds (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--turns", description = "After the warm-up, print \"ready\", and measure once for each line of "
            + "standard input, idle in between; its end ends the run.")
    private boolean isInTurns;

    @Option(names = "--idle", paramLabel = "POLICY", defaultValue = "BLOCK",
            description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private IdlePolicy idlePolicy;

    @Option(names = "--keys",
            description = "Prefix of the names of the resources (default: different for each run).")
    private String keyPrefix = String.format(Locale.ROOT, "cycle:%04x:", System.nanoTime() >>> 20 & 0xFFFF);

    @Option(names = "--label", description = "First column.")
    private String label;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    private RedisNodes started;
    private final List<String> clusters = new ArrayList<>();

    CycleOptions() {
        // picocli fills the fields.
    }

    /** Throws picocli's error, which ends in exit code 2, for anything out of range. */
    void check() {
        int sources = (nodes.isEmpty() ? 0 : 1) + (startCount == 0 ? 0 : 1) + (inProcessCount == 0 ? 0 : 1);
        require(sources == 1, "give one of --nodes, --start and --in-process");
        require(inProcessCount >= 0 && inProcessCount <= RedisNodesContext.COUNT_MAX,
                "--in-process is " + inProcessCount + ": expected 1 to " + RedisNodesContext.COUNT_MAX);
        Options.requireParsed(spec.commandLine(), "--nodes", () -> nodes.forEach(SentinelQuestion::parse));
        require(nodes.size() == nodes.stream().distinct().count(),
                "--nodes names a node twice: each vote has to come from a server of its own");
        require(startCount >= 0 && startCount <= RedisNodesContext.COUNT_MAX,
                "--start is " + startCount + ": expected 1 to " + RedisNodesContext.COUNT_MAX);
        require(clusterShards == 0 || startCount > 0 && !isUnix,
                "--cluster-shards is for --start, without --unix-sockets");
        require(clusterShards >= 0 && startCount * Math.max(1, clusterShards) <= RedisNodesContext.COUNT_MAX,
                "--cluster-shards is " + clusterShards + ": at most " + RedisNodesContext.COUNT_MAX
                        + " servers are started");
        require(!isUnix || startCount > 0, "--unix-sockets is for --start: with --nodes, write unix:///path");
        require(serverPids.isEmpty() || !nodes.isEmpty(),
                "--server-pids is for --nodes: --start knows its own, and --in-process has none");
        require(inFlight >= 1 && inFlight <= IN_FLIGHT_MAX,
                "--in-flight is " + inFlight + ": expected 1 to " + IN_FLIGHT_MAX);
        require(rate >= 0 && rate <= RATE_MAX,
                "--rate is " + rate + ": expected more than 0 cycles a second, at most " + (long) RATE_MAX);
        require(warmupSeconds >= 0 && warmupSeconds <= SECONDS_MAX,
                "--warmup is " + warmupSeconds + ": expected 0 to " + SECONDS_MAX + " seconds");
        require(seconds >= SECONDS_MIN && seconds <= SECONDS_MAX,
                "--seconds is " + seconds + ": expected " + SECONDS_MIN + " to " + SECONDS_MAX);
    }

    /** Throws picocli's error for a batch of releases that no client takes. */
    static void checkReleaseBatch(CommandLine line, int count) {
        Options.requireRange(line, "--release-batch", count, 1, RELEASE_BATCH_MAX);
    }

    /** Throws picocli's error unless the condition holds. */
    void require(boolean isRight, String message) {
        Options.require(spec.commandLine(), isRight, message);
    }

    /** Starts nodes for {@code --start}. */
    void startNodes() {
        if (startCount == 0) {
            return;
        }
        RedisNodesContext context = new RedisNodesContext().count(startCount * Math.max(1, clusterShards))
                .unixSocket(isUnix);
        started = RedisNodes.start(
                clusterShards == 0 ? context : RedisCluster.enabled(context, CLUSTER_NODE_TIMEOUT_MS));
        for (int i = 0; clusterShards > 0 && i < startCount; i++) {
            List<RedisNode> servers = started.nodes().subList(i * clusterShards, (i + 1) * clusterShards);
            clusters.add(RedisCluster.form(servers, clusterShards).address());
        }
    }

    /** Ends the started nodes. */
    void endNodes() {
        if (started != null) {
            started.close();
        }
    }

    /** The addresses of the nodes, once they are started. */
    String[] addresses() {
        if (isInProcess()) {
            return IntStream.range(0, inProcessCount).mapToObj(i -> "in-process-" + i + ":1").toArray(String[]::new);
        }
        if (started == null) {
            return nodes.toArray(String[]::new);
        }
        if (!clusters.isEmpty()) {
            return clusters.toArray(String[]::new);
        }
        return isUnix
                ? started.nodes()
                        .stream()
                        .map(node -> "unix://" + node.unixSocket().orElseThrow())
                        .toArray(String[]::new)
                : started.addresses();
    }

    /** The known processes of the nodes, once they are started. */
    List<Long> serverPids() {
        return started == null
                ? serverPids
                : started.nodes().stream().flatMapToLong(node -> node.pid().stream()).boxed().toList();
    }

    /** The load, without its warm-up. It is not audited, so that the CPU time is that of the client. */
    LoadPlan load() {
        Duration measured = duration(seconds);
        LoadPlan plan = isOpen() ? LoadPlan.open(rate, inFlight) : LoadPlan.closed(inFlight);
        return plan.duration(measured).interval(measured).audited(false).names(this::resource);
    }

    private static Duration duration(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }

    /** Whether the nodes are part of the client's event loops. */
    boolean isInProcess() {
        return inProcessCount > 0;
    }

    /** The name of a resource. All names have the same length, and so have the commands. */
    String resource(int index) {
        return keyPrefix + String.format(Locale.ROOT, "%06d", index);
    }

    int inFlight() {
        return inFlight;
    }

    boolean isOpen() {
        return rate > 0;
    }

    double rate() {
        return rate;
    }

    Duration warmup() {
        return duration(warmupSeconds);
    }

    boolean isInTurns() {
        return isInTurns;
    }

    IdlePolicy idlePolicy() {
        return idlePolicy;
    }

    String label(String unlessGiven) {
        return label == null ? unlessGiven : label;
    }
}
