package dev.redlock.loadtest.election;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.cli.AdminClient;
import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.measure.ServerCounts;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "election", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = {"Measures leader election, and a task that one of many runs, among clients with connections of "
                + "their own: what it costs the servers that a leader stays, and how soon another one leads after it.",
            "The leader that dies loses its network. Its successor counts from the moment at which its keys have "
                    + "expired on enough nodes. Medians over the rounds (least - most)."},
        footer = {"  load-test election", "  load-test election --candidates 20 --nodes 1 --rounds 10"})
public final class ElectionCommand implements Callable<Integer> {
    private static final double NS_PER_MS = 1e6;
    private static final int RESIGNATIONS = 5;
    /** Longer than all of them need to start. */
    private static final Duration TASK_HELD = Duration.ofSeconds(10);

    @Option(names = "--candidates", paramLabel = "COUNT", defaultValue = "300",
            description = "Clients, 2 to 512 (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--nodes", paramLabel = "COUNT", defaultValue = "3",
            description = "Nodes to start (default: ${DEFAULT-VALUE}).")
    private int nodeCount;

    @Option(names = "--ttl", paramLabel = "TIME", defaultValue = "3s", converter = DurationConverter.class,
            description = "Time to live of the leader's lock, 200ms to 60s (default: ${DEFAULT-VALUE}).")
    private Duration ttl;

    @Option(names = "--idle", paramLabel = "TIME", defaultValue = "5s", converter = DurationConverter.class,
            description = "Time for which a leader stays, and its cost is measured (default: ${DEFAULT-VALUE}).")
    private Duration idle;

    @Option(names = "--rounds", paramLabel = "COUNT", defaultValue = "3",
            description = "Leaders that die (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Spec
    private CommandSpec spec;

    private final Map<Case, List<Measured>> measured = new EnumMap<>(Case.class);

    /** @threading immutable */
    private enum Case {
        STAYS("the leader stays, each second"), RESIGNS("the leader resigns"), DIES("the leader dies"), TASK(
                "all try to run a task");

        private final String words;

        Case(String words) {
            this.words = words;
        }
    }

    /** @threading immutable */
    private record Measured(double ms, ServerCounts.Reading work) {
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        CommandLine line = spec.commandLine();
        Options.requireRange(line, "--candidates", count, 2, 512);
        Options.requireRange(line, "--nodes", nodeCount, 1, RedisNodesContext.COUNT_MAX);
        Options.requireRange(line, "--rounds", rounds, 1, 100);
        Options.requireAtLeast(line, "--ttl", ttl, Duration.ofMillis(200));
        Options.requireAtLeast(line, "--idle", idle, Duration.ofMillis(100));
        Options.require(line, ttl.toSeconds() <= 60, "--ttl is " + DurationConverter.text(ttl)
                + ": expected at most 60s, the default maxTtl of a client");
        PrintWriter out = line.getOut();
        try (RedisNodes nodes = RedisNodes.start(new RedisNodesContext().count(nodeCount));
                ServerCounts servers = ServerCounts.of(
                        nodes.nodes().stream().map(RedisNode::address).toList(), nodes.tls());
                Candidates candidates = new Candidates(nodes.addresses(), count - 1)) {
            for (int round = 0; round < rounds; round++) {
                lead("leader" + round, nodes, servers, candidates);
                task("task" + round, servers, candidates);
            }
        } catch (IOException e) {
            out.println("FAIL: " + e.getMessage());
            return ExitCodes.FAILED;
        }
        print(out);
        return ExitCodes.GOOD;
    }

    /** A leader that stays for a time and dies, and some that resign. */
    private void lead(String resource, RedisNodes nodes, ServerCounts servers, Candidates candidates)
            throws IOException, InterruptedException {
        AcquireOptions options = AcquireOptions.ofTtl(ttl);
        List<FaultProxy> network = nodes.nodes().stream().map(node -> FaultProxy.open(node.address())).toList();
        String[] behind = network.stream().map(proxy -> proxy.address().toString()).toArray(String[]::new);
        List<Election> elections = new ArrayList<>();
        try (Candidates mortal = new Candidates(behind, 1)) {
            elections.addAll(mortal.elect(resource, options));
            mortal.next(resource);
            elections.addAll(candidates.elect(resource, options));
            // Until each of them waits.
            Thread.sleep(idle.toMillis());
            stay(servers);
            ServerCounts.Reading before = servers.read();
            network.forEach(FaultProxy::cut);
            double freeNs = System.nanoTime() + NS_PER_MS * freeInMs(resource, nodes);
            Candidates.Elected next = candidates.next(resource);
            add(Case.DIES, (next.atNs() - freeNs) / NS_PER_MS, servers.read().since(before));
            for (int i = 0; i < RESIGNATIONS; i++) {
                before = servers.read();
                long startNs = System.nanoTime();
                next.term().resign();
                next = candidates.next(resource);
                add(Case.RESIGNS, (next.atNs() - startNs) / NS_PER_MS, servers.read().since(before));
            }
        } finally {
            elections.parallelStream().forEach(Election::close);
            network.forEach(FaultProxy::close);
        }
    }

    private void stay(ServerCounts servers) throws IOException, InterruptedException {
        ServerCounts.Reading before = servers.read();
        long startNs = System.nanoTime();
        Thread.sleep(idle.toMillis());
        double seconds = (System.nanoTime() - startNs) / NS_PER_MS / 1e3;
        add(Case.STAYS, Double.NaN, servers.read().since(before).each(seconds));
    }

    private void task(String resource, ServerCounts servers, Candidates candidates)
            throws IOException, InterruptedException {
        AcquireOptions options = AcquireOptions.ofTtl(ttl).holdAtLeast(TASK_HELD);
        ServerCounts.Reading before = servers.read();
        long startNs = System.nanoTime();
        int ran = candidates.tryRun(resource, options);
        if (ran != 1) {
            throw new IOException(ran + " clients ran the task of one");
        }
        add(Case.TASK, (System.nanoTime() - startNs) / NS_PER_MS, servers.read().since(before));
    }

    /** In how many milliseconds the keys have expired on so many nodes that another candidate may lead. */
    private static double freeInMs(String resource, RedisNodes nodes) throws IOException {
        List<Long> ttls = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            try (AdminClient redis = node.connect()) {
                ttls.add(Math.max(0, ((Number) redis.call("PTTL", resource)).longValue()));
            }
        }
        ttls.sort(null);
        return ttls.get(nodes.size() / 2);
    }

    private void add(Case which, double ms, ServerCounts.Reading work) {
        measured.computeIfAbsent(which, any -> new ArrayList<>()).add(new Measured(ms, work));
    }

    private void print(PrintWriter out) {
        out.printf("%d candidates, %d nodes, ttl %s; medians of %d rounds (least - most)%n%n", count, nodeCount,
                DurationConverter.text(ttl), rounds);
        out.printf("%-30s %24s   %9s %8s%n", "", "", "servers:", "");
        out.printf("%-30s %24s   %9s %8s%n", "", "ms", "commands", "CPU us");
        measured.forEach((which, all) -> out.printf(Locale.ROOT, "%-30s %24s   %9.0f %8.0f%n", which.words,
                which == Case.STAYS ? "-" : spread(all.stream().map(Measured::ms).toList()),
                median(all.stream().map(one -> one.work.commands()).toList()),
                median(all.stream().map(one -> one.work.cpuUs()).toList())));
        out.flush();
    }

    private static String spread(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return String.format(Locale.ROOT, "%.1f (%.1f - %.1f)", median(values), sorted.get(0),
                sorted.get(sorted.size() - 1));
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }
}
