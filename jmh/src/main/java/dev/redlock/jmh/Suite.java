package dev.redlock.jmh;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;
import org.openjdk.jmh.Main;
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
 * options of JMH; {@code -rff} and {@code -rf} name another file and format in place of the first. The allocation
 * profiler is always on. A benchmark that throws fails the run.
 *
 * @threading caller-confined
 */
public final class Suite {

    /** The exit code for a wrong option, as that of the other programs. */
    static final int WRONG_OPTION = 2;

    private Suite() {
    }

    /**
     * Runs the benchmarks, or prints what {@code -h}, {@code -l}, {@code -lp}, {@code -lprof} or {@code -lrf} asks for.
     * Ends the JVM with exit code 2 if an option is wrong.
     *
     * @param args as JMH takes them
     * @throws IOException     if the table cannot be written
     * @throws RunnerException if a benchmark fails
     */
    public static void main(String[] args) throws IOException, RunnerException {
        int exitCode = run(System.err, args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    static int run(PrintStream err, String... args) throws IOException, RunnerException {
        CommandLineOptions options;
        try {
            options = new CommandLineOptions(args);
        } catch (CommandLineOptionException e) {
            err.println("Suite: " + e.getMessage() + "; -h lists the options");
            return WRONG_OPTION;
        }
        if (options.shouldHelp() || options.shouldList() || options.shouldListWithParams()
                || options.shouldListProfilers() || options.shouldListResultFormats()) {
            Main.main(args);
            return 0;
        }
        String table = tableOf(measure(options));
        Files.writeString(Path.of("jmh-result.md"), table);
        System.out.println(table);
        return 0;
    }

    static Collection<RunResult> measure(CommandLineOptions options) throws RunnerException {
        ResultFormatType format = options.getResultFormat().orElse(ResultFormatType.JSON);
        return new Runner(new OptionsBuilder().parent(options)
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .resultFormat(format)
                .result(options.getResult().orElse("jmh-result." + format.name().toLowerCase(Locale.ROOT)))
                .build()).run();
    }

    /** Each row has its unit, which depends on the mode. */
    static String tableOf(Collection<RunResult> results) {
        StringBuilder table = new StringBuilder(
                "| benchmark | parameters | score | error | unit | B/op |\n|---|---|---|---|---|---|\n");
        for (RunResult result : results) {
            appendRow(table, result);
        }
        return table.toString();
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
        table.append(String.format(Locale.ROOT, "| %s | %s | %s | %s | %s | %.3f |%n", name, parameters,
                number(time.getScore()), number(time.getScoreError()), time.getScoreUnit(),
                bytes == null ? Double.NaN : bytes.getStatistics().getPercentile(50)));
    }

    /** Operations in a nanosecond are a small fraction. */
    private static String number(double value) {
        return String.format(Locale.ROOT, value != 0 && Math.abs(value) < 1 ? "%.3g" : "%.1f", value);
    }
}
