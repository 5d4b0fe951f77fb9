package dev.redlock.loadtest.report;

import dev.redlock.cli.Counted;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.ResultJson;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Spread;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.loadtest.result.Versions;
import java.io.IOException;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A run as one self-contained page with style, data, charts and their library. Its content security policy prevents the
 * browser from loading anything, and allows only the two scripts of the page.
 *
 * @threading immutable
 */
public final class HtmlReport {
    private static final DateTimeFormatter WHEN = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'", Locale.ROOT)
            .withZone(ZoneOffset.UTC);
    private static final double BYTES_PER_GIB = 1L << 30;
    private static final int CURVE_CARDS_MAX = 9;
    private static final Map<String, String> HEADLINES = Map.of("latency", "Lock latency against the number of nodes",
            "throughput", "Lock throughput against the load", "compare", "Lock clients side by side", "contention",
            "Locks under contention", "leases", "Leases held and renewed by one client", "soak",
            "Locks under one load for a long time", "chaos",
            "Locks under random faults");

    public static String page(RunResult result) throws IOException {
        String charts = ReportAssets.charts();
        String script = ReportAssets.script();
        StringBuilder html = new StringBuilder(1 << 20);
        head(html, result, "script-src " + ReportAssets.digest(charts) + " " + ReportAssets.digest(script));
        html.append("<main>\n");
        reasons(html, result);
        cards(html, result);
        chartSections(html);
        tables(html, result);
        html.append("</main>\n<script type=\"application/json\" id=\"data\">")
                .append(Markup.json(ResultJson.tree(result).toString()))
                .append("</script>\n<script>")
                .append(charts)
                .append("</script>\n<script>")
                .append(script)
                .append("</script>\n</body>\n</html>\n");
        return html.toString();
    }

    private static void head(StringBuilder html, RunResult result, String scripts) throws IOException {
        String headline = HEADLINES.getOrDefault(result.command(), "load-test " + result.command());
        String title = headline + ": " + result.verdict();
        html.append("<!DOCTYPE html>\n<html lang=\"en\" data-theme=\"light\">\n<head>\n<meta charset=\"utf-8\">\n")
                .append("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ")
                .append("style-src 'unsafe-inline'; img-src data:; ")
                .append(scripts)
                .append("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
                .append(Markup.text(title))
                .append("</title>\n<style>\n")
                .append(ReportAssets.style())
                .append("</style>\n</head>\n<body>\n<header><div>\n<h1>")
                .append(Markup.text(headline))
                .append("</h1>\n<span class=\"verdict ")
                .append(result.verdict() == Verdict.PASS ? "pass" : "fail")
                .append("\">")
                .append(result.verdict())
                .append("</span>\n<p>load-test ")
                .append(Markup.text(result.command()))
                .append(", ")
                .append(WHEN.format(result.startedAt().truncatedTo(ChronoUnit.SECONDS)))
                .append(", ")
                .append(ReportTables.number(Math.rint(result.elapsedMs() / 1e3)))
                .append(" s long</p>\n<button id=\"theme\" type=\"button\" hidden>Dark</button>\n</div></header>\n");
    }

    private static void reasons(StringBuilder html, RunResult result) {
        if (result.verdict() == Verdict.FAIL) {
            html.append("<section class=\"reasons\" role=\"alert\"><h2>This run does not count</h2>")
                    .append(ReportTables.list(result.allFailures()))
                    .append("</section>\n");
        }
        if (!result.warnings().isEmpty()) {
            html.append("<section class=\"warnings\" role=\"alert\"><h2>Warnings</h2>")
                    .append(ReportTables.list(result.warnings()))
                    .append("</section>\n");
        }
    }

    private static void cards(StringBuilder html, RunResult result) {
        html.append("<dl class=\"cards\">\n");
        List<SeriesGroup> curve = curve(SeriesGroup.of(result.series()));
        if (curve.size() > 1) {
            curve.forEach(one -> card(html, one));
        } else {
            totals(html, result.series());
        }
        checks(html, result.series());
        html.append("</dl>\n");
    }

    /** Latency against the node count at the first load, if there is one driver. */
    private static List<SeriesGroup> curve(List<SeriesGroup> groups) {
        boolean isOne = groups.stream().map(one -> one.spec().driver()).distinct().count() == 1;
        List<SeriesGroup> curve = groups.stream()
                .filter(one -> one.spec().load().equals(groups.get(0).spec().load()) && one.acquireP50Us() != null)
                .toList();
        return isOne && curve.size() <= CURVE_CARDS_MAX ? curve : List.of();
    }

    private static void card(StringBuilder html, SeriesGroup one) {
        Spread p50 = one.acquireP50Us();
        int turns = one.turns().size();
        card(html, "Acquire on " + Counted.of(one.spec().nodes(), "node"),
                ReportTables.micros(p50.median()),
                "p50, " + one.spec().load() + inTurns(ReportTables.spread(p50), turns));
    }

    /** The range of a figure whose median over the turns is shown. */
    private static String inTurns(String range, int turns) {
        return turns == 1 ? "" : "; median of " + turns + " turns, " + range;
    }

    private static void totals(StringBuilder html, List<SeriesResult> series) {
        long cycles = series.stream().mapToLong(one -> one.tally().cycles()).sum();
        card(html, "Cycles measured", ReportTables.number((double) cycles),
                series.size() == 1 ? "in one series" : "in " + series.size() + " series");
        List<SeriesGroup> groups = SeriesGroup.of(series)
                .stream()
                .filter(one -> one.acquireP50Us() != null && one.cyclesPerSecond().median() > 0)
                .toList();
        groups.stream().max(Comparator.comparingDouble(one -> one.cyclesPerSecond().median())).ifPresent(one -> {
            Spread rate = one.cyclesPerSecond();
            card(html, "Highest throughput", ReportTables.number(rate.median()) + "/s", one.spec().title()
                    + inTurns(ReportTables.number(rate.min()) + " – " + ReportTables.number(rate.max()) + "/s",
                            one.turns().size()));
        });
        groups.stream().min(Comparator.comparingDouble(one -> one.acquireP50Us().median())).ifPresent(one -> {
            Spread p50 = one.acquireP50Us();
            card(html, "Shortest acquire, p50", ReportTables.micros(p50.median()), one.spec().title()
                    + inTurns(ReportTables.spread(p50), one.turns().size()));
        });
    }

    private static void checks(StringBuilder html, List<SeriesResult> series) {
        long overlaps = series.stream().mapToLong(one -> one.tally().overlaps()).sum();
        long holdings = series.stream().mapToLong(one -> one.tally().holdings()).sum();
        card(html, "Overlapping holders", ReportTables.number((double) overlaps),
                "in " + ReportTables.number((double) holdings) + " holdings watched");
        int marks = series.stream().mapToInt(one -> one.marks().size()).sum();
        if (marks > 0) {
            card(html, "Faults and events", ReportTables.number((double) marks), "marked in the charts over time");
        }
    }

    private static void card(StringBuilder html, String title, String value, String detail) {
        html.append("<div><dt>")
                .append(Markup.text(title))
                .append("</dt><dd>")
                .append(Markup.text(value))
                .append("</dd><dd>")
                .append(Markup.text(detail))
                .append("</dd></div>\n");
    }

    private static void chartSections(StringBuilder html) {
        html.append("<noscript><section><p>The charts need JavaScript; the tables do not.</p></section></noscript>\n");
        chart(html, "drivers", "Drivers side by side", "Medians over the repetitions; the table has their spread.");
        chart(html, "nodes", "Latency against the number of nodes", "Lines show the fastest turn, bands all turns.");
        chart(html, "percentiles", "Latency by percentile",
                "The further right, the rarer: each step is ten times as rare. Of repetitions, the one with the median "
                        + "p99.");
        chart(html, "throughput", "Throughput against the load", "Medians over the repetitions.");
        chart(html, "loaded", "Latency against the load", "Medians over the repetitions.");
        chart(html, "time", "Over time",
                "Bands and dashed lines mark what happened meanwhile, such as injected faults.");
        chart(html, "samples", "Readings over time", "Values watched beside the latencies.");
    }

    /** The script shows the sections that have data. */
    private static void chart(StringBuilder html, String id, String title, String words) {
        html.append("<section id=\"")
                .append(id)
                .append("\" hidden><h2>")
                .append(Markup.text(title))
                .append("</h2><p>")
                .append(Markup.text(words))
                .append("</p></section>\n");
    }

    private static void tables(StringBuilder html, RunResult result) throws IOException {
        html.append("<section><h2>Figures</h2><p>Each line shows the turn with the lowest acquire p50. ")
                .append("Latencies count from the call, or in an open loop from the intended time, to the outcome. ")
                .append("CPU time and heap bytes are those of the client for one cycle.</p>\n")
                .append(ReportTables.groups(result))
                .append("<details><summary>Outcomes and counters</summary>\n")
                .append(ReportTables.counters(result))
                .append("</details></section>\n<section><h2>How it was measured</h2>\n");
        html.append("<pre class=\"command\">").append(Markup.text(result.commandLine())).append("</pre>\n");
        if (!result.notes().isEmpty()) {
            html.append(ReportTables.list(result.notes()));
        }
        html.append("<div class=\"grid\">\n")
                .append(ReportTables.words("Options", result.options()))
                .append(ReportTables.words("Versions", versions(result.versions())))
                .append(ReportTables.words("Machine", machine(result.machine())))
                .append("</div></section>\n<footer>Charts: Apache ECharts ")
                .append(Markup.text(ReportAssets.chartsVersion()))
                .append(" (Apache-2.0), inside this file. The same folder has the data: results.json and series.csv.")
                .append("</footer>\n");
    }

    private static Map<String, String> versions(Versions versions) {
        Map<String, String> rows = new LinkedHashMap<>();
        rows.put("program", versions.program());
        rows.put("Java", versions.java());
        rows.put("Netty", versions.netty());
        rows.putAll(versions.drivers());
        Map<String, Integer> servers = new LinkedHashMap<>();
        versions.servers().forEach(server -> servers.merge(server, 1, Integer::sum));
        rows.put("servers", servers.entrySet()
                .stream()
                .map(server -> server.getKey() + (server.getValue() == 1 ? "" : " (" + server.getValue() + " nodes)"))
                .collect(Collectors.joining(", ")));
        return rows;
    }

    private static Map<String, String> machine(MachineClass machine) {
        Map<String, String> rows = new LinkedHashMap<>();
        rows.put("processors", Integer.toString(machine.cores()));
        rows.put("model", machine.cpu());
        rows.put("memory", ReportTables.number(machine.memoryBytes() / BYTES_PER_GIB) + " GiB");
        rows.put("system", machine.os() + " " + machine.kernel() + ", " + machine.arch());
        return rows;
    }
}
