package dev.redlock.loadtest.tails;

import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.cycle.BareDriver;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.measure.Clients;
import dev.redlock.loadtest.measure.Lab;
import dev.redlock.loadtest.measure.LabCommand;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.SlowCycles;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "tails", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = {"Measures the tails of latency: cycles start at shares of the highest rate, each latency counts "
                + "from the intended time, and bare sockets take turns with the client at the same rates.",
            "Each stall that made cycles slow is explained: a pause of the JVM, a late start by this program, a thread "
                    + "of the client or the servers that waited for a core, or work. Causes need Linux; those of "
                    + "servers need servers that this command starts.",
            "It writes the percentile distributions, all turns joined, as .hgrm files, which HdrHistogram's plotter "
                    + "reads."},
        footer = {"  load-test tails                                  an hour",
            "  load-test tails --repetitions 1 --duration 20s",
            "  load-test tails --addresses 10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379"})
public final class TailsCommand extends LabCommand {
    private static final int PROBES = 3;
    private static final int PROBE_IN_FLIGHT = 64;
    private static final Duration PROBE = Duration.ofSeconds(3);
    private static final double PERCENT = 100;

    @Option(names = "--shares", split = ",", paramLabel = "PERCENT", defaultValue = "1,10,30",
            description = "Rates, in percent of the highest one (default: ${DEFAULT-VALUE}).")
    private List<Double> shares;

    @Option(names = "--highest", paramLabel = "R",
            description = "The highest rate, cycles per second. Default: that of the first driver with 64 cycles in "
                    + "flight, the median of three measurements.")
    private Double highest;

    @Option(names = "--slow", paramLabel = "TIME", defaultValue = "1ms", converter = DurationConverter.class,
            description = "A cycle that takes longer is slow, and is explained; 0ms: each one (default: "
                    + "${DEFAULT-VALUE}).")
    private Duration slowLimit;

    @Option(names = "--bare-every", paramLabel = "N", defaultValue = "1",
            description = "The bare sockets take a turn in each Nth repetition, beginning with the first; 0: never "
                    + "(default: ${DEFAULT-VALUE}).")
    private int bareEvery;

    private final TailTable tails = new TailTable();
    private final List<String> found = new ArrayList<>();

    @Override
    protected void check(CommandLine line) {
        Options.require(line, !loadOptions.isOpen(), "--rate is not for tails: use --shares, with --highest for a "
                + "known highest rate");
        Options.require(line, shares.stream().allMatch(share -> share > 0 && share <= PERCENT),
                "--shares is " + shares + ": expected more than 0 percent, at most 100");
        Options.requireDistinct(line, "--shares", shares);
        Options.require(line, highest == null || highest >= 1 && highest <= 1_000_000,
                "--highest is " + highest + ": expected 1 to 1000000 cycles per second");
        Options.requireRange(line, "--bare-every", bareEvery, 0, 100);
        Options.require(line, nodeOptions.counts().size() == 1 && clientOptions.clients() == 1,
                "tails measures one client at a time on one number of nodes: give one value of --nodes, and no "
                        + "--clients");
    }

    @Override
    protected boolean isOpen() {
        return true;
    }

    /** Those who take a turn in a repetition, from 1. */
    private List<LockDriver> contenders(int repetition) {
        boolean isBare = bareEvery > 0 && (repetition - 1) % bareEvery == 0;
        return isBare
                ? Stream.concat(clientOptions.drivers().stream(), Stream.of(new BareDriver())).toList()
                : clientOptions.drivers();
    }

    @Override
    protected long totalMs() {
        long turnMs = loadOptions.warmup.plus(loadOptions.duration).toMillis();
        long turns = (long) shares.size()
                * IntStream.rangeClosed(1, loadOptions.repetitions).map(i -> contenders(i).size()).sum();
        long probesMs = highest == null ? PROBES * PROBE.toMillis() : 0;
        return loadOptions.jvmWarmup.toMillis() * contenders(1).size() + probesMs + turns * turnMs
                + Lab.contestMs() * clientOptions.drivers().size();
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        int nodeCount = nodeOptions.counts().get(0);
        lab.warmUp();
        if (bareEvery > 0) {
            lab.warmUp(new BareDriver());
        }
        double top = highest == null ? highest(nodeCount) : highest;
        try (JvmPauses pauses = new JvmPauses()) {
            for (int repetition = 1; repetition <= loadOptions.repetitions; repetition++) {
                for (LockDriver driver : contenders(repetition)) {
                    for (double share : shares) {
                        double rate = Math.max(1, Math.rint(top * share / PERCENT));
                        measure(driver, loadOptions.openStep(driver.name(), nodeCount, rate, repetition), pauses);
                    }
                }
            }
            pauses.await();
            tails.explain(pauses);
        }
        for (LockDriver driver : clientOptions.drivers()) {
            lab.contest(driver, nodeCount);
        }
        tails.write(folder);
    }

    private double highest(int nodeCount) throws IOException, InterruptedException {
        LockDriver driver = clientOptions.drivers().get(0);
        LoadPlan plan = LoadPlan.closed(PROBE_IN_FLIGHT)
                .fenced(clientOptions.isFenced())
                .duration(PROBE)
                .ttl(loadOptions.ttl);
        List<Double> rates = new ArrayList<>();
        try (Clients clients = lab.open(driver, nodeCount)) {
            for (int i = 0; i < PROBES; i++) {
                LoadResult result = lab.probe(driver.name() + ", highest rate", plan, clients);
                result.failures().forEach(lab::fail);
                rates.add(result.tally().cyclesPerSecond());
            }
        }
        rates.sort(null);
        double median = rates.get(PROBES / 2);
        found.add(String.format(Locale.ROOT, "the highest rate was %.0f cycles/s: %s with %d in flight, the median of "
                + "%d measurements", median, driver.name(), PROBE_IN_FLIGHT, PROBES));
        found.forEach(lab::note);
        return median;
    }

    private void measure(LockDriver driver, SeriesSpec step, JvmPauses pauses)
            throws IOException, InterruptedException {
        LoadPlan plan = loadOptions.plan(step, driver, clientOptions.isFenced());
        SlowCycles slow = new SlowCycles(slowLimit.toNanos());
        String loopThreads = driver instanceof BareDriver ? BareDriver.LOOP_THREADS : driver.name().split("[-@]")[0];
        LoadResult result;
        CoreSamples samples;
        try (Clients clients = lab.open(driver, nodeOptions.counts().get(0));
                StallWatch watch = new StallWatch(loopThreads, lab.serverPids(), slow)) {
            result = lab.measure(step, plan, clients, LoadResult::failures, watch);
            samples = watch.coreSamples();
        }
        tails.add(step, result.operations(), slow, samples);
        if (samples.isFull()) {
            lab.warn(step.title() + ": too many waits to keep, so some causes are unknown; use a shorter --duration, "
                    + "and more --repetitions");
        }
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> all = new ArrayList<>(found);
        all.addAll(pass(result, "no rate was missed; " + outcome(result, lab.exclusion())));
        return all;
    }

    @Override
    protected String table(RunResult result) {
        return tails.text(slowLimit);
    }
}
