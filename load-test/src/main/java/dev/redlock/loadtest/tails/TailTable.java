package dev.redlock.loadtest.tails;

import dev.redlock.cli.DurationConverter;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.rig.SlowCycles;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * The distributions and the steps of each client and rate, over all turns.
 *
 * @threading caller-confined
 */
final class TailTable {
    private static final double[] PERCENTILES = {50, 90, 99, 99.9, 99.99, 100};
    private static final List<String> OPERATIONS = List.of(SeriesResult.ACQUIRE, SeriesResult.RELEASE,
            SeriesResult.CYCLE);
    private static final double NS_PER_US = 1e3;
    private static final double NS_PER_MS = 1e6;

    private final Map<SeriesSpec, Tail> tails = new LinkedHashMap<>();

    /**
     * A step with what its watch knows; the pauses of the JVM are known later.
     *
     * @threading immutable
     */
    private record Examined(Step step, Map<Cause, Long> times) {
    }

    /** @threading caller-confined */
    private static final class Tail {
        final Map<String, Histogram> latencies = new LinkedHashMap<>();
        final List<Examined> steps = new ArrayList<>();
        final Map<Cause, Integer> counts = new EnumMap<>(Cause.class);
        final Map<Cause, Long> longest = new EnumMap<>(Cause.class);
        long slowCount;
    }

    /** Adds a turn, whose threads are no longer sampled. */
    void add(SeriesSpec spec, Map<String, OperationResult> operations, SlowCycles slow, CoreSamples samples) {
        Tail tail = tails.computeIfAbsent(spec.withRepetition(1), one -> new Tail());
        for (String operation : OPERATIONS) {
            Histogram added = operations.get(operation).histogram();
            tail.latencies.computeIfAbsent(operation, one -> new Histogram(added)).add(added);
        }
        tail.slowCount += slow.count();
        for (Step step : Step.of(slow.kept())) {
            tail.steps.add(new Examined(step, samples.timesOf(step.worst())));
        }
    }

    /** Finds the cause of each step. */
    void explain(JvmPauses pauses) {
        for (Tail tail : tails.values()) {
            Histogram cycles = tail.latencies.get(SeriesResult.CYCLE);
            for (Examined one : tail.steps) {
                SlowCycles.Slow worst = one.step.worst();
                pauses.addTo(one.times, worst.intendedNs(), worst.endNs());
                Cause cause = Cause.of(one.times, one.step.delayNs(cycles));
                tail.counts.merge(cause, 1, Integer::sum);
                tail.longest.merge(cause, worst.latencyNs(), Math::max);
            }
        }
    }

    /** Writes the distributions of all turns. */
    void write(RunFolder folder) throws IOException {
        for (Map.Entry<SeriesSpec, Tail> one : tails.entrySet()) {
            for (Map.Entry<String, Histogram> operation : one.getValue().latencies.entrySet()) {
                folder.writeDistribution(allTurns(one.getKey()) + "-" + operation.getKey() + ".hgrm",
                        operation.getValue());
            }
        }
    }

    private static String allTurns(SeriesSpec spec) {
        String stem = spec.fileStem();
        return stem.substring(0, stem.lastIndexOf("-r")) + "-all";
    }

    /** Both tables: latencies in microseconds, and steps by cause with the longest in milliseconds. */
    String text(Duration slowLimit) {
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, "%-13s %9s %-8s %10s %9s %9s %9s %9s %9s %9s%n", "us", "rate/s", "",
                "count", "p50", "p90", "p99", "p99.9", "p99.99", "max"));
        tails.forEach((spec, tail) -> tail.latencies.forEach((operation, histogram) -> {
            text.append(String.format(Locale.ROOT, "%-13s %9.0f %-8s %10d", spec.driver(), spec.ratePerSecond(),
                    operation, histogram.getTotalCount()));
            for (double percentile : PERCENTILES) {
                text.append(String.format(Locale.ROOT, " %9.1f",
                        histogram.getValueAtPercentile(percentile) / NS_PER_US));
            }
            text.append(System.lineSeparator());
        }));
        text.append(String.format(Locale.ROOT, "%nSteps: overlapping cycles above %s, by the cause of the slowest: "
                + "steps, longest in ms%n", DurationConverter.text(slowLimit)));
        tails.forEach((spec, tail) -> text.append(String.format(Locale.ROOT,
                "%-13s %9.0f  %d slow cycles in %d steps%s%n", spec.driver(), spec.ratePerSecond(), tail.slowCount,
                tail.steps.size(), causes(tail))));
        return text.toString();
    }

    private static String causes(Tail tail) {
        StringBuilder text = new StringBuilder();
        tail.counts.forEach((cause, count) -> text.append(String.format(Locale.ROOT, "%s %s %d, %.1f",
                text.isEmpty() ? ":" : ";", cause.words(), count, tail.longest.get(cause) / NS_PER_MS)));
        return text.toString();
    }
}
