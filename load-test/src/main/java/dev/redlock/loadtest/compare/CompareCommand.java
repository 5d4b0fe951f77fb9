package dev.redlock.loadtest.compare;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ClientTls;
import dev.redlock.cli.Counted;
import dev.redlock.cli.Options;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.ConsensusOptions;
import dev.redlock.loadtest.cli.Invocation;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.consensus.PeerServers;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.measure.Lab;
import dev.redlock.loadtest.measure.LabCommand;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.NodeUris;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisReplicas;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** @threading caller-confined, except for {@link #onCancel} */
@Command(name = "compare", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = {"Measures lock clients side by side: throughput, latency, and the cost of a cycle "
                + "for the client and the servers.",
            "Each driver has a JVM of its own, warmed up once and idle while the others are measured. At every node "
                    + "count and load they take turns (A B A B); medians and the spread over the repetitions are "
                    + "shown, and the ratio to the first driver."},
        footer = {"  load-test compare                                  about two minutes",
            "  load-test compare --driver redlock,redlock@nio,redlock@epoll --nodes 5",
            "  load-test compare --driver redlock,redlock-blocking --in-flight 1,16,64",
            "  load-test compare --driver redlock-scripts-each,lettuce-scripts --nodes 5",
            "  load-test compare --driver redlock,lettuce-batched --rate 5000,20000",
            "  load-test compare --driver redlock-blocking,etcd,zookeeper",
            "  load-test compare --driver redisson-single,redisson-wait --replicas 1"})
public final class CompareCommand extends LabCommand {
    /** Options for the nodes and for the whole run; the driver processes get all others. */
    private static final Set<String> OWN_OPTIONS = Set.of("--driver", "--nodes", "--addresses", "--source",
            "--pin", "--unix-sockets", "--tls", "--tls-ca", "--tls-cert", "--tls-key", "--delay", "--fresh", "--output",
            "--repetitions", ConsensusOptions.DATA, "--replicas");
    private static final int REPLICAS_MAX = 5;

    @Mixin
    private ConsensusOptions consensusOptions;

    @Option(names = "--replicas", paramLabel = "COUNT", defaultValue = "0",
            description = "Replicas of each started node, 0 to 5. Their CPU time counts as that of the servers. The "
                    + "driver redisson-wait waits for them (default: ${DEFAULT-VALUE}).")
    private int replicas;

    private final List<DriverProcess> processes = new CopyOnWriteArrayList<>();
    private List<String> driverArguments = List.of();
    private List<LockDriver> drivers = List.of();
    private PeerServers servers;
    /** Null without replicas. */
    private RedisReplicas attached;

    @Override
    protected void check(CommandLine line) {
        checkReplicas(line);
        Options.require(line, nodeOptions.clusterShards == 0,
                "--cluster-shards: compare measures over single masters; use throughput or latency");
        consensusOptions.check(line, clientOptions.drivers(), nodeOptions,
                List.of("--addresses", "--delay", "--pin", "--replicas"));
        driverArguments = Invocation.arguments(line, OWN_OPTIONS);
    }

    private void checkReplicas(CommandLine line) {
        Options.requireRange(line, "--replicas", replicas, 0, REPLICAS_MAX);
        Options.require(line, replicas * nodeOptions.countMax() <= RedisNodesContext.COUNT_MAX, "--replicas "
                + replicas + " with " + Counted.of(nodeOptions.countMax(), "node") + ": at most "
                + RedisNodesContext.COUNT_MAX + " replicas are started");
        boolean isGiven = nodeOptions.source().equals(Optional.of(Source.GIVEN));
        Options.require(line, replicas == 0 || !isGiven,
                "--replicas is for nodes that load-test starts: servers named with --addresses keep their own");
        Options.require(line, replicas == 0 || !nodeOptions.source().equals(Optional.of(Source.CONTAINER)),
                "--replicas: nodes in containers get none; choose --source path or embedded");
        for (LockDriver driver : clientOptions.drivers()) {
            Options.require(line, !driver.isWaitingForReplicas() || replicas > 0 || isGiven,
                    "--driver " + driver.name() + " waits for replicas: add --replicas 1");
        }
    }

    @Override
    protected boolean startsServices() {
        return true;
    }

    @Override
    protected boolean startsReplicas() {
        return true;
    }

    @Override
    protected long totalMs() {
        return turnsMs(loadOptions.stepCount()) + Lab.contestMs() * clientOptions.drivers().size();
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        lab.note("each driver ran in a JVM of its own (" + String.join(" ", DriverProcess.JVM_OPTIONS)
                + "), idle while others were measured; at every node count and load the drivers took turns");
        drivers = consensusOptions.available(clientOptions.drivers());
        consensusOptions.skipped().forEach(lab::note);
        lab.note(singleNodeNote());
        List<String> arguments = new ArrayList<>(driverArguments);
        arguments.addAll(TlsFileOptions.arguments(lab.tlsFiles()));
        try (PeerServers started = consensusOptions.servers(lab::note);
                RedisReplicas replicating = replicas == 0 ? null : lab.replicate(replicas)) {
            servers = started;
            attached = replicating;
            checkWaits();
            // One after the other: JVMs that start at the same time slow each other down.
            for (LockDriver driver : drivers) {
                DriverProcess process = DriverProcess.start(driver, arguments);
                processes.add(process);
                warmUp(driver, process);
            }
            for (int nodeCount : nodeOptions.counts()) {
                for (int step = 0; step < loadOptions.stepCount(); step++) {
                    measureStep(nodeCount, step);
                }
            }
            for (int i = 0; i < drivers.size(); i++) {
                contest(drivers.get(i), processes.get(i));
            }
        } finally {
            for (DriverProcess process : processes) {
                process.close();
            }
        }
    }

    private void checkWaits() throws IOException {
        if (attached != null) {
            lab.note(attached + ", in step before the first measurement; the CPU of the servers includes theirs");
        }
        for (LockDriver driver : drivers) {
            if (driver.isWaitingForReplicas()) {
                lab.note(driver.name() + " waits until replicas confirm each acquire and each release; the first node "
                        + "had "
                        + Counted.of(WaitCount.requireReplicas(driver.name(), primary(), lab.tlsFiles()), "replica"));
            }
        }
    }

    /** The node of the drivers that lock on one. */
    private NodeAddress primary() {
        return lab.addresses(1).get(0);
    }

    private void contest(LockDriver driver, DriverProcess process) throws IOException, InterruptedException {
        int nodeCount = nodeOptions.countMax();
        String title = driver.name() + ", N = " + nodeCount + ", exclusion check";
        ask(driver, process, DriverTask.Kind.EXCLUSION_CHECK, Lab.contestSpec(driver.name(), nodeCount), title,
                Lab.contestMs()).ifPresent(
                        one -> lab.addContest(title, one.tally(), one.failures()));
    }

    private String singleNodeNote() {
        List<String> singles = drivers.stream()
                .filter(driver -> !driver.isQuorum())
                .map(LockDriver::name)
                .toList();
        return singles.isEmpty()
                ? "every driver asks all nodes for a majority"
                : String.join(" and ", singles) + " lock on the first node only, whatever N is: no majority, no "
                        + "protection against the loss of that node";
    }

    private void warmUp(LockDriver driver, DriverProcess process) throws IOException, InterruptedException {
        if (!loadOptions.jvmWarmup.isZero()) {
            ask(driver, process, DriverTask.Kind.WARM_UP, Lab.contestSpec(driver.name(), nodeOptions.countMax()),
                    "warming up " + driver.name(), loadOptions.jvmWarmup.toMillis());
        }
    }

    private void measureStep(int nodeCount, int step) throws IOException, InterruptedException {
        for (int repetition = 1; repetition <= loadOptions.repetitions; repetition++) {
            for (int i = 0; i < processes.size(); i++) {
                LockDriver driver = drivers.get(i);
                SeriesSpec spec = loadOptions.steps(driver.name(), nodeCount, repetition).get(step);
                OptionalDouble before = serverCpuUs(driver, nodeCount);
                OptionalLong waitsBefore = waits(driver);
                Optional<SeriesResult> measured = ask(driver, processes.get(i), DriverTask.Kind.SERIES, spec,
                        spec.title(), loadOptions.warmup.plus(loadOptions.duration).toMillis());
                if (measured.isPresent()) {
                    OptionalDouble after = serverCpuUs(driver, nodeCount);
                    lab.add(withWaits(withServerCpu(measured.get(), before, after), waitsBefore, waits(driver)));
                }
            }
        }
    }

    /** The count of the primary so far; empty for a driver that does not wait for replicas. */
    private OptionalLong waits(LockDriver driver) throws IOException {
        return driver.isWaitingForReplicas()
                ? OptionalLong.of(WaitCount.of(driver.name(), primary(), lab.tlsFiles()))
                : OptionalLong.empty();
    }

    /** Fails the run unless the primary has counted a WAIT for each acquire and for each release. */
    private SeriesResult withWaits(SeriesResult one, OptionalLong before, OptionalLong after) {
        long acquires = sum(one.tally().acquires());
        if (before.isEmpty() || after.isEmpty() || acquires == 0) {
            return one;
        }
        long waits = after.getAsLong() - before.getAsLong();
        long due = acquires + sum(one.tally().releases());
        if (waits < due) {
            lab.fail(one.spec().title() + ": node " + primary() + " counted " + waits + " WAIT, and " + due
                    + " acquires and releases had to wait for replicas");
        }
        Map<String, Double> figures = new LinkedHashMap<>(one.figures());
        figures.put(CompareTable.WAITS, (double) waits / acquires);
        return one.with(figures, one.cost());
    }

    private static long sum(Map<String, Long> byOutcome) {
        return byOutcome.values().stream().mapToLong(Long::longValue).sum();
    }

    private OptionalDouble serverCpuUs(LockDriver driver, int nodeCount) throws IOException, InterruptedException {
        if (driver.service().isPresent()) {
            return servers.of(driver.service().get(), nodeCount).cpuUs();
        }
        List<NodeAddress> all = new ArrayList<>(lab.addresses(nodeCount));
        if (attached != null) {
            all.addAll(attached.addresses(nodeCount));
        }
        return ServerCpu.us(all, lab.tlsFiles());
    }

    /** Empty after a warm-up, and after an error, which fails the run. */
    private Optional<SeriesResult> ask(LockDriver driver, DriverProcess process, DriverTask.Kind kind, SeriesSpec spec,
            String title, long plannedMs) throws IOException, InterruptedException {
        lab.begin(title);
        List<NodeAddress> addresses = driver.service().isPresent()
                ? servers.of(driver.service().get(), spec.nodes()).addresses()
                : lab.addresses(spec.nodes());
        List<String> tlsAddresses = lab.tlsAddresses(spec.nodes()).stream().map(NodeUris::of).toList();
        DriverReply reply = process.ask(
                new DriverTask(kind, spec, addresses.stream().map(NodeUris::of).toList(), tlsAddresses,
                        lab.voters(spec.nodes()), nodeOptions.isFresh(), lab.freshKeyPrefix(), lab.offsetMs(),
                        folder.path().toAbsolutePath().toString(), folder.startedAt()),
                lab::tick);
        lab.end(plannedMs);
        if (reply.error() != null) {
            lab.fail(title + ": " + reply.error());
        }
        return Optional.ofNullable(reply.error() == null ? reply.series() : null);
    }

    private static SeriesResult withServerCpu(SeriesResult one, OptionalDouble beforeUs, OptionalDouble afterUs) {
        long cycles = sum(one.tally().acquires());
        if (beforeUs.isEmpty() || afterUs.isEmpty() || cycles == 0) {
            return one;
        }
        Map<String, Double> figures = new LinkedHashMap<>(one.figures());
        figures.put(CompareTable.SERVER_CPU, (afterUs.getAsDouble() - beforeUs.getAsDouble()) / cycles);
        return one.with(figures, one.cost());
    }

    @Override
    protected void onCancel() {
        processes.forEach(DriverProcess::abandon);
        lab.cancel();
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        String versions = drivers.stream().map(LockDriver::version).distinct().collect(Collectors.joining(", "));
        List<String> conclusions = new ArrayList<>(List.of(versions));
        conclusions.addAll(consensusOptions.skipped());
        conclusions.addAll(pass(result, outcome(result, lab.exclusion())));
        return conclusions;
    }

    @Override
    protected String table(RunResult result) {
        return CompareTable.of(result);
    }

    /** @threading any thread */
    private static final class ServerCpu {
        private static final Duration LIMIT = Duration.ofSeconds(2);

        /** Microseconds since their start, all nodes together; empty if a node does not report it. */
        static OptionalDouble us(List<NodeAddress> nodes, ClientTls files) {
            double seconds = 0;
            for (NodeAddress node : nodes) {
                try (AdminClient redis = AdminClient.connect(node, LIMIT, files)) {
                    seconds += Double.parseDouble(redis.info("used_cpu_user"));
                    seconds += Double.parseDouble(redis.info("used_cpu_sys"));
                } catch (IOException | NumberFormatException e) {
                    return OptionalDouble.empty();
                }
            }
            return OptionalDouble.of(seconds * 1e6);
        }
    }
}
