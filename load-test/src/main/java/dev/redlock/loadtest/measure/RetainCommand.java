package dev.redlock.loadtest.measure;

import dev.redlock.api.ReleaseOutcome;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "retain", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = {"Measures when it pays to retain locks: one client makes a share of the acquires of each "
                + "resource, and another client, with an event loop of its own, makes the rest, one after the other. "
                + "The first driver is the measure for the others.",
            "idle: each acquire of the other client follows many of the first one, whose lock nobody uses any more. A "
                    + "driver that retains locks still has it then."},
        footer = {"  load-test retain                                   about two minutes",
            "  load-test retain --local-shares 75,90 --nodes 3,5",
            "  load-test retain --keys 16 --in-flight 4"})
public final class RetainCommand extends LabCommand {
    /** A client retains a lock again at once if its last retention had so many local grants. */
    private static final int RETAINED_COUNT = 20;
    private static final String IDLE = "idle";
    private static final String SEPARATOR = ", ";
    private static final double US_PER_MS = 1e3;

    @Option(names = "--local-shares", split = ",", paramLabel = "PERCENT", defaultValue = "50,75,90,99",
            description = "Shares of the first client, 1 to 99 (default: ${DEFAULT-VALUE}).")
    private List<Integer> localShares;

    @Override
    protected void check(CommandLine line) {
        Options.require(line, localShares.stream().allMatch(share -> share >= 1 && share <= 99),
                "--local-shares is " + localShares + ": expected 1 to 99");
        Options.requireDistinct(line, "--local-shares", localShares);
        Options.require(line, clientOptions.clients() == 2 && !loadOptions.isOpen(),
                "retain measures a client and another one in a closed loop: leave --clients and --rate out");
        for (LockDriver driver : clientOptions.drivers()) {
            Options.require(line, driver.options().contains(DriverOption.WAIT), "--driver " + driver.name()
                    + " cannot wait for a lock that another client has: name one that can");
        }
    }

    @Override
    protected long totalMs() {
        return turnsMs(loadOptions.stepCount() * (localShares.size() + 1));
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        int mostLocal = localShares.stream().mapToInt(Integer::intValue).max().orElseThrow();
        lab.warmUp(clientOptions.clients(), driver -> {
            SeriesSpec step = loadOptions.steps(driver.name(), nodeOptions.countMax(), 1).get(0);
            return Stream.of(mixed(step, driver, mostLocal), idle(step, driver))
                    .map(plan -> plan.warmup(Duration.ZERO).duration(loadOptions.jvmWarmup.dividedBy(2)))
                    .toList();
        });
        takeTurns((driver, nodeCount, repetition) -> {
            try (Clients clients = lab.open(driver, nodeCount)) {
                for (SeriesSpec step : loadOptions.steps(driver.name(), nodeCount, repetition)) {
                    for (int share : localShares) {
                        measure(step, share + " % local", mixed(step, driver, share), clients);
                    }
                    measure(step, IDLE, idle(step, driver), clients);
                }
            }
        });
    }

    private LoadPlan mixed(SeriesSpec step, LockDriver driver, int localPercent) {
        return plan(step, driver).foreignShare(1 - localPercent / 100.0);
    }

    private LoadPlan idle(SeriesSpec step, LockDriver driver) {
        return driver.isRetaining()
                ? plan(step, driver).foreignAfter(RETAINED_COUNT, ReleaseOutcome.RETAINED)
                : plan(step, driver).foreignAfter(1, ReleaseOutcome.RELEASED);
    }

    private LoadPlan plan(SeriesSpec step, LockDriver driver) {
        return loadOptions.plan(step, driver, clientOptions.isFenced());
    }

    private void measure(SeriesSpec step, String mix, LoadPlan plan, Clients clients) throws InterruptedException {
        SeriesSpec named = new SeriesSpec(step.driver() + SEPARATOR + mix, step.nodes(), step.loop(), step.inFlight(),
                step.ratePerSecond(), step.repetition());
        lab.measure(named, plan, clients, LoadResult::failures, SeriesWatch.NONE);
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> conclusions = new ArrayList<>(pass(result, result.calls()));
        Rows rows = new Rows(result);
        for (String load : rows.loads()) {
            for (String driver : rows.drivers().subList(1, rows.drivers().size())) {
                conclusions.add(driver + ", " + load + ": " + whenItPays(rows, driver, load));
                conclusions.add(driver + ", " + load + ": " + idleInWords(rows, driver, load));
            }
        }
        return conclusions;
    }

    private String whenItPays(Rows rows, String driver, String load) {
        List<Integer> good = localShares.stream()
                .sorted(Comparator.reverseOrder())
                .takeWhile(share -> rows.ratio(driver, load, share + " % local") > 1)
                .toList();
        String first = rows.drivers().get(0);
        return good.isEmpty()
                ? "at no share more locks than " + first
                : "more locks than " + first + " from " + good.get(good.size() - 1) + " % local on";
    }

    private static String idleInWords(Rows rows, String driver, String load) {
        Double foreignUs = rows.us(driver, load, IDLE, LoadTestRig.FOREIGN, 50);
        Double worstUs = rows.us(driver, load, IDLE, LoadTestRig.FOREIGN, 99);
        Double loneUs = rows.us(rows.drivers().get(0), load, IDLE, SeriesResult.CYCLE, 50);
        return foreignUs == null || loneUs == null
                ? "too short to measure the other client"
                : String.format(Locale.ROOT, "the other client gets a lock that nobody uses in %.0f us (p50), %.1f "
                        + "lone cycles of %s, and in %.2f ms (p99)", foreignUs, foreignUs / loneUs,
                        rows.drivers().get(0), worstUs / US_PER_MS);
    }

    @Override
    protected String table(RunResult result) {
        Rows rows = new Rows(result);
        int width = result.series().stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        for (String load : rows.loads()) {
            int least = Math.max(width, load.length());
            text.append(String.format(Locale.ROOT, "%-" + least + "s  %9s %19s %6s  %17s  %17s  %6s%n", "", "locks/s",
                    "", "", "local, us", "other client, us", "local"));
            text.append(String.format(Locale.ROOT, "%-" + least + "s  %9s %19s %6s  %8s %8s  %8s %8s  %6s%n", load,
                    "median", "(min - max)", "ratio", "p50", "p99", "p50", "p99", "grants"));
            for (String mix : rows.mixes()) {
                rows.drivers().forEach(driver -> text.append(line(rows, driver, load, mix, least)));
            }
            text.append(System.lineSeparator());
        }
        return text.toString();
    }

    private static String line(Rows rows, String driver, String load, String mix, int width) {
        List<SeriesResult> turns = rows.turns(driver, load, mix);
        Spread rate = Spread.of(turns, one -> one.tally().cyclesPerSecond());
        if (rate == null) {
            return "";
        }
        Spread local = Spread.of(turns, one -> one.figures().get(LoadResult.LOCAL_GRANT_SHARE));
        return String.format(Locale.ROOT, "%-" + width + "s  %9.0f %19s %6.2f  %8s %8s  %8s %8s  %6s%s%n",
                driver + SEPARATOR + mix, rate.median(),
                String.format(Locale.ROOT, "(%.0f - %.0f)", rate.min(), rate.max()), rows.ratio(driver, load, mix),
                text(rows.us(driver, load, mix, LoadTestRig.LOCAL, 50)),
                text(rows.us(driver, load, mix, LoadTestRig.LOCAL, 99)),
                text(rows.us(driver, load, mix, LoadTestRig.FOREIGN, 50)),
                text(rows.us(driver, load, mix, LoadTestRig.FOREIGN, 99)),
                local == null ? "-" : String.format(Locale.ROOT, "%.0f %%", 100 * local.median()),
                turns.stream().anyMatch(one -> one.verdict() == Verdict.FAIL) ? "  FAIL" : "");
    }

    private static String text(Double us) {
        return us == null ? "-" : String.format(Locale.ROOT, us < 10 ? "%.2f" : "%.0f", us);
    }

    /**
     * The series by driver, load and mix; medians over the repetitions.
     *
     * @threading immutable
     */
    private record Rows(List<SeriesResult> series) {
        Rows(RunResult result) {
            this(result.series());
        }

        private static String driver(SeriesResult one) {
            return one.spec().driver().substring(0, one.spec().driver().lastIndexOf(SEPARATOR));
        }

        private static String mix(SeriesResult one) {
            return one.spec().driver().substring(driver(one).length() + SEPARATOR.length());
        }

        private static String load(SeriesResult one) {
            return "N = " + one.spec().nodes() + ", " + one.spec().load();
        }

        List<String> drivers() {
            return series.stream().map(Rows::driver).distinct().toList();
        }

        List<String> mixes() {
            return series.stream().map(Rows::mix).distinct().toList();
        }

        List<String> loads() {
            return series.stream().map(Rows::load).distinct().toList();
        }

        List<SeriesResult> turns(String driver, String load, String mix) {
            return series.stream()
                    .filter(one -> driver(one).equals(driver) && load(one).equals(load) && mix(one).equals(mix))
                    .toList();
        }

        /** Locks per second against the first driver; 0 if one of both is missing. */
        double ratio(String driver, String load, String mix) {
            Spread own = Spread.of(turns(driver, load, mix), one -> one.tally().cyclesPerSecond());
            Spread first = Spread.of(turns(drivers().get(0), load, mix), one -> one.tally().cyclesPerSecond());
            return own == null || first == null || first.median() == 0 ? 0 : own.median() / first.median();
        }

        /** Null if there was none. */
        Double us(String driver, String load, String mix, String operation, double percentile) {
            Spread spread = Spread.of(turns(driver, load, mix), one -> {
                OperationResult latencies = one.operations().get(operation);
                return latencies == null || latencies.histogram().getTotalCount() == 0
                        ? null
                        : latencies.us(percentile);
            });
            return spread == null ? null : spread.median();
        }
    }
}
