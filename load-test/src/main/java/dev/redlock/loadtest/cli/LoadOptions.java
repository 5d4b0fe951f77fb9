package dev.redlock.loadtest.cli;

import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.driver.DriverOption;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * The options for the kind, amount and duration of the load, and for the output folder.
 *
 * @threading caller-confined
 */
public final class LoadOptions {
    private static final int IN_FLIGHT_MAX = 4096;
    private static final int OPEN_IN_FLIGHT = 256;
    private static final int KEYS_MAX = 1_000_000;
    private static final int REPETITIONS_MAX = 100;
    private static final double RATE_MAX = 1_000_000;
    private static final Duration TTL_MIN = Duration.ofMillis(100);
    /** The default {@code maxTtl} of a client. */
    private static final Duration TTL_MAX = Duration.ofSeconds(60);
    private static final Duration DURATION_MIN = Duration.ofMillis(10);

    @Option(names = "--in-flight", split = ",", paramLabel = "K",
            description = "Closed loop: cycles in flight at a time, 1 to 4096 (default: ${DEFAULT-VALUE}). Open loop: "
                    + "one number, the most in flight (default: 256).")
    private List<Integer> inFlight;

    @Option(names = "--rate", split = ",", paramLabel = "R",
            description = "Open loop: start this many cycles per second, regardless of unfinished ones; latency "
                    + "counts from the intended time. Default: closed loop.")
    private List<Double> rates = List.of();

    @Option(names = "--duration", paramLabel = "TIME", converter = DurationConverter.class,
            description = "Recorded time of each measurement (default: ${DEFAULT-VALUE}).")
    public Duration duration;

    @Option(names = "--warmup", paramLabel = "TIME", converter = DurationConverter.class,
            description = "Unrecorded time before each measurement (default: ${DEFAULT-VALUE}).")
    public Duration warmup;

    @Option(names = "--jvm-warmup", paramLabel = "TIME", defaultValue = "8s",
            converter = DurationConverter.class,
            description = "Unrecorded load of each driver at the start, for the compiler: every number of cycles in "
                    + "flight for an equal part of this time (default: ${DEFAULT-VALUE}).")
    public Duration jvmWarmup;

    @Option(names = "--keys", paramLabel = "COUNT",
            description = "Resources, 1 to a million. With fewer than cycles in flight, cycles contend. Default: one "
                    + "for each cycle in flight.")
    private Integer keys;

    @Option(names = "--hot-share", paramLabel = "SHARE", defaultValue = "0",
            description = "Share of the cycles that lock one resource common to all, 0 to 1 (default: "
                    + "${DEFAULT-VALUE}).")
    private double hotShare;

    @Option(names = "--hold", paramLabel = "TIME", defaultValue = "0ms", converter = DurationConverter.class,
            description = "Time to hold a lock (default: ${DEFAULT-VALUE}).")
    private Duration hold;

    @Option(names = "--wait", paramLabel = "TIME", defaultValue = "0ms", converter = DurationConverter.class,
            description = "Time for which a rejected cycle retries; 0ms: every attempt counts "
                    + "(default: ${DEFAULT-VALUE}).")
    private Duration wait;

    @Option(names = "--ttl", paramLabel = "TIME", defaultValue = "30s", converter = DurationConverter.class,
            description = "Time to live of each lock, 100ms to 60s (default: ${DEFAULT-VALUE}).")
    public Duration ttl;

    @Option(names = "--errors-max", paramLabel = "SHARE", defaultValue = "0",
            description = "Share of failed calls above which the run fails, 0 to 1 (default: "
                    + "${DEFAULT-VALUE}).")
    private double errorsMax;

    @Option(names = "--repetitions", paramLabel = "COUNT", defaultValue = "1",
            description = "Repetitions of every measurement, with the drivers taking turns, 1 to 100 (default: "
                    + "${DEFAULT-VALUE}).")
    public int repetitions;

    @Option(names = "--seed", paramLabel = "NUMBER", defaultValue = "1",
            description = "Seed for the choice of hot cycles and for the rig's retry delays (default: "
                    + "${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--output", paramLabel = "FOLDER",
            description = "An empty or missing folder for the results. Default: a new one under "
                    + "load-test-results.")
    public Path output;

    private boolean isInFlightGiven;

    public void check(CommandLine line) {
        isInFlightGiven = line.getParseResult().hasMatchedOption("--in-flight");
        Options.require(line,
                !inFlight.isEmpty() && inFlight.stream().allMatch(k -> k >= 1 && k <= IN_FLIGHT_MAX),
                "--in-flight is " + inFlight + ": expected 1 to " + IN_FLIGHT_MAX);
        Options.require(line, rates.stream().allMatch(rate -> rate > 0 && rate <= RATE_MAX),
                "--rate is " + rates + ": expected more than 0 cycles per second, at most a million");
        Options.requireDistinct(line, "--in-flight", inFlight);
        Options.requireDistinct(line, "--rate", rates);
        Options.require(line, rates.isEmpty() || !isInFlightGiven || inFlight.size() == 1,
                "--in-flight is " + inFlight + ": with --rate, give one number, the most in flight");
        Options.requireAtLeast(line, "--duration", duration, DURATION_MIN);
        Options.requireAtLeast(line, "--ttl", ttl, TTL_MIN);
        Options.require(line, ttl.compareTo(TTL_MAX) <= 0, "--ttl is " + DurationConverter.text(ttl)
                + ": expected at most 60s, the default maxTtl of a client");
        Options.require(line, hold.compareTo(ttl) < 0, "--hold is " + DurationConverter.text(hold)
                + ": expected less than --ttl, " + DurationConverter.text(ttl));
        if (keys != null) {
            Options.requireRange(line, "--keys", keys, 1, KEYS_MAX);
        }
        requireShare(line, "--hot-share", hotShare);
        requireShare(line, "--errors-max", errorsMax);
        Options.requireRange(line, "--repetitions", repetitions, 1, REPETITIONS_MAX);
    }

    private static void requireShare(CommandLine line, String option, double share) {
        Options.require(line, share >= 0 && share <= 1, option + " is " + share + ": expected 0 to 1");
    }

    public List<SeriesSpec> steps(String driver, int nodes, int repetition) {
        List<SeriesSpec> steps = new ArrayList<>();
        if (rates.isEmpty()) {
            inFlight.forEach(k -> steps.add(new SeriesSpec(driver, nodes, LoopKind.CLOSED, k, 0, repetition)));
        } else {
            rates.forEach(rate -> steps.add(openStep(driver, nodes, rate, repetition)));
        }
        return steps;
    }

    public SeriesSpec openStep(String driver, int nodes, double rate, int repetition) {
        return new SeriesSpec(driver, nodes, LoopKind.OPEN, openInFlight(), rate, repetition);
    }

    public int stepCount() {
        return rates.isEmpty() ? inFlight.size() : rates.size();
    }

    public LoadPlan plan(SeriesSpec spec, LockDriver driver, boolean isFenced) {
        LoadPlan plan = spec.loop() == LoopKind.CLOSED
                ? LoadPlan.closed(spec.inFlight())
                : LoadPlan.open(spec.ratePerSecond(), spec.inFlight());
        return contended(plan, driver, spec.inFlight())
                .hold(hold)
                .fenced(isFenced)
                .warmup(warmup)
                .duration(duration)
                .ttl(ttl)
                .errorShareMax(errorsMax)
                .seed(seed);
    }

    private LoadPlan contended(LoadPlan plan, LockDriver driver, int inFlightCount) {
        return plan.resources(keys == null ? inFlightCount : keys)
                .hotShare(hotShare)
                .waitUpTo(wait, driver.options().contains(DriverOption.WAIT) && !wait.isZero());
    }

    /**
     * Load that is not recorded: in a closed loop each number of cycles in flight for an equal part of the time. The
     * largest number comes first. It compiles the most code; with fewer cycles in flight other branches are taken, and
     * the JVM compiles some of that code again.
     */
    public List<LoadPlan> warmUpPlans(boolean isFenced) {
        List<Integer> loads = rates.isEmpty()
                ? inFlight.stream()
                        .map(k -> Math.min(k, OPEN_IN_FLIGHT))
                        .distinct()
                        .sorted(Comparator.reverseOrder())
                        .toList()
                : List.of(Math.min(inFlightMax(), OPEN_IN_FLIGHT));
        Duration part = jvmWarmup.dividedBy(loads.size());
        return loads.stream()
                .map(k -> LoadPlan.closed(k).fenced(isFenced).duration(part).ttl(ttl))
                .toList();
    }

    /** Load on the same resources as in the measurement that is not recorded; a lock is held for no time. */
    public LoadPlan contendedWarmUpPlan(LockDriver driver, boolean isFenced) {
        int most = inFlightMax();
        return contended(LoadPlan.closed(most), driver, most).fenced(isFenced).duration(jvmWarmup).ttl(ttl);
    }

    private int inFlightMax() {
        return inFlight.stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    public int openInFlight() {
        return isInFlightGiven ? inFlight.get(0) : OPEN_IN_FLIGHT;
    }

    public boolean isOpen() {
        return !rates.isEmpty();
    }
}
