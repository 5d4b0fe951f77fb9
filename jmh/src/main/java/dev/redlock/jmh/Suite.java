package dev.redlock.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Runs all benchmarks, or those that match, and writes {@code jmh-result.json} and {@code jmh-result.md}. Takes the
 * options of JMH; the allocation profiler is always on. A benchmark that throws fails the run.
 *
 * @threading caller-confined
 */
public final class Suite {

    private Suite() {
    }

    /**
     * Runs the benchmarks.
     *
     * @param args as JMH takes them
     * @throws IOException                if the table cannot be written
     * @throws RunnerException            if a benchmark fails
     * @throws CommandLineOptionException if an option is wrong
     */
    public static void main(String[] args) throws IOException, RunnerException, CommandLineOptionException {
        Collection<RunResult> results = new Runner(new OptionsBuilder().parent(new CommandLineOptions(args))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .resultFormat(ResultFormatType.JSON)
                .result("jmh-result.json")
                .build()).run();
        StringBuilder table = new StringBuilder(
                "| benchmark | parameters | ns/op | error | B/op |\n|---|---|---|---|---|\n");
        for (RunResult result : results) {
            appendRow(table, result);
        }
        Files.writeString(Path.of("jmh-result.md"), table);
        System.out.println(table);
    }

    private static void appendRow(StringBuilder table, RunResult run) {
        String benchmark = run.getParams().getBenchmark();
        String name = benchmark.substring(benchmark.lastIndexOf('.', benchmark.lastIndexOf('.') - 1) + 1);
        String parameters = run.getParams()
                .getParamsKeys()
                .stream()
                .map(key -> key + " " + run.getParams().getParam(key))
                .collect(Collectors.joining(", "));
        Result<?> time = run.getPrimaryResult();
        // The median: the mean would include JMH's own allocation at the end of a run.
        Result<?> bytes = run.getSecondaryResults().get("gc.alloc.rate.norm");
        table.append(String.format(Locale.ROOT, "| %s | %s | %.1f | %.1f | %.3f |%n", name, parameters, time.getScore(),
                time.getScoreError(), bytes == null ? Double.NaN : bytes.getStatistics().getPercentile(50)));
    }
}
