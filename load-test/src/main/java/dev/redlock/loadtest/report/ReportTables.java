package dev.redlock.loadtest.report;

import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;

/**
 * The tables of a report, as HTML. They have the data of the charts and need no script.
 *
 * @threading immutable
 */
final class ReportTables {
    private static final double US_PER_MS = 1e3;

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
        boolean isNamed = rows.stream().map(one -> one.spec().driver()).distinct().count() > 1;
        boolean isNumbered = rows.stream().anyMatch(one -> one.spec().repetition() > 1);
        boolean hasCost = rows.stream()
                .flatMap(one -> one.turns().stream())
                .anyMatch(one -> one.cost().cpuUsPerCycle() != null);
        Set<String> figures = new LinkedHashSet<>();
        rows.forEach(one -> one.turns().forEach(each -> figures.addAll(each.figures().keySet())));
        StringBuilder html = new StringBuilder("<div class=\"scroll\"><table><thead><tr>");
        if (isNamed) {
            heads(html, "driver");
        }
        heads(html, "N", "load");
        if (isNumbered) {
            heads(html, "turn");
        }
        heads(html, "cycles/s", "acquire p50");
        if (isSpreadShown) {
            heads(html, "all turns");
        }
        heads(html, "p99", "p99.9", "max", "release p50", "p99");
        if (hasCost) {
            heads(html, "CPU us", "heap B");
        }
        figures.forEach(figure -> heads(html, figure));
        heads(html, "overlaps", "verdict");
        html.append("</tr></thead><tbody>\n");
        for (SeriesGroup one : rows) {
            html.append("<tr>");
            if (isNamed) {
                cell(html, one.spec().driver());
            }
            cell(html, Integer.toString(one.spec().nodes()));
            cell(html, one.spec().load());
            if (isNumbered) {
                cell(html, Integer.toString(one.spec().repetition()));
            }
            line(html, one, isSpreadShown, hasCost);
            figures.forEach(figure -> cell(html, number(one.fastest().figures().get(figure))));
            cell(html, number((double) sum(one, each -> each.tally().overlaps())));
            boolean isBad = one.verdict() == Verdict.FAIL;
            html.append(isBad ? "<td class=\"bad\">" : "<td>").append(one.verdict()).append("</td></tr>\n");
        }
        return html.append("</tbody></table></div>\n").toString();
    }

    private static void line(StringBuilder html, SeriesGroup group, boolean isSpreadShown, boolean hasCost) {
        SeriesResult one = group.fastest();
        cell(html, number(one.tally().cyclesPerSecond()));
        OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
        latencies(html, acquire, 50);
        if (isSpreadShown) {
            Spread p50 = group.acquireP50Us();
            cell(html, p50 == null ? "–" : spread(p50));
        }
        latencies(html, acquire, 99, 99.9, 100);
        latencies(html, one.operations().get(SeriesResult.RELEASE), 50, 99);
        if (hasCost) {
            cell(html, number(one.cost().cpuUsPerCycle()));
            cell(html, number(one.cost().allocatedBytesPerCycle()));
        }
    }

    private static void latencies(StringBuilder html, OperationResult operation, double... percentiles) {
        for (double percentile : percentiles) {
            cell(html, operation == null ? "–" : micros(operation.us(percentile)));
        }
    }

    /** The fastest turn and the slowest. */
    static String spread(Spread us) {
        return micros(us.min()) + " – " + micros(us.max());
    }

    private static long sum(SeriesGroup group, ToLongFunction<SeriesResult> count) {
        return group.turns().stream().mapToLong(count).sum();
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
        StringBuilder html = new StringBuilder("<div class=\"scroll\"><table><thead><tr>");
        heads(html, "");
        columns.keySet().forEach(one -> heads(html, one.spec().title()));
        html.append("</tr></thead><tbody>\n");
        for (String name : names) {
            html.append("<tr>");
            cell(html, name);
            columns.values().forEach(column -> cell(html, number((double) column.getOrDefault(name, 0L))));
            html.append("</tr>\n");
        }
        return html.append("</tbody></table></div>\n").toString();
    }

    private static void count(SeriesResult one, Map<String, Long> sums) {
        sums.merge("holdings watched", one.tally().holdings(), Long::sum);
        one.tally().acquires().forEach((name, count) -> sums.merge("acquires " + name, count, Long::sum));
        one.tally().releases().forEach((name, count) -> sums.merge("releases " + name, count, Long::sum));
        one.counters().forEach((name, count) -> sums.merge(name, count, Long::sum));
    }

    static String words(String title, Map<String, String> rows) {
        StringBuilder html = new StringBuilder(
                "<div><h3>%s</h3><table class=\"words\"><tbody>\n".formatted(Markup.text(title)));
        rows.forEach((name, value) -> html.append("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n"
                .formatted(Markup.text(name), Markup.text(value))));
        return html.append("</tbody></table></div>\n").toString();
    }

    static String list(List<String> sentences) {
        StringBuilder html = new StringBuilder("<ul>");
        sentences.forEach(one -> html.append("<li>").append(Markup.text(one)).append("</li>\n"));
        return html.append("</ul>\n").toString();
    }

    private static void heads(StringBuilder html, String... titles) {
        for (String title : titles) {
            html.append("<th scope=\"col\">").append(Markup.text(title)).append("</th>");
        }
    }

    private static void cell(StringBuilder html, String value) {
        html.append("<td>").append(Markup.text(value)).append("</td>");
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
            return "–";
        }
        double size = Math.abs(value);
        int digits = size >= 100 || value == Math.rint(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
        return String.format(Locale.ROOT, "%,." + digits + "f", value);
    }
}
