package dev.redlock.loadtest.measure;

import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "throughput", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        sortOptions = false, defaultValueProvider = OptionDefaults.class,
        description = {"Raises the load step by step until it saturates, and reports the step.",
            "Closed loop: the next number of cycles in flight brings less than 5 %% more cycles per second. Open loop "
                    + "(--rate, --rate-from): the rate is missed; the last rate that was kept counts."},
        footer = {"  load-test throughput                            about a minute",
            "  load-test throughput --nodes 5 --in-flight 1,2,4,8,16,32,64,128",
            "  load-test throughput --nodes 3 --rate-from 5000   raises the rate by half",
            "  load-test throughput --nodes 3 --driver redlock,set-nx"})
public final class ThroughputCommand extends LabCommand {
    private static final double GAIN_MIN = 1.05;
    private static final double RATE_GROWTH = 1.5;
    private static final int RATE_STEPS_MAX = 24;
    /** The number of steps that the progress display assumes for a search of unknown length. */
    private static final int RATE_STEPS_LIKELY = 8;

    @Option(names = "--rate-from", paramLabel = "R",
            description = "Open loop: start with this many cycles per second, and raise the rate by half each time "
                    + "until it is missed.")
    private Double rateFrom;

    private final List<String> found = new ArrayList<>();

    @Override
    protected void check(CommandLine line) {
        Options.require(line, rateFrom == null || !loadOptions.isOpen(), "--rate and --rate-from exclude each other");
        Options.require(line, rateFrom == null || rateFrom >= 1 && rateFrom <= 1_000_000,
                "--rate-from is " + rateFrom + ": expected 1 to 1000000 cycles per second");
    }

    @Override
    protected boolean isOpen() {
        return rateFrom != null || loadOptions.isOpen();
    }

    @Override
    protected long totalMs() {
        return turnsMs(rateFrom == null ? loadOptions.stepCount() : RATE_STEPS_LIKELY);
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        lab.warmUp();
        takeTurns((driver, nodeCount, repetition) -> {
            try (Clients clients = lab.open(driver, nodeCount)) {
                saturate(driver, nodeCount, repetition, clients);
            }
        });
        found.forEach(lab::note);
    }

    private void saturate(LockDriver driver, int nodeCount, int repetition, Clients clients)
            throws InterruptedException {
        List<SeriesSpec> steps = steps(driver.name(), nodeCount, repetition);
        SeriesSpec best = null;
        double bestPerSecond = 0;
        boolean isSaturated = false;
        for (int i = 0; i < steps.size() && !isSaturated; i++) {
            SeriesSpec step = steps.get(i);
            LoadPlan plan = loadOptions.plan(step, driver, clientOptions.isFenced());
            // The search ends at a missed rate, which is no failure.
            LoadResult result = lab.measure(step, plan, clients, LoadResult::failuresBesideRate, SeriesWatch.NONE);
            double perSecond = result.tally().cyclesPerSecond();
            isSaturated = isOpen() ? result.isRateMissed() : perSecond < bestPerSecond * GAIN_MIN;
            if (!isSaturated) {
                best = step;
                bestPerSecond = perSecond;
            }
        }
        found.add(conclusion(driver.name() + ", N = " + nodeCount, best, bestPerSecond, isSaturated));
    }

    private List<SeriesSpec> steps(String driver, int nodeCount, int repetition) {
        if (rateFrom == null) {
            return loadOptions.steps(driver, nodeCount, repetition);
        }
        List<SeriesSpec> steps = new ArrayList<>();
        double rate = rateFrom;
        for (int i = 0; i < RATE_STEPS_MAX; i++, rate *= RATE_GROWTH) {
            steps.add(loadOptions.openStep(driver, nodeCount, Math.rint(rate), repetition));
        }
        return steps;
    }

    private String conclusion(String where, SeriesSpec best, double perSecond, boolean isSaturated) {
        String what;
        if (best == null) {
            what = "the lowest rate was missed already; start lower";
        } else if (isOpen()) {
            what = String.format(Locale.ROOT, "%.0f cycles/s were kept, %s", best.ratePerSecond(),
                    isSaturated ? "the next rate was missed" : "and no rate was missed; go higher");
        } else {
            what = String.format(Locale.ROOT, "%s at %d in flight, %.0f cycles/s",
                    isSaturated ? "saturated" : "not saturated, most", best.inFlight(), perSecond);
        }
        return where + ": " + what;
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> lines = new ArrayList<>(found);
        lines.addAll(pass(result, outcome(result, result.sharedHoldings())));
        return lines;
    }

    @Override
    protected String table(RunResult result) {
        return SweepTable.of(result);
    }
}
