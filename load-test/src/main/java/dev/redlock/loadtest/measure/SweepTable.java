package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Verdict;
import java.util.List;
import java.util.Locale;

/**
 * The table of a sweep, in plain text.
 *
 * @threading any thread
 */
final class SweepTable {
    private SweepTable() {
    }

    static String of(RunResult result) {
        List<SeriesResult> series = result.series();
        int width = series.stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        boolean isNamed = series.stream().map(one -> one.spec().driver()).distinct().count() > 1;
        boolean isRepeated = series.stream().anyMatch(one -> one.spec().repetition() > 1);
        StringBuilder text = new StringBuilder();
        String lead = (isNamed ? " ".repeat(width + 2) : "") + (isRepeated ? "    " : "");
        text.append(String.format(Locale.ROOT, "%s%3s %11s %9s   %-35s   %-17s   %-14s%n", lead, "", "", "",
                "acquire, us", "release, us", "client, /cycle"));
        text.append(String.format(Locale.ROOT, "%s%3s %11s %9s   %8s %8s %8s %8s   %8s %8s   %7s %6s%n", lead, "N",
                isOpen(series) ? "rate/s" : "outstanding", "cycles/s", "p50", "p99", "p99.9", "max", "p50", "p99",
                "CPU us", "bytes"));
        for (SeriesResult one : series) {
            text.append(isNamed ? String.format(Locale.ROOT, "%-" + width + "s  ", one.spec().driver()) : "");
            text.append(isRepeated ? String.format(Locale.ROOT, "#%-2d ", one.spec().repetition()) : "");
            text.append(line(one));
        }
        return text.toString();
    }

    private static boolean isOpen(List<SeriesResult> series) {
        return series.stream().anyMatch(one -> one.spec().loop() == LoopKind.OPEN);
    }

    private static String line(SeriesResult one) {
        OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
        OperationResult release = one.operations().get(SeriesResult.RELEASE);
        double load = one.spec().loop() == LoopKind.OPEN ? one.spec().ratePerSecond() : one.spec().outstanding();
        return String.format(Locale.ROOT, "%3d %11.0f %9.0f   %8.1f %8.1f %8.1f %8.1f   %8.1f %8.1f   %7s %6s%s%n",
                one.spec().nodes(), load, one.tally().cyclesPerSecond(), acquire.us(50), acquire.us(99),
                acquire.us(99.9), acquire.us(100), release.us(50), release.us(99),
                number(one.cost().cpuUsPerCycle(), "%.1f"), number(one.cost().allocatedBytesPerCycle(), "%.0f"),
                one.verdict() == Verdict.FAIL ? "  FAIL" : "");
    }

    private static String number(Double value, String format) {
        return value == null ? "-" : String.format(Locale.ROOT, format, value);
    }
}
