package dev.redlock.loadtest.cycle;

import dev.redlock.cli.ExitCodes;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.CostMeter;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.loadtest.rig.Usage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Runs the load of {@link CycleOptions} on a client, once or in turns, and prints one line of figures for each run. A
 * failure ends the turns.
 *
 * @threading caller-confined
 */
final class CycleMeter {

    /** The time before the measured time of a turn, until all lanes are busy. */
    private static final Duration SETTLE = Duration.ofMillis(200);

    private final CycleOptions options;
    private final String label;
    private final String loopThreads;
    private final PrintWriter out;

    /**
     * A meter of one program.
     *
     * @param label       the default of the first column
     * @param loopThreads the prefix of the event loops' thread names
     * @param out         gets the figures
     */
    CycleMeter(CycleOptions options, String label, String loopThreads, PrintWriter out) {
        this.options = options;
        this.label = options.label(label);
        this.loopThreads = loopThreads;
        this.out = out;
    }

    /**
     * Runs.
     *
     * @param load     the load, apart from its warm-up
     * @param problems reports votes that were lost since the last call
     * @param turns    each line starts a turn
     * @return the exit code: 0, or 1 if anything failed or the rate was missed
     */
    int run(LockSession session, LoadPlan load, Supplier<List<String>> problems, InputStream turns)
            throws IOException, InterruptedException {
        problems.get();
        List<String> failures = measure(session, load.warmup(options.warmup()), !options.isInTurns());
        failures.addAll(problems.get());
        if (options.isInTurns() && failures.isEmpty()) {
            out.println("ready");
            out.flush();
            BufferedReader lines = new BufferedReader(new InputStreamReader(turns, StandardCharsets.UTF_8));
            while (failures.isEmpty() && lines.readLine() != null) {
                failures.addAll(measure(session, load.warmup(SETTLE), true));
                failures.addAll(problems.get());
            }
        }
        failures.forEach(what -> out.println("FAIL: " + label + ": " + what));
        out.flush();
        return failures.isEmpty() ? ExitCodes.GOOD : ExitCodes.FAILED;
    }

    private List<String> measure(LockSession session, LoadPlan plan, boolean isReported)
            throws InterruptedException {
        CostMeter.Scope scope = new CostMeter.Scope(loopThreads, options.serverPids());
        LoadResult result = new LoadTestRig(plan, List.of(session), scope).run((elapsedNs, isMeasuring) -> {
        });
        if (isReported && result.tally().cycles() > 0) {
            report(result);
        }
        return new ArrayList<>(result.failures());
    }

    private void report(LoadResult result) {
        double count = result.tally().cycles();
        Usage usage = result.usage();
        out.printf(Locale.ROOT, "%-28s n=%d out=%-3d %9.0f cycles/s  acquire %s us  cycle %s us"
                + "  client cpu %.2f us (loops %.2f)  servers %.2f us  heap %.1f B  other cores %.2f%s%s%n",
                label, options.addresses().length, options.inFlight(), result.tally().cyclesPerSecond(),
                percentiles(result.operations().get(SeriesResult.ACQUIRE)),
                percentiles(result.operations().get(SeriesResult.CYCLE)), usage.clientCpuNs() / 1e3 / count,
                usage.loopCpuNs() / 1e3 / count, usage.serverCpuNs() / 1e3 / count, usage.heapBytes() / count,
                usage.otherCores(), rate(result.figures()), shares(result.cyclesByThread()));
        out.flush();
    }

    private String rate(Map<String, Double> figures) {
        return options.isOpen()
                ? String.format(Locale.ROOT, "  rate %.0f/s, begun late p50 %.1f p99 %.1f us", options.rate(),
                        figures.get("sendDelayP50Us"), figures.get("sendDelayP99Us"))
                : "";
    }

    /** The shares of several loops. */
    private String shares(Map<String, Long> cyclesByThread) {
        List<Long> cycles = cyclesByThread.entrySet()
                .stream()
                .filter(one -> one.getKey().startsWith(loopThreads))
                .map(Map.Entry::getValue)
                .toList();
        double all = cycles.stream().mapToLong(Long::longValue).sum();
        return cycles.size() < 2
                ? ""
                : cycles.stream()
                        .map(one -> String.format(Locale.ROOT, "%.0f %%", 100 * one / all))
                        .collect(Collectors.joining(", ", "  by loop ", ""));
    }

    private static String percentiles(OperationResult latencies) {
        return String.format(Locale.ROOT, "p50 %.1f p99 %.1f p99.9 %.1f max %.0f", latencies.us(50),
                latencies.us(99), latencies.us(99.9), latencies.histogram().getMaxValue() / 1e3);
    }
}
