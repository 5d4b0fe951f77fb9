package dev.redlock.loadtest.result;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * A run as JSON, the form that other programs and the report read. Times of day are ISO 8601 in UTC; {@code offsetMs}
 * counts from {@code startedAt}; latencies are microseconds.
 *
 * <pre>
 * formatVersion      1; grows when a field changes its meaning or goes
 * command            "latency", "throughput", ...
 * startedAt, elapsedMs
 * verdict            "PASS" or "FAIL"
 * commandLine        runs the same again; without passwords
 * failures           every reason, series' title first
 * warnings           findings that make figures doubtful, without failing the run
 * notes              sentences for people
 * contested          {holdings, overlaps}: the check on contested resources beside the series; 0 holdings without one
 * options            {name without dashes: value as text}
 * versions           {program, java, netty, drivers: {name: version}, servers: [...]}
 * machine            {cores, cpu, memoryBytes, os, kernel, arch}
 * series             [
 *   spec             {driver, nodes, loop: "CLOSED" | "OPEN", inFlight, ratePerSecond (0 if closed), repetition}
 *   title            the spec in words
 *   verdict, failures
 *   span             {offsetMs, warmupMs, recordedMs}
 *   tally            {cycles, cyclesPerSecond, acquires: {outcome: n}, releases: {outcome: n}, holdings, overlaps}
 *   operations       {"acquire" | "release" | "cycle" | ...: {
 *                      count, minUs, meanUs, p50Us, p90Us, p99Us, p999Us, p9999Us, maxUs,
 *                      curve: [[percentile, us], ...]   ascending, ends with [100, maxUs]
 *                      intervals: [{offsetMs, lengthMs, count, p50Us, p99Us, maxUs}, ...]}}
 *   cost             {cpuUsPerCycle: number | null, allocatedBytesPerCycle: number | null}
 *   figures          {name: number}
 *   counters         {name: integer}
 *   samples          [{offsetMs, values: {name: number}}, ...]
 *   marks            [{offsetMs, lengthMs (0 for a moment), text}, ...]
 * ]
 * </pre>
 *
 * @threading immutable
 */
public final class ResultJson {
    /** Grows when a field changes its meaning or goes. */
    public static final int FORMAT_VERSION = 1;

    private static final int CURVE_TICKS_PER_HALVING = 5;
    private static final double NS_PER_US = 1e3;
    private static final ObjectMapper MAPPER = JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    public static String text(RunResult result) {
        return tree(result).toPrettyString() + "\n";
    }

    public static ObjectNode tree(RunResult result) {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("formatVersion", FORMAT_VERSION);
        root.put("command", result.command());
        root.put("startedAt", result.startedAt().toString());
        root.put("elapsedMs", result.elapsedMs());
        root.put("commandLine", result.commandLine());
        root.put("verdict", result.verdict().name());
        root.set("failures", MAPPER.valueToTree(result.allFailures()));
        root.set("warnings", MAPPER.valueToTree(result.warnings()));
        root.set("notes", MAPPER.valueToTree(result.notes()));
        root.set("contested", MAPPER.valueToTree(result.contested()));
        root.set("options", MAPPER.valueToTree(result.options()));
        root.set("versions", MAPPER.valueToTree(result.versions()));
        root.set("machine", MAPPER.valueToTree(result.machine()));
        ArrayNode series = root.putArray("series");
        result.series().forEach(one -> series.add(series(one)));
        return root;
    }

    private static ObjectNode series(SeriesResult one) {
        ObjectNode node = MAPPER.createObjectNode();
        node.set("spec", MAPPER.valueToTree(one.spec()));
        node.put("title", one.spec().title());
        node.put("verdict", one.verdict().name());
        node.set("failures", MAPPER.valueToTree(one.failures()));
        node.set("span", MAPPER.valueToTree(one.span()));
        node.set("tally", MAPPER.valueToTree(one.tally()));
        ObjectNode operations = node.putObject("operations");
        one.operations().forEach((name, operation) -> operations.set(name, operation(operation)));
        node.set("cost", MAPPER.valueToTree(one.cost()));
        node.set("figures", MAPPER.valueToTree(one.figures()));
        node.set("counters", MAPPER.valueToTree(one.counters()));
        node.set("samples", MAPPER.valueToTree(one.samples()));
        node.set("marks", MAPPER.valueToTree(one.marks()));
        return node;
    }

    private static ObjectNode operation(OperationResult operation) {
        ObjectNode node = MAPPER.valueToTree(summary(operation.histogram()));
        ArrayNode curve = node.putArray("curve");
        for (HistogramIterationValue step : operation.histogram().percentiles(CURVE_TICKS_PER_HALVING)) {
            curve.addArray().add(step.getPercentileLevelIteratedTo()).add(step.getValueIteratedTo() / NS_PER_US);
        }
        node.set("intervals", MAPPER.valueToTree(operation.intervals()));
        return node;
    }

    /** The count and the usual percentiles, with the same names as in the CSV. */
    static Map<String, Number> summary(Histogram histogram) {
        Map<String, Number> summary = new LinkedHashMap<>();
        boolean isEmpty = histogram.getTotalCount() == 0;
        summary.put("count", histogram.getTotalCount());
        summary.put("minUs", isEmpty ? 0.0 : histogram.getMinValue() / NS_PER_US);
        summary.put("meanUs", isEmpty ? 0.0 : histogram.getMean() / NS_PER_US);
        summary.put("p50Us", histogram.getValueAtPercentile(50) / NS_PER_US);
        summary.put("p90Us", histogram.getValueAtPercentile(90) / NS_PER_US);
        summary.put("p99Us", histogram.getValueAtPercentile(99) / NS_PER_US);
        summary.put("p999Us", histogram.getValueAtPercentile(99.9) / NS_PER_US);
        summary.put("p9999Us", histogram.getValueAtPercentile(99.99) / NS_PER_US);
        summary.put("maxUs", histogram.getMaxValue() / NS_PER_US);
        return summary;
    }
}
