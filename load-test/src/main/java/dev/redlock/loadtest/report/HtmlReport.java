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
            "Locks under one load for a long time", "chaos", "Locks under random faults");
    private static final String HEAD = """
            <!DOCTYPE html>
            <html lang="en" data-theme="light">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
            img-src data:; script-src %s %s">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>%s</title>
            <style>
            %s</style>
            </head>
            <body>
            <header><div>
            <h1>%s</h1>
            <span class="verdict %s">%s</span>
            <p>load-test %s, %s, %s s long</p>
            <button id="theme" type="button" hidden>Dark</button>
            </div></header>
            <main>
            """;
    private static final String TABLES = """
            <section><h2>Figures</h2><p>Each line shows the turn with the lowest acquire p50. Latencies count from the \
            call, or in an open loop from the intended time, to the outcome. CPU time and heap bytes are those of the \
            client for one cycle.</p>
            %s<details><summary>Outcomes and counters</summary>
            %s</details></section>
            <section><h2>How it was measured</h2>
            <pre class="command">%s</pre>
            %s<div class="grid">
            %s%s%s</div></section>
            <footer>Charts: Apache ECharts %s (Apache-2.0), inside this file. The same folder has the data: \
            results.json and series.csv.</footer>
            """;

    public static String page(RunResult result) throws IOException {
        String charts = ReportAssets.charts();
        String script = ReportAssets.script();
        StringBuilder html = new StringBuilder(1 << 20);
        String headline = HEADLINES.getOrDefault(result.command(), "load-test " + result.command());
        html.append(HEAD.formatted(ReportAssets.digest(charts), ReportAssets.digest(script),
                Markup.text(headline + ": " + result.verdict()), ReportAssets.style(), Markup.text(headline),
                result.verdict() == Verdict.PASS ? "pass" : "fail", result.verdict(), Markup.text(result.command()),
                WHEN.format(result.startedAt().truncatedTo(ChronoUnit.SECONDS)),
                ReportTables.number(Math.rint(result.elapsedMs() / 1e3))));
        reasons(html, "reasons", "This run does not count", result.allFailures());
        reasons(html, "warnings", "Warnings", result.warnings());
        cards(html, result);
        chartSections(html);
        html.append(TABLES.formatted(ReportTables.groups(result), ReportTables.counters(result),
                Markup.text(result.commandLine()), result.notes().isEmpty() ? "" : ReportTables.list(result.notes()),
                ReportTables.words("Options", result.options()),
                ReportTables.words("Versions", versions(result.versions())),
                ReportTables.words("Machine", machine(result.machine())), Markup.text(ReportAssets.chartsVersion())));
        html.append("</main>\n<script type=\"application/json\" id=\"data\">")
                .append(Markup.json(ResultJson.tree(result).toString()));
        html.append("</script>\n<script>").append(charts).append("</script>\n<script>").append(script);
        return html.append("</script>\n</body>\n</html>\n").toString();
    }

    private static void reasons(StringBuilder html, String id, String title, List<String> sentences) {
        if (!sentences.isEmpty()) {
            html.append("<section class=\"%s\" role=\"alert\"><h2>%s</h2>%s</section>\n".formatted(id, title,
                    ReportTables.list(sentences)));
        }
    }

    private static void cards(StringBuilder html, RunResult result) {
        html.append("<dl class=\"cards\">\n");
        List<SeriesGroup> curve = curve(SeriesGroup.of(result.series()));
        if (curve.size() > 1) {
            for (SeriesGroup one : curve) {
                Spread p50 = one.acquireP50Us();
                card(html, "Acquire on " + Counted.of(one.spec().nodes(), "node"), ReportTables.micros(p50.median()),
                        "p50, " + one.spec().load() + inTurns(ReportTables.spread(p50), one.turns().size()));
            }
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
        html.append("<div><dt>%s</dt><dd>%s</dd><dd>%s</dd></div>\n".formatted(Markup.text(title), Markup.text(value),
                Markup.text(detail)));
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
        html.append("<section id=\"%s\" hidden><h2>%s</h2><p>%s</p></section>\n".formatted(id, Markup.text(title),
                Markup.text(words)));
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
