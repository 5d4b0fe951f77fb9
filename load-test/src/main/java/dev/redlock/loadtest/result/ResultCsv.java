package dev.redlock.loadtest.result;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A run as comma-separated values: one line of names, one line for each series. Columns that only some series have are
 * empty in the others. The names are those of {@link ResultJson}, joined with dots.
 *
 * @threading immutable
 */
final class ResultCsv {
    private ResultCsv() {
    }

    static String text(RunResult result) {
        List<Map<String, Object>> rows = result.series().stream().map(ResultCsv::row).toList();
        Set<String> columns = new LinkedHashSet<>();
        rows.forEach(row -> columns.addAll(row.keySet()));
        List<String> lines = new ArrayList<>();
        lines.add(String.join(",", columns));
        for (Map<String, Object> row : rows) {
            lines.add(columns.stream().map(column -> cell(row.get(column))).collect(Collectors.joining(",")));
        }
        return String.join("\n", lines) + "\n";
    }

    private static Map<String, Object> row(SeriesResult one) {
        Map<String, Object> row = new LinkedHashMap<>();
        SeriesSpec spec = one.spec();
        row.put("driver", spec.driver());
        row.put("nodes", spec.nodes());
        row.put("loop", spec.loop());
        row.put("outstanding", spec.outstanding());
        row.put("ratePerSecond", spec.ratePerSecond());
        row.put("repetition", spec.repetition());
        row.put("verdict", one.verdict());
        row.put("recordedMs", one.span().recordedMs());
        row.put("cycles", one.tally().cycles());
        row.put("cyclesPerSecond", one.tally().cyclesPerSecond());
        one.operations()
                .forEach((operation, latencies) -> ResultJson.summary(latencies.histogram())
                        .forEach((name, value) -> row.put(operation + "." + name, value)));
        row.put("cpuUsPerCycle", one.cost().cpuUsPerCycle());
        row.put("allocatedBytesPerCycle", one.cost().allocatedBytesPerCycle());
        one.tally().acquires().forEach((outcome, count) -> row.put("acquires." + outcome, count));
        one.tally().releases().forEach((outcome, count) -> row.put("releases." + outcome, count));
        row.put("holdings", one.tally().holdings());
        row.put("overlaps", one.tally().overlaps());
        one.figures().forEach((name, value) -> row.put("figures." + name, value));
        row.put("failures", String.join("; ", one.failures()));
        return row;
    }

    private static String cell(Object value) {
        if (value == null) {
            return "";
        }
        String text = value instanceof Double number ? String.format(Locale.ROOT, "%.3f", number) : value.toString();
        boolean isPlain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
        return isPlain ? text : '"' + text.replace("\"", "\"\"") + '"';
    }
}
