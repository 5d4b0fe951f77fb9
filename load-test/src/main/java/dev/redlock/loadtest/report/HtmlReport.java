package dev.redlock.loadtest.report;

import dev.redlock.cli.Counted;
import dev.redlock.loadtest.result.ExclusionCheck;
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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    /** A place of the template, which gets the part of its name. */
    private static final Pattern PLACE = Pattern.compile("\\{\\{(\\w+)}}");
    private static final double BYTES_PER_GIB = 1L << 30;
    private static final int CURVE_CARDS_MAX = 9;
    private static final Map<String, String> HEADLINES = Map.of("latency", "Lock latency against the number of nodes",
            "throughput", "Lock throughput against the load", "compare", "Lock clients side by side", "contention",
            "Locks under contention", "retain", "Retained locks that another client wants", "leases",
            "Leases held and renewed by one client", "soak",
            "Locks under one load for a long time", "chaos", "Locks under random faults");

    public static String page(RunResult result) throws IOException {
        String headline = HEADLINES.getOrDefault(result.command(), "load-test " + result.command());
        Map<String, String> parts = new HashMap<>(ReportAssets.parts());
        parts.put("title", Markup.text(headline + ": " + result.verdict()));
        parts.put("headline", Markup.text(headline));
        parts.put("verdictClass", result.verdict() == Verdict.PASS ? "pass" : "fail");
        parts.put("verdict", result.verdict().name());
        parts.put("command", Markup.text(result.command()));
        parts.put("startedAt", WHEN.format(result.startedAt().truncatedTo(ChronoUnit.SECONDS)));
        parts.put("seconds", ReportTables.number(Math.rint(result.elapsedMs() / 1e3)));
        parts.put("failures", reasons("reasons", "This run does not count", result.allFailures()));
        parts.put("warnings", reasons("warnings", "Warnings", result.warnings()));
        parts.put("cards", cards(result));
        parts.put("figures", ReportTables.groups(result));
        parts.put("counters", ReportTables.counters(result));
        parts.put("commandLine", Markup.text(result.commandLine()));
        parts.put("notes", result.notes().isEmpty() ? "" : ReportTables.list(result.notes()));
        parts.put("options", ReportTables.words("Options", result.options()));
        parts.put("versions", ReportTables.words("Versions", versions(result.versions())));
        parts.put("machine", ReportTables.words("Machine", machine(result.machine())));
        parts.put("data", Markup.json(ResultJson.tree(result).toString()));
        return PLACE.matcher(ReportAssets.template())
                .replaceAll(place -> Matcher.quoteReplacement(parts.get(place.group(1))));
    }

    private static String reasons(String id, String title, List<String> sentences) {
        return sentences.isEmpty()
                ? ""
                : "<section class=\"%s\" role=\"alert\"><h2>%s</h2>%s</section>\n".formatted(id, title,
                        ReportTables.list(sentences));
    }

    private static String cards(RunResult result) {
        StringBuilder html = new StringBuilder();
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
        checks(html, result);
        return html.toString();
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

    private static void checks(StringBuilder html, RunResult result) {
        ExclusionCheck check = result.exclusion();
        card(html, "Overlapping holders", ReportTables.number((double) check.overlaps()),
                "in " + ReportTables.number((double) check.holdings()) + " holdings"
                        + (result.isContested() ? " of contested resources" : ""));
        int marks = result.series().stream().mapToInt(one -> one.marks().size()).sum();
        if (marks > 0) {
            card(html, "Faults and events", ReportTables.number((double) marks), "marked in the charts over time");
        }
    }

    private static void card(StringBuilder html, String title, String value, String detail) {
        html.append("<div><dt>%s</dt><dd>%s</dd><dd>%s</dd></div>\n".formatted(Markup.text(title), Markup.text(value),
                Markup.text(detail)));
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
