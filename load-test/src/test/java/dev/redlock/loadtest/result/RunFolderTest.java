package dev.redlock.loadtest.result;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunFolderTest {
    private static final Instant START = Instant.parse("2026-01-02T03:04:05.678Z");
    private static final SeriesSpec CLOSED = new SeriesSpec("redlock", 3, LoopKind.CLOSED, 64, 0, 1);
    private static final SeriesSpec OPEN = new SeriesSpec("set-nx", 1, LoopKind.OPEN, 256, 2500, 2);

    @TempDir
    private Path folder;

    @Test
    void goodRunLeavesEveryFile() throws IOException {
        RunFolder run = RunFolder.open(folder, "latency", START);
        log(run, CLOSED);
        log(run, OPEN);
        Path shown = run.finish(result(List.of(), List.of()));
        assertEquals(folder.resolve("results.json"), shown);
        assertEquals(
                new TreeSet<>(List.of("redlock-n3-k64-r1-acquire.hgrm", "redlock-n3-k64-r1-acquire.hlog",
                        "results.json",
                        "series.csv", "set-nx-n1-rate2500-r2-acquire.hgrm", "set-nx-n1-rate2500-r2-acquire.hlog")),
                names());
    }

    @Test
    void failedRunHasFailInEveryFileName() throws IOException {
        RunFolder run = RunFolder.open(folder, "latency", START);
        log(run, CLOSED);
        Path shown = run.finish(result(List.of("two holders"), List.of()));
        assertEquals(folder.resolve("results-FAIL.json"), shown);
        assertEquals(folder.resolve("report-FAIL.html"), run.file("report.html", Verdict.FAIL));
        assertEquals(List.of(), names().stream().filter(name -> !name.contains("-FAIL.")).toList());
        assertEquals(5, names().size(), names()::toString);
    }

    @Test
    void jsonHasTheFieldsThatAreDocumented() throws IOException {
        RunFolder run = RunFolder.open(folder, "latency", START);
        Path file = run.finish(result(List.of("slow"), List.of("no nodes")));
        JsonNode root = new ObjectMapper().readTree(file.toFile());
        assertEquals(1, root.get("formatVersion").asInt());
        assertEquals("2026-01-02T03:04:05.678Z", root.get("startedAt").asText());
        assertEquals("FAIL", root.get("verdict").asText());
        assertEquals("redlock, N = 3, 64 in flight: slow", root.at("/failures/0").asText());
        assertEquals("no nodes", root.at("/failures/1").asText());
        assertEquals("30s", root.at("/options/ttl").asText());
        assertEquals("redlock 1", root.at("/versions/drivers/redlock").asText());
        assertEquals("redis 7", root.at("/versions/servers/0").asText());
        assertEquals(2, root.at("/machine/cores").asInt());
        JsonNode series = root.at("/series/1");
        assertEquals("OPEN", series.at("/spec/loop").asText());
        assertEquals(2500, series.at("/spec/ratePerSecond").asDouble());
        assertEquals("set-nx, N = 1, 2500/s, repetition 2", series.get("title").asText());
        assertEquals("PASS", series.get("verdict").asText());
        assertEquals(4500, series.at("/span/recordedMs").asInt());
        assertEquals(7, series.at("/tally/acquires/CONTENDED").asInt());
        assertEquals(2.5, series.at("/cost/cpuUsPerCycle").asDouble());
        assertTrue(series.at("/cost/allocatedBytesPerCycle").isNull());
        assertEquals(0.5, series.at("/figures/jainIndex").asDouble());
        assertEquals(3, series.at("/counters/acquired").asInt());
        assertEquals(11.0, series.at("/samples/0/values/heapBytes").asDouble());
        assertEquals("node 0 killed", series.at("/marks/0/text").asText());
        JsonNode acquire = series.at("/operations/acquire");
        assertEquals(100, acquire.get("count").asInt());
        assertEquals(50, acquire.get("p50Us").asDouble(), 0.1);
        assertEquals(100, acquire.get("maxUs").asDouble(), 0.2);
        assertEquals(100.0, acquire.at("/curve").get(acquire.get("curve").size() - 1).get(0).asDouble());
        assertEquals(99, acquire.at("/intervals/0/p99Us").asDouble(), 0.2);
        assertEquals(1500, acquire.at("/intervals/0/offsetMs").asInt());
    }

    @Test
    void csvHasOneLineForEachSeriesAndTheSameNumberOfCells() throws IOException {
        RunFolder.open(folder, "latency", START).finish(result(List.of("says \"no\", twice"), List.of()));
        List<String> lines = Files.readAllLines(folder.resolve("series-FAIL.csv"));
        assertEquals(3, lines.size());
        List<String> head = List.of(lines.get(0).split(","));
        assertEquals("driver", head.get(0));
        assertTrue(head.containsAll(List.of("acquire.p99Us", "acquires.CONTENDED", "figures.jainIndex", "failures")));
        assertTrue(lines.get(1).endsWith(",\"says \"\"no\"\", twice\""), lines.get(1));
        assertEquals(head.size(), lines.get(2).split(",", -1).length);
    }

    @Test
    void logReadsBackWithTheSameCounts() throws IOException {
        RunFolder run = RunFolder.open(folder, "latency", START);
        log(run, CLOSED);
        run.finish(result(List.of(), List.of()));
        try (HistogramLogReader reader = new HistogramLogReader(
                folder.resolve("redlock-n3-k64-r1-acquire.hlog").toFile())) {
            Histogram first = (Histogram) reader.nextIntervalHistogram();
            assertEquals(100, first.getTotalCount());
            assertEquals(START.toEpochMilli() + 1500, first.getStartTimeStamp());
            EncodableHistogram second = reader.nextIntervalHistogram();
            assertEquals(START.toEpochMilli() + 2000, second.getStartTimeStamp());
            assertNull(reader.nextIntervalHistogram());
        }
        String distribution = Files.readString(folder.resolve("redlock-n3-k64-r1-acquire.hgrm"));
        assertTrue(distribution.contains("Total count    =          100"), distribution);
    }

    @Test
    void nonEmptyFolderIsRejected() throws IOException {
        Files.writeString(folder.resolve("mine"), "x");
        IOException refusal = assertThrows(IOException.class,
                () -> RunFolder.open(folder, "latency", START));
        assertTrue(refusal.getMessage().contains("is not an empty folder"), refusal.getMessage());
        assertThrows(IOException.class,
                () -> RunFolder.open(folder.resolve("mine"), "latency", START));
        assertThrows(IOException.class,
                () -> RunFolder.open(folder.resolve("mine/below"), "latency", START));
    }

    @Test
    void machineIsDescribedWithoutAName() {
        MachineClass here = MachineClass.here();
        assertTrue(here.cores() > 0 && here.memoryBytes() > 0, here::toString);
        String host = System.getenv("HOSTNAME");
        assertFalse(host != null && !host.isBlank() && here.toString().contains(host), "names the host");
    }

    @Test
    void failMarkGoesBeforeTheExtension() {
        assertEquals("a.b-FAIL.hlog", RunFolder.marked("a.b.hlog"));
        assertEquals("a-FAIL", RunFolder.marked("a"));
    }

    private static void log(RunFolder run, SeriesSpec spec) {
        try (IntervalLog log = run.log(spec)) {
            log.append("acquire", Interval.of(1500, 500, latencies()), latencies());
            log.append("acquire", Interval.of(2000, 500, latencies()), latencies());
        }
    }

    private static Histogram latencies() {
        Histogram histogram = new Histogram(3);
        for (int i = 1; i <= 100; i++) {
            histogram.recordValue(i * 1000L);
        }
        return histogram;
    }

    private static RunResult result(List<String> seriesFailures, List<String> runFailures) {
        return new RunResult("latency", START, 9_000, "java -jar load-test.jar", Map.of("ttl", "30s"),
                new Versions("0", "17", "4.2", Map.of("redlock", "redlock 1"), List.of("redis 7")),
                new MachineClass(2, "cpu", 8L << 30, "Linux", "6", "amd64"),
                List.of(series(CLOSED, seriesFailures), series(OPEN, List.of())), ExclusionCheck.NONE,
                List.of("a note"), List.of(),
                runFailures);
    }

    private static SeriesResult series(SeriesSpec spec, List<String> failures) {
        OperationResult acquire = new OperationResult(latencies(), List.of(Interval.of(1500, 500, latencies())));
        return new SeriesResult(spec, new Span(1500, 1000, 4500),
                new Tally(100, 22.2, Map.of("ACQUIRED", 100L, "CONTENDED", 7L), Map.of("RELEASED", 100L), 100, 0),
                Map.of(SeriesResult.ACQUIRE, acquire), new ClientCost(2.5, null), Map.of("jainIndex", 0.5),
                Map.of("acquired", 3L), List.of(new Sample(1600, Map.of("heapBytes", 11.0))),
                List.of(new Mark(1700, "node 0 killed")), failures);
    }

    private TreeSet<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new));
        }
    }
}
