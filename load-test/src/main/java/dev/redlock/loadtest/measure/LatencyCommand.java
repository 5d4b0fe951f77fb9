package dev.redlock.loadtest.measure;

import dev.redlock.cli.Counted;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.NodeDelays;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "latency", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = "Measures acquire and release latency of quorum locks against the number of nodes, one cycle at "
                + "a time and under load, and checks that no two holders overlap.",
        footer = {"  load-test latency                        the full sweep, about a minute",
            "  load-test latency --nodes 3 --duration 2s --jvm-warmup 2s",
            "  load-test latency --nodes 1,3,5 --rate 500,2000   open loop, fixed rates",
            "  load-test latency --nodes 5 --delay 4=10ms        one node is far away",
            "  load-test latency --nodes 5 --versus-delay 4=100ms   the same against none",
            "  load-test latency --addresses 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379"})
public final class LatencyCommand extends LabCommand {
    @Option(names = "--versus-delay", split = ",", paramLabel = "[NODE=]TIME",
            description = "Measure each step a second time with these delays instead of those of --delay, the two in "
                    + "turns, and compare them: 4=100ms for one slow node against none.")
    private List<String> versusDelays = List.of();

    @Override
    protected void check(CommandLine line) {
        nodeOptions.checkDelays(line, "--versus-delay", versusDelays);
        Options.require(line, !isVersus() || !NodeDelays.parse(versusDelays).equals(nodeOptions.delays()),
                "--versus-delay equals --delay: there is nothing to compare");
    }

    private boolean isVersus() {
        return !versusDelays.isEmpty();
    }

    @Override
    protected long totalMs() {
        long contests = (long) nodeOptions.counts().size() * clientOptions.drivers().size();
        long sides = isVersus() ? 2 : 1;
        return turnsMs((int) (loadOptions.stepCount() * sides)) + contests * Lab.contestMs();
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        lab.warmUp();
        List<NodeAddress> near = lab.addresses(nodeOptions.countMax());
        List<NodeAddress> far = isVersus() ? lab.reach(NodeDelays.parse(versusDelays)) : List.of();
        if (isVersus()) {
            lab.note("series whose driver is followed by +" + versus() + " were measured with these delays of nodes "
                    + "instead of those of the others, in turns with them");
        }
        takeTurns((driver, nodeCount, repetition) -> {
            lab.use(near);
            measure(driver, driver.name(), nodeCount, repetition);
            if (isVersus()) {
                lab.use(far);
                measure(driver, farName(driver.name()), nodeCount, repetition);
                lab.use(near);
            }
            if (repetition == 1) {
                lab.contest(driver, nodeCount);
            }
        });
        Agreement.warnings(lab.series()).forEach(lab::warn);
    }

    private String versus() {
        return String.join(",", versusDelays);
    }

    private String farName(String driver) {
        return driver + "+" + versus();
    }

    private void measure(LockDriver driver, String name, int nodeCount, int repetition)
            throws IOException, InterruptedException {
        try (Clients clients = lab.open(driver, nodeCount)) {
            for (SeriesSpec step : loadOptions.steps(name, nodeCount, repetition)) {
                lab.measure(step, driver, clients);
            }
        }
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> lines = new ArrayList<>(curves(result));
        lines.addAll(pass(result, "no two holders overlapped in " + lab.exclusion()));
        if (isVersus()) {
            for (SeriesResult one : result.series()) {
                SeriesSpec spec = one.spec();
                if (spec.repetition() == 1 && !spec.driver().endsWith("+" + versus())) {
                    lines.add(comparison(result, spec));
                }
            }
        }
        return lines;
    }

    /** The result of a sweep in a line for each driver and load. */
    private List<String> curves(RunResult result) {
        String turns = loadOptions.repetitions == 1
                ? ""
                : "; median of " + loadOptions.repetitions + " turns (fastest - slowest)";
        Map<SeriesSpec, StringJoiner> curves = new LinkedHashMap<>();
        for (SeriesGroup one : SeriesGroup.of(result.series())) {
            String start = "Acquire p50, " + one.spec().driver() + ", " + one.spec().load() + ": ";
            curves.computeIfAbsent(one.spec().withNodes(0), spec -> new StringJoiner(", ", start, turns))
                    .add(point(one) + " on " + Counted.of(one.spec().nodes(), "node"));
        }
        return curves.values().stream().map(StringJoiner::toString).toList();
    }

    private static String point(SeriesGroup one) {
        Spread p50 = one.acquireP50Us();
        if (p50 == null) {
            return "none";
        }
        return one.turns().size() == 1
                ? String.format(Locale.ROOT, "%.1f us", p50.median())
                : String.format(Locale.ROOT, "%.1f us (%.1f - %.1f)", p50.median(), p50.min(), p50.max());
    }

    /** Both sides of one step, over all repetitions. */
    private String comparison(RunResult result, SeriesSpec near) {
        Spread without = acquireP99(result, near, near.driver());
        Spread with = acquireP99(result, near, farName(near.driver()));
        return String.format(Locale.ROOT,
                "%s: acquire p99 %.1f us (%.1f - %.1f) without and %.1f us (%.1f - %.1f) with "
                        + "%s, %.2f times as long; medians of %d repetitions (least - most)",
                near.title(), without.median(),
                without.min(), without.max(), with.median(), with.min(), with.max(), versus(),
                with.median() / without.median(), loadOptions.repetitions);
    }

    private static Spread acquireP99(RunResult result, SeriesSpec step, String driver) {
        return Spread.of(result.series()
                .stream()
                .filter(one -> one.spec().driver().equals(driver) && one.spec().nodes() == step.nodes()
                        && one.spec().inFlight() == step.inFlight()
                        && one.spec().ratePerSecond() == step.ratePerSecond())
                .toList(), one -> one.operations().get(SeriesResult.ACQUIRE).us(99));
    }

    @Override
    protected String table(RunResult result) {
        return SweepTable.of(result);
    }
}
