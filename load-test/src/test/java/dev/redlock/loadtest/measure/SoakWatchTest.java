package dev.redlock.loadtest.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.SeriesResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A soak of model gauges, a reading each second. */
class SoakWatchTest {
    private static final double MB = 1 << 20;

    @TempDir
    private Path folder;

    private final List<String> news = new ArrayList<>();
    private int readings;

    @Test
    void heapThatKeepsGrowingFailsTheRun() throws IOException {
        SoakWatch watch = soak(40, i -> 10 * MB + i * MB, i -> 20);
        assertEquals(1, watch.failures().size(), watch.failures()::toString);
        String failure = watch.failures().get(0);
        assertTrue(failure.startsWith("heapAfterGcBytes keeps growing: up by "), failure);
        assertTrue(failure.endsWith("of 30 readings, 100 % of all pairs in rising order"), failure);
    }

    @Test
    void threadsThatKeepGrowingFailTheRun() throws IOException {
        SoakWatch watch = soak(40, i -> 10 * MB, i -> 20 + i);
        assertTrue(watch.failures().toString().contains("threads keeps growing"), watch.failures()::toString);
    }

    @Test
    void steadyGaugesPass() throws IOException {
        assertEquals(List.of(), soak(40, i -> 10 * MB + i % 7 * MB, i -> 20).failures());
    }

    @Test
    void everyReadingIsReportedAndWrittenAtOnce() throws IOException {
        SoakWatch watch = soak(3, i -> 10 * MB, i -> 20);
        assertEquals(3, watch.samples().size());
        assertEquals("500/s, p99 2.0 ms, heap 10.0 MB, RSS 100 MB", news.get(0));
        List<String> lines = Files.readAllLines(folder.resolve("samples.csv"));
        assertEquals("offsetMs,heapAfterGcBytes,rssBytes,threads,cyclesPerSecond,cycleP99Us,acquired", lines.get(0));
        assertEquals("2000,10485760.0,104857600.0,20.0,500.0,2000.0,7.0", lines.get(2));
    }

    @Test
    void oneIntervalGivesOneReading() throws IOException {
        SoakWatch watch = soak(2, i -> 10 * MB, i -> 20);
        watch.onProgress(10_000, true);
        assertEquals(2, watch.samples().size(), "nothing new was measured since");
    }

    private SoakWatch soak(int seconds, IntToDoubleFunction heapBytes, IntToDoubleFunction threads) throws IOException {
        SoakWatch watch = new SoakWatch(news::add, () -> {
            readings++;
            Map<String, Double> values = new LinkedHashMap<>();
            values.put(ProcessGauges.HEAP, heapBytes.applyAsDouble(readings));
            values.put(ProcessGauges.RSS, 100 * MB);
            values.put(ProcessGauges.THREADS, threads.applyAsDouble(readings));
            return values;
        }, () -> Map.of("acquired", 7L), Duration.ofSeconds(1), folder.resolve("samples.csv"));
        try (watch) {
            watch.onProgress(0, false);
            for (int second = 1; second <= seconds; second++) {
                watch.onInterval(SeriesResult.CYCLE, new Interval(0, 1000, 500, 900, 2_000, 3_000));
                watch.onProgress(second * 1000L, true);
                watch.onProgress(second * 1000L + 100, true);
            }
        }
        return watch;
    }
}
