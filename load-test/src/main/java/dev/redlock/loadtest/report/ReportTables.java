package dev.redlock.loadtest.report;

import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Verdict;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The tables of a report, as HTML. They have the data of the charts and need no script.
 *
 * @threading immutable
 */
final class ReportTables {
    private static final double US_PER_MS = 1e3;

    private ReportTables() {
    }

    /** One line for each series. */
    static String series(RunResult result) {
        boolean hasCost = result.series().stream().anyMatch(one -> one.cost().cpuUsPerCycle() != null);
        Set<String> figures = new LinkedHashSet<>();
        result.series().forEach(one -> figures.addAll(one.figures().keySet()));
        StringBuilder html = new StringBuilder("<div class=\"scroll\"><table><thead><tr>");
        heads(html, "series", "N", "load", "cycles/s", "acquire p50", "p99", "p99.9", "max", "release p50", "p99");
        if (hasCost) {
            heads(html, "CPU, µs/cycle", "heap, B/cycle");
        }
        figures.forEach(figure -> heads(html, figure));
        heads(html, "holdings", "overlaps", "verdict");
        html.append("</tr></thead><tbody>\n");
        for (SeriesResult one : result.series()) {
            html.append("<tr>");
            line(html, one, hasCost);
            figures.forEach(figure -> cell(html, number(one.figures().get(figure))));
            cell(html, number((double) one.tally().holdings()));
            cell(html, number((double) one.tally().overlaps()));
            boolean isBad = one.verdict() == Verdict.FAIL;
            html.append(isBad ? "<td class=\"bad\">" : "<td>").append(one.verdict()).append("</td></tr>\n");
        }
        return html.append("</tbody></table></div>\n").toString();
    }

    private static void line(StringBuilder html, SeriesResult one, boolean hasCost) {
        SeriesSpec spec = one.spec();
        cell(html, spec.driver() + (spec.repetition() == 1 ? "" : ", again " + spec.repetition()));
        cell(html, Integer.toString(spec.nodes()));
        cell(html,
                spec.loop() == LoopKind.OPEN ? number(spec.ratePerSecond()) + "/s" : spec.outstanding() + " at a time");
        cell(html, number(one.tally().cyclesPerSecond()));
        latencies(html, one.operations().get(SeriesResult.ACQUIRE), 50, 99, 99.9, 100);
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

    /** Outcomes and the client's counters: a column for each series. */
    static String counters(RunResult result) {
        Map<SeriesResult, Map<String, Long>> columns = new LinkedHashMap<>();
        Set<String> names = new LinkedHashSet<>();
        for (SeriesResult one : result.series()) {
            Map<String, Long> column = new LinkedHashMap<>();
            one.tally().acquires().forEach((name, count) -> column.put("acquires " + name, count));
            one.tally().releases().forEach((name, count) -> column.put("releases " + name, count));
            column.putAll(one.counters());
            column.values().removeIf(count -> count == 0);
            columns.put(one, column);
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

    /** Names and values. */
    static String words(String title, Map<String, String> rows) {
        StringBuilder html = new StringBuilder("<div><h3>").append(Markup.text(title)).append("</h3>");
        html.append("<table class=\"words\"><tbody>\n");
        rows.forEach((name, value) -> html.append("<tr><th scope=\"row\">")
                .append(Markup.text(name))
                .append("</th><td>")
                .append(Markup.text(value))
                .append("</td></tr>\n"));
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
        return us >= US_PER_MS ? number(us / US_PER_MS) + " ms" : number(us) + " µs";
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
