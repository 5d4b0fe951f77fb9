package dev.redlock.loadtest;

import dev.redlock.loadtest.result.SeriesResult;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * The table of a sweep, in plain text.
 *
 * @threading any thread
 */
final class SweepTable {
    private static final String HEAD = String.format(Locale.ROOT,
            "%3s %11s %11s   %-37s   %-37s%n%3s %11s %11s   %s   %s%n", "", "", "", "acquire, us", "release, us", "N",
            "outstanding", "cycles/s", columns(), columns());

    private SweepTable() {
    }

    private static String columns() {
        return String.format(Locale.ROOT, "%8s %8s %9s %9s", "p50", "p99", "p99.9", "max");
    }

    static String of(List<SweepRow> rows) {
        StringBuilder text = new StringBuilder(HEAD);
        rows.forEach(row -> text.append(line(row)));
        return text.toString();
    }

    private static String line(SweepRow row) {
        return String.format(Locale.ROOT, "%3d %11d %11.0f   %s   %s%n", row.nodeCount(),
                row.result().plan().outstanding(), row.result().tally().cyclesPerSecond(),
                cells(row.result().operations().get(SeriesResult.ACQUIRE).histogram()),
                cells(row.result().operations().get(SeriesResult.RELEASE).histogram()));
    }

    private static String cells(Histogram latencies) {
        return String.format(Locale.ROOT, "%8.1f %8.1f %9.1f %9.1f", us(latencies.getValueAtPercentile(50)),
                us(latencies.getValueAtPercentile(99)), us(latencies.getValueAtPercentile(99.9)),
                us(latencies.getMaxValue()));
    }

    private static double us(long ns) {
        return ns / 1e3;
    }
}
