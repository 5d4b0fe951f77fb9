package dev.redlock.loadtest.report;

import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The tables of a report, as HTML. They have the data of the charts and need no script.
 *
 * @threading immutable
 */
final class ReportTables {
    private static final double US_PER_MS = 1e3;
    private static final String NONE = "–";

    /** @threading immutable */
    private record Column<T>(String title, Function<T, String> cell) {
    }

    /** One line for each driver, node count and load: the fastest turn. */
    static String groups(RunResult result) {
        List<SeriesGroup> groups = SeriesGroup.of(result.series());
        boolean isRepeated = groups.stream().anyMatch(one -> one.turns().size() > 1);
        return table(groups, isRepeated) + (isRepeated
                ? "<details><summary>Every turn</summary>\n" + turns(result) + "</details>\n"
                : "");
    }

    private static String turns(RunResult result) {
        return table(result.series().stream().map(one -> new SeriesGroup(one.spec(), List.of(one))).toList(), false);
    }

    private static String table(List<SeriesGroup> rows, boolean isSpreadShown) {
        List<Column<SeriesGroup>> columns = new ArrayList<>();
        if (rows.stream().map(one -> one.spec().driver()).distinct().count() > 1) {
            columns.add(new Column<>("driver", one -> one.spec().driver()));
        }
        columns.add(new Column<>("N", one -> Integer.toString(one.spec().nodes())));
        columns.add(new Column<>("load", one -> one.spec().load()));
        if (rows.stream().anyMatch(one -> one.spec().repetition() > 1)) {
            columns.add(new Column<>("turn", one -> Integer.toString(one.spec().repetition())));
        }
        columns.add(new Column<>("cycles/s", one -> number(one.fastest().tally().cyclesPerSecond())));
        columns.add(latency("acquire p50", SeriesResult.ACQUIRE, 50));
        if (isSpreadShown) {
            columns.add(new Column<>("all turns", one -> spread(one.acquireP50Us())));
        }
        columns.add(latency("p99", SeriesResult.ACQUIRE, 99));
        columns.add(latency("p99.9", SeriesResult.ACQUIRE, 99.9));
        columns.add(latency("max", SeriesResult.ACQUIRE, 100));
        columns.add(latency("release p50", SeriesResult.RELEASE, 50));
        columns.add(latency("p99", SeriesResult.RELEASE, 99));
        if (rows.stream().flatMap(one -> one.turns().stream()).anyMatch(one -> one.cost().cpuUsPerCycle() != null)) {
            columns.add(new Column<>("CPU us", one -> number(one.fastest().cost().cpuUsPerCycle())));
            columns.add(new Column<>("heap B", one -> number(one.fastest().cost().allocatedBytesPerCycle())));
        }
        rows.stream()
                .flatMap(one -> one.turns().stream())
                .flatMap(one -> one.figures().keySet().stream())
                .distinct()
                .forEach(figure -> columns.add(
                        new Column<>(figure, one -> number(one.fastest().figures().get(figure)))));
        columns.add(new Column<>("overlaps", one -> number(
                (double) one.turns().stream().mapToLong(each -> each.tally().overlaps()).sum())));
        columns.add(new Column<>("verdict", one -> one.verdict().name()));
        return html(columns, rows);
    }

    private static Column<SeriesGroup> latency(String title, String operation, double percentile) {
        return new Column<>(title, group -> {
            OperationResult latencies = group.fastest().operations().get(operation);
            return latencies == null ? NONE : micros(latencies.us(percentile));
        });
    }

    /** The fastest turn and the slowest. */
    static String spread(Spread us) {
        return us == null ? NONE : micros(us.min()) + " – " + micros(us.max());
    }

    /** Outcomes and the client's counters, summed over the turns: a column for each driver, node count and load. */
    static String counters(RunResult result) {
        Map<SeriesGroup, Map<String, Long>> columns = new LinkedHashMap<>();
        Set<String> names = new LinkedHashSet<>();
        for (SeriesGroup group : SeriesGroup.of(result.series())) {
            Map<String, Long> column = new LinkedHashMap<>();
            group.turns().forEach(one -> count(one, column));
            column.values().removeIf(count -> count == 0);
            columns.put(group, column);
            names.addAll(column.keySet());
        }
        List<Column<String>> shown = new ArrayList<>(List.of(new Column<>("", name -> name)));
        columns.forEach((group, column) -> shown.add(
                new Column<>(group.spec().title(), name -> number((double) column.getOrDefault(name, 0L)))));
        return html(shown, names);
    }

    private static <T> String html(List<Column<T>> columns, Collection<T> rows) {
        StringBuilder html = new StringBuilder("<div class=\"scroll\"><table><thead><tr>");
        columns.forEach(
                column -> html.append("<th scope=\"col\">").append(Markup.text(column.title)).append("</th>"));
        html.append("</tr></thead><tbody>\n");
        for (T row : rows) {
            html.append("<tr>");
            for (Column<T> column : columns) {
                String cell = column.cell.apply(row);
                html.append(cell.equals(Verdict.FAIL.name()) ? "<td class=\"bad\">" : "<td>");
                html.append(Markup.text(cell)).append("</td>");
            }
            html.append("</tr>\n");
        }
        return html.append("</tbody></table></div>\n").toString();
    }

    private static void count(SeriesResult one, Map<String, Long> sums) {
        sums.merge("holdings", one.tally().holdings(), Long::sum);
        one.tally().acquires().forEach((name, count) -> sums.merge("acquires " + name, count, Long::sum));
        one.tally().releases().forEach((name, count) -> sums.merge("releases " + name, count, Long::sum));
        one.counters().forEach((name, count) -> sums.merge(name, count, Long::sum));
    }

    static String words(String title, Map<String, String> rows) {
        StringBuilder html = new StringBuilder(
                "<div><h3>%s</h3><table class=\"words\"><tbody>\n".formatted(Markup.text(title)));
        rows.forEach((name, value) -> html.append("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n"
                .formatted(Markup.text(name), value.isEmpty() ? NONE : Markup.text(value))));
        return html.append("</tbody></table></div>\n").toString();
    }

    static String list(List<String> sentences) {
        StringBuilder html = new StringBuilder("<ul>");
        sentences.forEach(one -> html.append("<li>").append(Markup.text(one)).append("</li>\n"));
        return html.append("</ul>\n").toString();
    }

    static String micros(double us) {
        if (us >= US_PER_MS * US_PER_MS) {
            return number(us / US_PER_MS / US_PER_MS) + " s";
        }
        return us >= US_PER_MS ? number(us / US_PER_MS) + " ms" : number(us) + " us";
    }

    /** Three significant digits, or all digits before the point. */
    static String number(Double value) {
        if (value == null) {
            return NONE;
        }
        double size = Math.abs(value);
        int digits = size >= 100 || value == Math.rint(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
        return String.format(Locale.ROOT, "%,." + digits + "f", value);
    }
}
