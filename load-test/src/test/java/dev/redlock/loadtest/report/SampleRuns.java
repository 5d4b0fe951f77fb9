package dev.redlock.loadtest.report;

import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.ExclusionCheck;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.Mark;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import dev.redlock.loadtest.result.Versions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.HdrHistogram.Histogram;

/** Made-up runs, for what only has to be drawn. */
final class SampleRuns {
    private static final int INTERVALS = 30;

    private final Random random = new Random(8);
    private final List<SeriesResult> series = new ArrayList<>();
    private String command = "compare";
    private final Map<String, String> options = new LinkedHashMap<>(Map.of("nodes", "1,3,5"));
    private ExclusionCheck contested = ExclusionCheck.NONE;
    private final List<String> notes = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    static SampleRuns empty() {
        return new SampleRuns();
    }

    /** Every driver at every node count and load, with marks and readings in the last one. */
    static SampleRuns comparing(String... drivers) {
        SampleRuns runs = new SampleRuns();
        for (int d = 0; d < drivers.length; d++) {
            for (int nodes : new int[]{1, 3, 5}) {
                for (int inFlight : new int[]{1, 64}) {
                    for (int repetition = 1; repetition <= 2; repetition++) {
                        runs.add(drivers[d], nodes, inFlight, repetition, 60.0 * (d + 1) * (nodes + 1)
                                * (1 + inFlight / 16.0));
                    }
                }
            }
        }
        return runs;
    }

    SampleRuns add(String driver, int nodes, int inFlight, int repetition, double us) {
        Map<String, OperationResult> operations = new LinkedHashMap<>();
        for (String name : List.of(SeriesResult.ACQUIRE, SeriesResult.RELEASE, SeriesResult.CYCLE)) {
            operations.put(name, operation(name.equals(SeriesResult.CYCLE) ? 2 * us : us));
        }
        long cycles = operations.get(SeriesResult.CYCLE).histogram().getTotalCount();
        List<Sample> samples = new ArrayList<>();
        for (int i = 0; i < INTERVALS; i++) {
            samples.add(new Sample(i * 100L, Map.of("heapUsedBytes", 3e7 + 1e6 * (i % 7))));
        }
        series.add(new SeriesResult(new SeriesSpec(driver, nodes, LoopKind.CLOSED, inFlight, 0, repetition),
                new Span(0, 500, 3000), new Tally(cycles, 1e6 * inFlight / (2 * us), Map.of("ACQUIRED", cycles),
                        Map.of("RELEASED", cycles), cycles, 0),
                operations, new ClientCost(us / 20, us * 10), Map.of(), Map.of("nodes.granted", cycles * nodes),
                samples, List.of(new Mark(900, "node 2 killed"), new Mark(2100, "node 2 back")), List.of()));
        return this;
    }

    private OperationResult operation(double us) {
        Histogram all = new Histogram(3);
        List<Interval> intervals = new ArrayList<>();
        for (int i = 0; i < INTERVALS; i++) {
            Histogram one = new Histogram(3);
            for (int k = 0; k < 200; k++) {
                one.recordValue((long) (us * 1e3 * Math.exp(Math.abs(random.nextGaussian()) / 2)));
            }
            intervals.add(Interval.of(i * 100L, 100, one));
            all.add(one);
        }
        return new OperationResult(all, intervals);
    }

    SampleRuns option(String name, String value) {
        options.put(name, value);
        return this;
    }

    SampleRuns contested(long holdings, long overlaps) {
        contested = new ExclusionCheck(holdings, overlaps);
        return this;
    }

    SampleRuns note(String note) {
        notes.add(note);
        return this;
    }

    SampleRuns warning(String warning) {
        warnings.add(warning);
        return this;
    }

    SampleRuns command(String other) {
        command = other;
        return this;
    }

    SampleRuns failure(String failure) {
        failures.add(failure);
        return this;
    }

    RunResult result() {
        Versions versions = new Versions("0.1", "17", "4.2", Map.of("redlock", "redlock 0.1"),
                Collections.nCopies(3, "Redis 7.0.15"));
        return new RunResult(command, Instant.parse("2026-01-02T03:04:05Z"), 65_432,
                "java -jar load-test.jar " + command + " --nodes 1,3,5", options, versions,
                new MachineClass(2, "a processor", 8L << 30, "Linux", "6.1", "amd64"), series, contested, notes,
                warnings,
                failures);
    }
}
