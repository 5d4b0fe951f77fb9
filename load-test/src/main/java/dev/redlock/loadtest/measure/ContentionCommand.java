package dev.redlock.loadtest.measure;

import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.ConsensusOptions;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.consensus.ConsensusServers;
import dev.redlock.loadtest.consensus.PeerServers;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** @threading caller-confined */
@Command(name = "contention", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false, defaultValueProvider = OptionDefaults.class,
        description = {"Measures many waiters on few resources: the time of a handoff, the fairness between "
                + "waiters, and the share that acquires before the wait ends.",
            "Handoff: from the moment a holder starts to release to the moment the next holder, "
                    + "already waiting, is notified. Fairness: Jain's index over the waiters, 1 if all acquired "
                    + "equally often, 1/waiters if one of them got every lock.",
            "With several numbers of --clients it measures crowds: each client has one waiter. The table shows "
                    + "the work of the servers for each grant, the share of it that the same clients cause while "
                    + "they are connected and idle, and the clients that never got a lock. The drivers etcd and "
                    + "zookeeper start their own servers, which do not count their commands."},
        footer = {"  load-test contention                              half a minute",
            "  load-test contention --in-flight 64 --keys 4 --hold 5ms --wait 2s",
            "  load-test contention --clients 4 --nodes 5 --fenced",
            "  load-test contention --keys 64 --hot-share 0.2 --in-flight 64",
            "  load-test contention --clients 2,8,32,128,512 --hold 5ms --wait 1m",
            "  load-test contention --clients 2,8 --wait 1m --driver redlock,etcd,zookeeper"})
public final class ContentionCommand extends LabCommand {
    private static final int CROWD_WARM_UP = 2;

    @Mixin
    private ConsensusOptions consensusOptions;

    private PeerServers servers;

    @Override
    protected void check(CommandLine line) {
        Options.require(line, !loadOptions.isOpen(),
                "--rate: contention is measured in a closed loop, where each waiter starts again when it is done");
        Options.require(line, !isCrowd() || !line.getParseResult().hasMatchedOption("--in-flight"),
                "--in-flight: with several numbers of --clients, each client has one waiter; leave it out");
        Options.require(line, !isCrowd() || nodeOptions.clusterShards == 0,
                "--cluster-shards: with several numbers of --clients, the nodes are single masters");
        Options.require(line, isCrowd() || !line.getParseResult().hasMatchedOption(ConsensusOptions.DATA),
                ConsensusOptions.DATA + ": contention starts such servers only with several numbers of --clients");
        consensusOptions.check(line, clientOptions.drivers(), nodeOptions, List.of("--addresses", "--delay", "--pin"));
    }

    private boolean isCrowd() {
        return clientOptions.clientCounts().size() > 1;
    }

    @Override
    protected boolean takesClientCounts() {
        return true;
    }

    @Override
    protected boolean startsServices() {
        return isCrowd();
    }

    @Override
    protected long totalMs() {
        int lines = clientOptions.clientCounts().size();
        long idleMs = ServerWork.IDLE_MS * lines * turnCount();
        return isCrowd() ? turnsMs(lines) + idleMs : turnsMs(loadOptions.stepCount());
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        if (isCrowd()) {
            measureAllCrowds();
            return;
        }
        lab.warmUpContended();
        clientOptions.drivers().forEach(this::noteWaiting);
        takeTurns((driver, nodeCount, repetition) -> {
            try (Clients clients = lab.open(driver, nodeCount)) {
                for (SeriesSpec step : loadOptions.steps(driver.name(), nodeCount, repetition)) {
                    lab.measure(step, driver, clients);
                }
            }
        });
    }

    private void measureAllCrowds() throws IOException, InterruptedException {
        List<LockDriver> drivers = consensusOptions.available(clientOptions.drivers());
        consensusOptions.skipped().forEach(lab::note);
        drivers.forEach(this::noteWaiting);
        try (PeerServers started = consensusOptions.servers(lab::note)) {
            servers = started;
            lab.use(started);
            for (LockDriver driver : drivers) {
                lab.warmUp(driver, CROWD_WARM_UP,
                        one -> List.of(loadOptions.contendedWarmUpPlan(one, clientOptions.isFenced())));
            }
            takeTurns(drivers, this::measureCrowds);
        }
    }

    private void measureCrowds(LockDriver driver, int nodeCount, int repetition)
            throws IOException, InterruptedException {
        for (int count : clientOptions.clientCounts()) {
            SeriesSpec step = new SeriesSpec(driver.name(), nodeCount, LoopKind.CLOSED, count, 0, repetition);
            LoadPlan plan = loadOptions.plan(step, driver, clientOptions.isFenced());
            try (Clients clients = lab.open(driver, nodeCount, count)) {
                if (driver.service().isPresent()) {
                    ConsensusServers group = servers.of(driver.service().get(), nodeCount);
                    measureCrowd(step, plan, clients, new ServerWork(() -> cpuOf(group)));
                    continue;
                }
                try (ServerCounts counts = ServerCounts.of(lab.addresses(nodeCount), lab.tlsFiles())) {
                    measureCrowd(step, plan, clients, new ServerWork(counts::read));
                }
            }
        }
    }

    private void measureCrowd(SeriesSpec step, LoadPlan plan, Clients clients, ServerWork work)
            throws InterruptedException {
        lab.begin(step.title() + ", connected and idle");
        work.measureIdle();
        lab.end(ServerWork.IDLE_MS);
        lab.measure(step, plan, clients, LoadResult::failures, work);
    }

    /** These servers do not count their commands. */
    private static ServerCounts.Reading cpuOf(ConsensusServers group) {
        return new ServerCounts.Reading(Double.NaN, group.cpuUs().orElse(Double.NaN));
    }

    private void noteWaiting(LockDriver driver) {
        lab.note(driver.name() + (driver.options().contains(DriverOption.WAIT)
                ? " waits in the client"
                : " cannot wait; the rig tries again after 1 to 5 ms"));
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> conclusions = new ArrayList<>(consensusOptions.skipped());
        conclusions.addAll(pass(result, outcome(result, result.sharedHoldings())));
        return conclusions;
    }

    @Override
    protected String table(RunResult result) {
        return isCrowd() ? crowds(result) : handoffs(result);
    }

    /** The cost of a grant, by the number of clients. */
    private static String crowds(RunResult result) {
        int width = result.series().stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %8s   %-43s %9s %8s %6s%n", "", "", "", "",
                "servers, per grant", "longest", "", "never"));
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %8s   %9s %10s %11s %10s %9s %8s %6s%n",
                "driver", "N", "clients", "grants/s", "commands", "of it idle", "CPU us", "of it idle", "wait, ms",
                "fairness", "served"));
        result.series().forEach(one -> text.append(crowd(one, width)));
        return text.toString();
    }

    private static String crowd(SeriesResult one, int width) {
        Map<String, Double> figures = one.figures();
        return String.format(Locale.ROOT, "%-" + width + "s %3d %7d %8.0f   %9s %10s %11s %10s %9.0f %8.3f %6.0f%s%n",
                one.spec().driver(), one.spec().nodes(), one.spec().inFlight(), one.tally().cyclesPerSecond(),
                cell("%.1f", figures.get(ServerWork.COMMANDS)), cell("%.1f", figures.get(ServerWork.IDLE_COMMANDS)),
                cell("%.0f", figures.get(ServerWork.CPU_US)), cell("%.0f", figures.get(ServerWork.IDLE_CPU_US)),
                one.operations().get(SeriesResult.ACQUIRE).us(100) / 1e3, figures.getOrDefault("jainIndex", 1.0),
                figures.getOrDefault("neverServed", 0.0), one.verdict() == Verdict.FAIL ? "  FAIL" : "");
    }

    private static String cell(String format, Double figure) {
        return figure == null ? "-" : String.format(Locale.ROOT, format, figure);
    }

    private static String handoffs(RunResult result) {
        int width = result.series().stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %7s   %-26s   %-26s   %8s %8s%n", "", "", "",
                "", "handoff, ms", "wait, ms", "", ""));
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %7s   %8s %8s %8s   %8s %8s %8s   %8s %8s%n",
                "driver", "N", "waiters", "locks/s", "p50", "p99", "max", "p50", "p99", "max", "success", "fairness"));
        result.series().forEach(one -> text.append(line(one, width)));
        return text.toString();
    }

    private static String line(SeriesResult one, int width) {
        OperationResult handoff = one.operations().get(LoadTestRig.HANDOFF);
        OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
        return String.format(Locale.ROOT, "%-" + width + "s %3d %7d %7.0f   %s   %s   %8s %8.3f%s%n",
                one.spec().driver(), one.spec().nodes(), one.spec().inFlight(), one.tally().cyclesPerSecond(),
                handoff == null ? "       -        -        -" : cells(handoff), cells(acquire),
                String.format(Locale.ROOT, "%.1f %%", 100 * one.figures().getOrDefault("successShare", 1.0)),
                one.figures().getOrDefault("jainIndex", 1.0), one.verdict() == Verdict.FAIL ? "  FAIL" : "");
    }

    private static String cells(OperationResult latencies) {
        return String.format(Locale.ROOT, "%8.2f %8.2f %8.2f", latencies.us(50) / 1e3, latencies.us(99) / 1e3,
                latencies.us(100) / 1e3);
    }
}
