package dev.redlock.loadtest.measure;

import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
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
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** @threading caller-confined */
@Command(name = "contention", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false, defaultValueProvider = OptionDefaults.class,
        description = {"Measures many waiters on few resources: the time of a handoff, the fairness between "
                + "waiters, and the share that acquires before the wait ends.",
            "Handoff: from the moment a holder starts to release to the moment the next holder, "
                    + "already waiting, is notified. Fairness: Jain's index over the waiters, 1 if all acquired "
                    + "equally often, 1/waiters if one of them got every lock.",
            "With several numbers of --clients it measures crowds: each client has one waiter, and the table shows "
                    + "what a grant costs the servers, and who never got a lock."},
        footer = {"  load-test contention                              half a minute",
            "  load-test contention --in-flight 64 --keys 4 --hold 5ms --wait 2s",
            "  load-test contention --clients 4 --nodes 5 --fenced",
            "  load-test contention --keys 64 --hot-share 0.2 --in-flight 64",
            "  load-test contention --clients 2,8,32,128 --hold 5ms --wait 1m"})
public final class ContentionCommand extends LabCommand {
    private static final int CROWD_WARM_UP = 2;

    @Override
    protected void check(CommandLine line) {
        Options.require(line, !loadOptions.isOpen(),
                "--rate: contention is measured in a closed loop, where each waiter starts again when it is done");
        Options.require(line, !isCrowd() || !line.getParseResult().hasMatchedOption("--in-flight"),
                "--in-flight: with several numbers of --clients, each client has one waiter; leave it out");
        Options.require(line, !isCrowd() || nodeOptions.clusterShards == 0,
                "--cluster-shards: with several numbers of --clients, the nodes are single masters");
    }

    private boolean isCrowd() {
        return clientOptions.clientCounts().size() > 1;
    }

    @Override
    protected boolean takesClientCounts() {
        return true;
    }

    @Override
    protected long totalMs() {
        return turnsMs(isCrowd() ? clientOptions.clientCounts().size() : loadOptions.stepCount());
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        if (isCrowd()) {
            lab.warmUp(CROWD_WARM_UP,
                    driver -> List.of(loadOptions.contendedWarmUpPlan(driver, clientOptions.isFenced())));
        } else {
            lab.warmUpContended();
        }
        for (LockDriver driver : clientOptions.drivers()) {
            lab.note(driver.name() + (driver.options().contains(DriverOption.WAIT)
                    ? " waits in the client"
                    : " cannot wait; the rig tries again after 1 to 5 ms"));
        }
        takeTurns((driver, nodeCount, repetition) -> {
            if (isCrowd()) {
                measureCrowds(driver, nodeCount, repetition);
                return;
            }
            try (Clients clients = lab.open(driver, nodeCount)) {
                for (SeriesSpec step : loadOptions.steps(driver.name(), nodeCount, repetition)) {
                    lab.measure(step, driver, clients);
                }
            }
        });
    }

    private void measureCrowds(LockDriver driver, int nodeCount, int repetition)
            throws IOException, InterruptedException {
        for (int count : clientOptions.clientCounts()) {
            SeriesSpec step = new SeriesSpec(driver.name(), nodeCount, LoopKind.CLOSED, count, 0, repetition);
            LoadPlan plan = loadOptions.plan(step, driver, clientOptions.isFenced());
            try (Clients clients = lab.open(driver, nodeCount, count);
                    ServerCounts counts = ServerCounts.of(lab.addresses(nodeCount), lab.tlsFiles())) {
                lab.measure(step, plan, clients, LoadResult::failures, new ServerWork(counts));
            }
        }
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        return pass(result, String.format(Locale.ROOT, "no two holders overlapped in %,d holdings",
                result.exclusion().holdings()));
    }

    @Override
    protected String table(RunResult result) {
        return isCrowd() ? crowds(result) : handoffs(result);
    }

    /** What a grant costs, by the number of clients. */
    private static String crowds(RunResult result) {
        int width = result.series().stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %8s   %-21s %9s %8s %6s%n", "", "", "", "",
                "servers, per grant", "longest", "", "never"));
        text.append(String.format(Locale.ROOT, "%-" + width + "s %3s %7s %8s   %9s %11s %9s %8s %6s%n", "driver", "N",
                "clients", "grants/s", "commands", "CPU us", "wait, ms", "fairness", "served"));
        result.series().forEach(one -> text.append(crowd(one, width)));
        return text.toString();
    }

    private static String crowd(SeriesResult one, int width) {
        Map<String, Double> figures = one.figures();
        return String.format(Locale.ROOT, "%-" + width + "s %3d %7d %8.0f   %9.1f %11.0f %9.0f %8.3f %6.0f%s%n",
                one.spec().driver(), one.spec().nodes(), one.spec().inFlight(), one.tally().cyclesPerSecond(),
                figures.getOrDefault(ServerWork.COMMANDS, Double.NaN),
                figures.getOrDefault(ServerWork.CPU_US, Double.NaN),
                one.operations().get(SeriesResult.ACQUIRE).us(100) / 1e3, figures.getOrDefault("jainIndex", 1.0),
                figures.getOrDefault("neverServed", 0.0), one.verdict() == Verdict.FAIL ? "  FAIL" : "");
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
