package dev.redlock.loadtest.measure;

import dev.redlock.cli.DurationConverter;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** @threading caller-confined */
@Command(name = "soak", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        defaultValueProvider = OptionDefaults.class,
        description = {"Keeps one load up for hours and reads, step by step, the heap after a collection, resident "
                + "memory, threads, open files and the client's counters. What keeps growing fails the run.",
            "Each reading forces a garbage collection, whose pause is in the latencies. Ctrl-C ends the run early and "
                    + "writes what there is."},
        footer = {"  load-test soak                                  an hour",
            "  load-test soak --duration 12h --sample 1m --rate 5000",
            "  load-test soak --duration 10s --sample 500ms --jvm-warmup 2s   a short form"})
public final class SoakCommand extends LabCommand {
    private static final double MB = 1 << 20;

    @Option(names = "--sample", paramLabel = "TIME", defaultValue = "30s", converter = DurationConverter.class,
            description = "Time between two readings, at least 100ms (default: ${DEFAULT-VALUE}).")
    private Duration sample;

    private final Map<String, Trend> trends = new LinkedHashMap<>();
    private volatile boolean isEndedEarly;

    @Override
    protected void check(CommandLine line) {
        Options.requireAtLeast(line, "--sample", sample, Duration.ofMillis(100));
        Options.require(line, sample.compareTo(loadOptions.duration) < 0, "--sample is "
                + DurationConverter.text(sample) + ": expected less than --duration, "
                + DurationConverter.text(loadOptions.duration));
        boolean isOne = loadOptions.stepCount() == 1 && nodeOptions.counts().size() == 1
                && clientOptions.drivers().size() == 1 && loadOptions.repetitions == 1;
        Options.require(line, isOne, "soak keeps up one load: give one value each of --nodes, --in-flight or --rate, "
                + "and --driver, and no --repetitions");
    }

    @Override
    protected long totalMs() {
        return turnsMs(1);
    }

    @Override
    protected void measure() throws IOException, InterruptedException {
        lab.warmUp();
        LockDriver driver = clientOptions.drivers().get(0);
        int nodeCount = nodeOptions.counts().get(0);
        SeriesSpec spec = loadOptions.steps(driver.name(), nodeCount, 1).get(0);
        try (Clients clients = lab.open(driver, nodeCount);
                SoakWatch watch = new SoakWatch(lab::news, ProcessGauges::read, clients::counters, sample,
                        folder.file("samples.csv"))) {
            LoadPlan plan = loadOptions.plan(spec, driver, clientOptions.isFenced()).interval(sample);
            lab.measure(spec, plan, clients, LoadResult::failures, watch);
            trends.putAll(watch.trends());
        }
        if (isEndedEarly) {
            lab.note("ended early, after " + lab.offsetMs() / 1000 + " s");
        }
    }

    @Override
    protected void onCancel() {
        isEndedEarly = true;
        lab.finish();
    }

    @Override
    protected List<String> conclusions(RunResult result) {
        List<String> lines = new ArrayList<>();
        boolean isTooShort = trends.isEmpty() || trends.values().stream().anyMatch(Trend::isTooShort);
        if (isTooShort) {
            lines.add("too short to see a trend: " + Trend.SAMPLES_MIN + " settled readings are needed");
        }
        lines.addAll(pass(result, outcome(result, result.sharedHoldings())
                + (isTooShort ? "" : "; nothing keeps growing")));
        return lines;
    }

    @Override
    protected String table(RunResult result) {
        SeriesResult series = result.series().get(0);
        StringBuilder text = new StringBuilder(SweepTable.of(result));
        text.append(String.format(Locale.ROOT, "%n%-18s %10s %10s %10s %10s%n", "", "first", "last", "rise", "tau"));
        trends.forEach((name, trend) -> {
            double unit = name.endsWith("Bytes") ? MB : 1;
            List<Sample> samples = series.samples();
            text.append(String.format(Locale.ROOT, "%-18s %10.1f %10.1f %10.1f %10.2f%n",
                    name.replace("Bytes", ", MB"), samples.get(0).values().getOrDefault(name, 0.0) / unit,
                    samples.get(samples.size() - 1).values().getOrDefault(name, 0.0) / unit, trend.rise() / unit,
                    trend.tau()));
        });
        return text.toString();
    }
}
