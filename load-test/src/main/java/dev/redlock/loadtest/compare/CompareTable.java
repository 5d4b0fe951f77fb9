package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.loadtest.rig.LoadResult;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The comparison as plain text: a block for each node count and load, with a line for each driver; medians over
 * the repetitions.
 *
 * @threading any thread
 */
final class CompareTable {
    /** CPU time of one cycle on the servers, all nodes together, warm-up included. */
    static final String SERVER_CPU = "serverCpuUsPerCycle";

    /** The WAIT commands that the primary counted for each cycle, warm-up included. */
    static final String WAITS = "waitsPerCycle";

    static String of(RunResult result) {
        Map<String, Map<String, List<SeriesResult>>> blocks = new LinkedHashMap<>();
        for (SeriesResult one : result.series()) {
            blocks.computeIfAbsent(title(one.spec()), title -> new LinkedHashMap<>())
                    .computeIfAbsent(one.spec().driver(), driver -> new ArrayList<>())
                    .add(one);
        }
        int width = result.series().stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        blocks.forEach((title, drivers) -> block(text, title, drivers, width));
        return text.toString();
    }

    private static String title(SeriesSpec spec) {
        return "N = " + spec.nodes() + ", " + spec.load();
    }

    private static void block(StringBuilder text, String title, Map<String, List<SeriesResult>> drivers, int width) {
        int least = Math.max(width, title.length());
        text.append(String.format(Locale.ROOT, "%-" + least + "s  %8s %17s %6s  %18s  %18s  %9s %8s %9s%n", "",
                "cycles/s", "", "", "acquire, us", "cycle, us", "client", "client", "servers"));
        text.append(String.format(Locale.ROOT, "%-" + least + "s  %8s %17s %6s  %9s %8s  %9s %8s  %9s %8s %9s%n", title,
                "median", "(min - max)", "ratio", "p50", "p99", "p50", "p99", "CPU us", "bytes", "CPU us"));
        Spread first = null;
        for (Map.Entry<String, List<SeriesResult>> driver : drivers.entrySet()) {
            Spread rate = Spread.of(driver.getValue(), one -> one.tally().cyclesPerSecond());
            first = first == null ? rate : first;
            text.append(line(driver.getKey(), driver.getValue(), rate, first, least));
        }
        text.append(System.lineSeparator());
    }

    private static String line(String driver, List<SeriesResult> runs, Spread rate, Spread first, int width) {
        boolean isFailed = runs.stream().anyMatch(one -> one.verdict() == Verdict.FAIL);
        return String.format(Locale.ROOT, "%-" + width + "s  %8.0f %17s %6.2f  %9s %8s  %9s %8s  %9s %8s %9s%s%n",
                driver,
                rate.median(), String.format(Locale.ROOT, "(%.0f - %.0f)", rate.min(), rate.max()),
                rate.median() / first.median(), latency(runs, SeriesResult.ACQUIRE, 50),
                latency(runs, SeriesResult.ACQUIRE, 99), latency(runs, SeriesResult.CYCLE, 50),
                latency(runs, SeriesResult.CYCLE, 99),
                median(Spread.of(runs, one -> one.cost().cpuUsPerCycle()), "%.1f"),
                median(Spread.of(runs, one -> one.cost().allocatedBytesPerCycle()), "%.0f"),
                median(Spread.of(runs, one -> one.figures().get(SERVER_CPU)), "%.1f"),
                localGrants(runs) + waits(runs) + (isFailed ? "  FAIL" : ""));
    }

    private static String localGrants(List<SeriesResult> runs) {
        Spread share = Spread.of(runs, one -> one.figures().get(LoadResult.LOCAL_GRANT_SHARE));
        return share == null ? "" : String.format(Locale.ROOT, "  %.3f %% local grants", 100 * share.median());
    }

    private static String waits(List<SeriesResult> runs) {
        Spread waits = Spread.of(runs, one -> one.figures().get(WAITS));
        return waits == null ? "" : String.format(Locale.ROOT, "  %.2f WAIT per cycle", waits.median());
    }

    private static String latency(List<SeriesResult> runs, String operation, double percentile) {
        return median(Spread.of(runs, one -> {
            OperationResult latencies = one.operations().get(operation);
            return latencies == null ? null : latencies.us(percentile);
        }), "%.0f");
    }

    private static String median(Spread spread, String format) {
        return spread == null ? "-" : String.format(Locale.ROOT, format, spread.median());
    }
}
