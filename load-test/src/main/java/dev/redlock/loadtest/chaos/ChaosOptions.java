package dev.redlock.loadtest.chaos;

import dev.redlock.api.CommandMode;
import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.trial.faults.NodeNetwork;
import dev.redlock.trial.nodes.ClockLibrary;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** @threading caller-confined */
final class ChaosOptions {
    private static final Duration TTL_MIN = Duration.ofMillis(200);

    /** The ttl with the allowed drift of the clients. */
    private static final int DRIFT_PERCENT = 101;
    private static final int DRIFT_MS = 2;

    @Option(names = "--duration", paramLabel = "TIME", defaultValue = "60s", converter = DurationConverter.class,
            description = "Duration of the faults (default: ${DEFAULT-VALUE}).")
    Duration duration;

    @Option(names = "--seed", paramLabel = "N",
            description = "Repeats the plan of this seed (default: random, and printed).")
    Long seed;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "5",
            description = "Number of nodes, 3 to 9 (default: ${DEFAULT-VALUE}).")
    int nodes;

    @Option(names = "--workers", paramLabel = "N", defaultValue = "3",
            description = "Number of worker processes, 1 to 64 (default: ${DEFAULT-VALUE}).")
    int workers;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "3",
            description = "Threads of each worker, 1 to 64 (default: ${DEFAULT-VALUE}).")
    int threads;

    @Option(names = "--resources", paramLabel = "N", defaultValue = "4",
            description = "Number of resources they contend for, 1 to 1000 (default: ${DEFAULT-VALUE}).")
    int resources;

    @Option(names = "--fenced", paramLabel = "WHICH", defaultValue = "half",
            description = "Which resources are locked with fencing tokens: ${COMPLETION-CANDIDATES} (default: "
                    + "${DEFAULT-VALUE}).")
    Fenced fenced;

    @Option(names = "--ttl", paramLabel = "TIME", defaultValue = "2s", converter = DurationConverter.class,
            description = "Time to live of each lock, and the clients' maxTtl (default: ${DEFAULT-VALUE}).")
    Duration ttl;

    @Option(names = "--node-timeout", paramLabel = "TIME", defaultValue = "500ms", converter = DurationConverter.class,
            description = "The clients' node timeout (default: ${DEFAULT-VALUE}).")
    Duration nodeTimeout;

    @Option(names = "--commands", paramLabel = "MODE", defaultValue = "auto",
            description = "Commands that the clients send: auto, scripts or native (default: ${DEFAULT-VALUE}).")
    CommandMode commands;

    @Option(names = "--faults", paramLabel = "FAULT", split = ",",
            description = "Faults to choose from: ${COMPLETION-CANDIDATES} (default: all that "
                    + "the other options allow; the run prints the excluded faults and the reasons).")
    private List<Fault> faults = List.of();

    @Option(names = "--clock-steps",
            description = "The wall clocks of nodes jump too. Needs libfaketime (a Debian package of that name); then "
                    + "one node is bad at a time.")
    boolean isClockStepped;

    @Option(names = "--namespaces",
            description = "Each node gets a network namespace of its own, and the kernel injects faults below TCP: "
                    + "devices down, black holes, narrow paths, and netem's delay, loss and reordering where the "
                    + "kernel has it. Needs root, ip and tc; replaces the faults of the proxies.")
    private boolean isNamespaced;

    @Option(names = "--tls",
            description = "The nodes have TLS and require a client certificate, and the workers connect with it. Uses "
                    + "redis-server of the PATH.")
    private boolean isTls;

    @Option(names = "--cluster-shards", paramLabel = "N",
            description = "Each node is a cluster of this many masters and a replica, 2 to 6: masters are lost, "
                    + "replicas promoted, slots moved, and whole clusters lost (default: single masters).")
    int clusterShards;

    @Option(names = "--sentinels",
            description = "One primary with two replicas behind three Sentinels: the primary is killed, stopped and "
                    + "handed over, and with --namespaces its host is cut off together with a Sentinel and a worker.")
    boolean hasSentinels;

    @Option(names = "--without-min-replicas",
            description = "The primary serves on without its replicas. With partitions the lock does not hold then, "
                    + "and the run must fail: it shows that the audit detects it.")
    boolean isWriteUnlimited;

    @Option(names = "--change-nodes",
            description = "The workers change their list of nodes by joint lists: each node is replaced, one after the "
                    + "other, then two are added. Takes two thirds of a minute with three nodes and workers.")
    private boolean isListChanged;

    @Option(names = "--retain",
            description = "Each worker locks mostly resources of its own, whose locks it retains. Faults come in "
                    + "groups with calm times in between, and the run also fails if a worker waits for a lock that "
                    + "nobody uses while nothing is broken. Choose several --resources for each worker.")
    boolean isRetaining;

    @Option(names = "--inside", hidden = true, description = "Internal: runs in this network.")
    private String inside;

    @Option(names = "--hold", paramLabel = "TIME", defaultValue = "15ms", converter = DurationConverter.class,
            description = "Longest section, except for the few that overstay (default: ${DEFAULT-VALUE}).")
    Duration hold;

    @Option(names = "--without-guard",
            description = "Clients trust nodes that come back empty, and holders do not look whether they lost their "
                    + "lock. With wipes the lock does not hold then, and the run must fail: it shows that the audit "
                    + "detects it.")
    private boolean isUnguarded;

    @Option(names = "--output", paramLabel = "FOLDER",
            description = "An empty or missing folder for the results. Default: a new one under "
                    + "load-test-results.")
    Path output;

    @Option(names = "--history", paramLabel = "FILE",
            description = "Writes every operation of every process to this new file, for checkers of linearizability. "
                    + "The command history exports it. Sections with fencing tokens also write a shared register.")
    Path history;

    @Option(names = "--majority-loss",
            description = "More than a minority of the nodes may be bad at once: the lock may become unavailable, but "
                    + "never unsafe.")
    boolean isMajorityLoss;

    /** As they were typed, for the workers; without the seed. */
    List<String> given = List.of();
    private final List<Fault> chosen = new ArrayList<>();
    private final Map<String, List<String>> leftOut = new LinkedHashMap<>();

    void check(CommandLine line) {
        given = Invocation.arguments(line, Set.of("--seed"));
        checkSentinels(line);
        Options.requireRange(line, "--workers", workers, 1, 64);
        Options.requireRange(line, "--threads", threads, 1, 64);
        Options.requireRange(line, "--resources", resources, 1, 1000);
        Options.requireAtLeast(line, "--duration", duration, Duration.ofMillis(ChaosPlan.GAP_MS_MIN));
        Options.requireAtLeast(line, "--node-timeout", nodeTimeout, Duration.ofMillis(1));
        Options.require(line, ttl.compareTo(TTL_MIN) >= 0, "--ttl is below " + TTL_MIN.toMillis() + "ms");
        Options.require(line, !isClockStepped || ClockLibrary.find().isPresent(),
                "--clock-steps: libfaketime is missing (a Debian package of that name)");
        Options.require(line, !isClockStepped || !isMajorityLoss,
                "--clock-steps and --majority-loss exclude each other");
        Options.require(line, !isClockStepped || history == null,
                "--clock-steps and --history exclude each other: a checker of the history would report the overlaps "
                        + "that the step of a clock permits");
        Options.require(line, hold.compareTo(ttl) <= 0, "--hold is longer than --ttl");
        Options.require(line, nodeTimeout.compareTo(ttl) <= 0, "--node-timeout is longer than --ttl");
        require(line, history == null || !Files.exists(history),
                () -> "--history: " + history + " exists: name a new file");
        require(line, !isNamespaced || isInside() || NodeNetwork.refusal().isEmpty(),
                () -> "--namespaces: " + NodeNetwork.refusal().orElseThrow());
        Options.require(line, !isRetaining || clusterShards == 0 && !isListChanged && !isClockStepped
                && commands != CommandMode.NATIVE,
                "--retain excludes --cluster-shards, --change-nodes, --clock-steps and --commands native");
        checkClusters(line);
        chooseFaults(line);
        if (seed == null) {
            seed = ThreadLocalRandom.current().nextLong(1_000_000_000);
        }
    }

    private void checkSentinels(CommandLine line) {
        if (!hasSentinels) {
            Options.requireRange(line, "--nodes", nodes, 3, 9);
            Options.require(line, !isWriteUnlimited, "--without-min-replicas needs --sentinels");
            return;
        }
        Options.require(line, !line.getParseResult().hasMatchedOption("--nodes"),
                "--sentinels and --nodes exclude each other: the Sentinels name one node");
        Options.require(line, clusterShards == 0 && !isListChanged && !isTls && !isClockStepped && !isRetaining
                && !isMajorityLoss,
                "--sentinels excludes --cluster-shards, --change-nodes, --tls, --clock-steps, --retain and "
                        + "--majority-loss");
        nodes = 1;
    }

    private void checkClusters(CommandLine line) {
        if (line.getParseResult().hasMatchedOption("--cluster-shards")) {
            Options.requireRange(line, "--cluster-shards", clusterShards, 2, 6);
            Options.require(line, !isListChanged, "--cluster-shards and --change-nodes exclude each other");
            Options.require(line, !isTls && !isNamespaced && !isClockStepped,
                    "--cluster-shards excludes --tls, --namespaces and --clock-steps: leave one of them out");
        }
    }

    private static void require(CommandLine line, boolean isRight, Supplier<String> otherwise) {
        if (!isRight) {
            throw new CommandLine.ParameterException(line, otherwise.get());
        }
    }

    private void chooseFaults(CommandLine line) {
        Optional<String> netemRefusal = isInside() ? network().orElseThrow().netemRefusal() : Optional.empty();
        for (Fault fault : faults.isEmpty() ? List.of(Fault.values()) : faults) {
            Optional<String> why = refusal(fault, netemRefusal);
            require(line, faults.isEmpty() || why.isEmpty(),
                    () -> "--faults " + fault.name().toLowerCase(Locale.ROOT) + ": " + why.orElseThrow());
            if (why.isEmpty()) {
                chosen.add(fault);
            } else {
                leftOut.computeIfAbsent(why.get(), any -> new ArrayList<>()).add(fault.name().toLowerCase(Locale.ROOT));
            }
        }
    }

    private Optional<String> refusal(Fault fault, Optional<String> netemRefusal) {
        if (fault == Fault.CLOCK_STEP && !isClockStepped) {
            return Optional.of("needs --clock-steps" + (ClockLibrary.find().isPresent()
                    ? ""
                    : ", and libfaketime, which is missing (a Debian package of that name)"));
        }
        if (hasSentinels != fault.isOfSentinels() && !fault.isOfWorker()) {
            return Optional.of(hasSentinels ? "is no fault of --sentinels" : "needs --sentinels");
        }
        if (fault == Fault.PARTITION && !isNamespaced) {
            return Optional.of("needs --namespaces");
        }
        if (clusterShards == 0 && fault.isOfCluster()) {
            return Optional.of("needs --cluster-shards");
        }
        if (clusterShards > 0 && fault.isOfProxy()) {
            return Optional.of("the servers of a cluster report their own addresses");
        }
        if (clusterShards > 0 && (fault == Fault.KILL || fault == Fault.WIPE_MAJORITY)) {
            return Optional.of("--cluster-shards has wipe and cluster_down in its place");
        }
        if (fault == Fault.WIPE_MAJORITY && !isMajorityLoss) {
            return Optional.of("needs --majority-loss");
        }
        if (fault.isOfProxy() && isNamespaced) {
            return Optional.of("--namespaces has the kernel's faults in place of the proxies'");
        }
        if (fault.isOfNetwork() && !isNamespaced) {
            return Optional.of("needs --namespaces");
        }
        return fault.isOfNetem() ? netemRefusal : Optional.empty();
    }

    ChaosPlan.Terms terms() {
        return new ChaosPlan.Terms(targets(), workers, duration, ttl, chosen, isMajorityLoss, !isUnguarded,
                clusterShards > 0, isListChanged, isRetaining);
    }

    RedisNodesContext nodesContext() {
        if (clusterShards > 0) {
            return ChaosClusters.enabled(new RedisNodesContext(), nodes, clusterShards);
        }
        RedisNodesContext context = hasSentinels
                ? ChaosSentinels.servers(!isWriteUnlimited)
                : new RedisNodesContext().count(targets()).appendOnly(true).tls(isTls);
        network().ifPresent(network -> context.places(network.places()));
        if (isClockStepped) {
            context.clockLibrary(ClockLibrary.find().orElseThrow());
        }
        return context;
    }

    /** The time that a key may outlive its ttl: a node whose clock jumps back keeps it longer. */
    long keyRoomMs() {
        return isClockStepped ? ChaosPlan.STEP_MS_MAX : 0;
    }

    /** The hosts of a network. */
    int hosts() {
        return hasSentinels ? ChaosSentinels.SERVERS : targets();
    }

    /** The nodes that faults hit, of all lists. */
    int targets() {
        return isListChanged ? ListRollout.nodeCount(nodes) : nodes;
    }

    ListRollout lists() {
        return isListChanged
                ? ListRollout.ofAll(nodes, workers, ttl.toMillis() * DRIFT_PERCENT / 100 + DRIFT_MS)
                : ListRollout.none(nodes, workers);
    }

    /** Whether this program must run again inside a network of its own. */
    boolean isNetworkWanted() {
        return isNamespaced && !isInside();
    }

    private boolean isInside() {
        return inside != null;
    }

    /** The network of the nodes, if this program runs inside of one. */
    Optional<NodeNetwork> network() {
        return Optional.ofNullable(inside).map(prefix -> new NodeNetwork(prefix, hosts()));
    }

    /** The faults that this run excludes, with the reasons. */
    List<String> leftOut() {
        return leftOut.entrySet().stream().map(why -> String.join(", ", why.getValue()) + ": " + why.getKey()).toList();
    }

    boolean isGuarded() {
        return !isUnguarded;
    }

    /** The file of the operations, with its whole path. */
    Optional<Path> history() {
        return Optional.ofNullable(history).map(Path::toAbsolutePath);
    }

    SeriesSpec spec() {
        return new SeriesSpec("redlock", nodes, LoopKind.CLOSED, workers * threads, 0, 1);
    }

    /**
     * The share of the resources that are locked with fencing tokens. All grants of one resource are of one kind.
     *
     * @threading immutable
     */
    public enum Fenced {
        NONE, HALF, ALL;

        boolean isFenced(int resource) {
            return this == ALL || this == HALF && resource % 2 == 0;
        }
    }
}
