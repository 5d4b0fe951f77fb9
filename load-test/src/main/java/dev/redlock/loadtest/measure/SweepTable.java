package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import java.util.List;
import java.util.Locale;

/**
 * The table of a sweep, in plain text: a line for each driver, node count and load. It shows the fastest turn.
 *
 * @threading any thread
 */
final class SweepTable {
    static String of(RunResult result) {
        List<SeriesGroup> groups = SeriesGroup.of(result.series());
        int width = groups.stream().mapToInt(one -> one.spec().driver().length()).max().orElse(0);
        boolean isNamed = groups.stream().map(one -> one.spec().driver()).distinct().count() > 1;
        int turns = groups.stream().mapToInt(one -> one.turns().size()).max().orElse(1);
        int spreadWidth = groups.stream().mapToInt(one -> spread(one).length()).max().orElse(0);
        boolean isOpen = groups.stream().anyMatch(one -> one.spec().loop() == LoopKind.OPEN);
        String lead = isNamed ? " ".repeat(width + 2) : "";
        StringBuilder text = new StringBuilder();
        if (turns > 1) {
            text.append(String.format(Locale.ROOT,
                    "Each line shows the fastest of %d turns, and in brackets the p50 of the "
                            + "fastest and of the slowest.%n",
                    turns));
        }
        String space = turns > 1 ? " ".repeat(spreadWidth + 1) : "";
        text.append(String.format(Locale.ROOT, "%s%3s %11s %9s   %-" + (35 + space.length()) + "s   %-17s   %-14s%n",
                lead, "", "", "", "acquire, us", "release, us", "client, /cycle"));
        text.append(String.format(Locale.ROOT, "%s%3s %11s %9s   %8s%s %8s %8s %8s   %8s %8s   %7s %6s%n", lead, "N",
                isOpen ? "rate/s" : "in flight", "cycles/s", "p50", space, "p99", "p99.9", "max", "p50", "p99",
                "CPU us", "bytes"));
        for (SeriesGroup one : groups) {
            text.append(isNamed ? String.format(Locale.ROOT, "%-" + width + "s  ", one.spec().driver()) : "");
            text.append(line(one, turns > 1 ? String.format(Locale.ROOT, " %-" + spreadWidth + "s", spread(one)) : ""));
        }
        return text.toString();
    }

    private static String line(SeriesGroup group, String spread) {
        SeriesResult one = group.fastest();
        OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
        OperationResult release = one.operations().get(SeriesResult.RELEASE);
        double load = one.spec().loop() == LoopKind.OPEN ? one.spec().ratePerSecond() : one.spec().inFlight();
        return String.format(Locale.ROOT, "%3d %11.0f %9.0f   %8.1f%s %8.1f %8.1f %8.1f   %8.1f %8.1f   %7s %6s%s%n",
                one.spec().nodes(), load, one.tally().cyclesPerSecond(), acquire.us(50), spread, acquire.us(99),
                acquire.us(99.9), acquire.us(100), release.us(50), release.us(99),
                number(one.cost().cpuUsPerCycle(), "%.1f"), number(one.cost().allocatedBytesPerCycle(), "%.0f"),
                group.verdict() == Verdict.FAIL ? "  FAIL" : "");
    }

    private static String spread(SeriesGroup one) {
        Spread p50 = one.acquireP50Us();
        return p50 == null ? "-" : String.format(Locale.ROOT, "(%.1f - %.1f)", p50.min(), p50.max());
    }

    private static String number(Double value, String format) {
        return value == null ? "-" : String.format(Locale.ROOT, format, value);
    }
}
