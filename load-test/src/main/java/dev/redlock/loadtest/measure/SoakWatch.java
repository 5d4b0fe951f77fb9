package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reads gauges and counters at a fixed interval, writes them to a file at once, and reports in the end which of them
 * grew.
 *
 * @threading caller-confined
 */
final class SoakWatch implements SeriesWatch, Closeable {
    private static final double MB = 1 << 20;
    /** The rise of each gauge above which its trend counts. */
    private static final Map<String, Double> RISE_MAX = Map.of(ProcessGauges.HEAP, 8 * MB, ProcessGauges.RSS, 32 * MB,
            ProcessGauges.THREADS, 3.0, ProcessGauges.FILES, 8.0, "nodes.debt", 64.0);

    private final Consumer<String> news;
    private final Supplier<Map<String, Double>> gauges;
    private final Supplier<Map<String, Long>> counters;
    private final long stepMs;
    private final BufferedWriter file;
    private final List<Sample> samples = new ArrayList<>();
    private final List<String> columns = new ArrayList<>();
    private Interval cycles = new Interval(0, 1, 0, 0, 0, 0);
    private boolean isNew;
    private long nextMs;

    SoakWatch(Consumer<String> news, Supplier<Map<String, Double>> gauges, Supplier<Map<String, Long>> counters,
            Duration step, Path samplesFile) throws IOException {
        this.news = news;
        this.gauges = gauges;
        this.counters = counters;
        this.stepMs = step.toMillis();
        this.file = Files.newBufferedWriter(samplesFile);
    }

    @Override
    public void onInterval(String operation, Interval interval) {
        if (operation.equals(SeriesResult.CYCLE)) {
            cycles = interval;
            isNew = true;
        }
    }

    @Override
    public void onProgress(long offsetMs, boolean isMeasuring) {
        if (!isMeasuring) {
            nextMs = offsetMs + stepMs;
        } else if (isNew && offsetMs >= nextMs) {
            isNew = false;
            nextMs += stepMs * (1 + (offsetMs - nextMs) / stepMs);
            take(offsetMs);
        }
    }

    private void take(long offsetMs) {
        Map<String, Double> values = new LinkedHashMap<>(gauges.get());
        values.put("cyclesPerSecond", cycles.count() * 1e3 / Math.max(1, cycles.lengthMs()));
        values.put("cycleP99Us", cycles.p99Us());
        counters.get().forEach((name, count) -> values.put(name, (double) count));
        Sample sample = new Sample(offsetMs, values);
        samples.add(sample);
        write(sample);
        news.accept(line(sample));
    }

    private void write(Sample sample) {
        try {
            if (columns.isEmpty()) {
                columns.addAll(sample.values().keySet());
                file.write("offsetMs," + String.join(",", columns) + "\n");
            }
            file.write(sample.offsetMs() + "," + columns.stream()
                    .map(column -> String.format(Locale.ROOT, "%.1f", sample.values().getOrDefault(column, 0.0)))
                    .collect(Collectors.joining(",")) + "\n");
            file.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write the samples", e);
        }
    }

    private static String line(Sample sample) {
        Map<String, Double> values = sample.values();
        return String.format(Locale.ROOT, "%.0f/s, p99 %.1f ms, heap %.1f MB, RSS %.0f MB",
                values.get("cyclesPerSecond"), values.get("cycleP99Us") / 1e3, values.get(ProcessGauges.HEAP) / MB,
                values.getOrDefault(ProcessGauges.RSS, 0.0) / MB);
    }

    @Override
    public List<Sample> samples() {
        return samples;
    }

    @Override
    public List<String> failures() {
        List<String> failures = new ArrayList<>();
        trends().forEach((name, trend) -> {
            if (trend.isGrowing(RISE_MAX.get(name))) {
                failures.add(String.format(Locale.ROOT,
                        "%s keeps growing: up by %.0f from the first to the last third of %d readings, %.0f %% of all "
                                + "pairs in rising order",
                        name, trend.rise(), trend.samples(), 50 + 50 * trend.tau()));
            }
        });
        return failures;
    }

    Map<String, Trend> trends() {
        Map<String, Trend> trends = new LinkedHashMap<>();
        if (!samples.isEmpty()) {
            samples.get(0)
                    .values()
                    .keySet()
                    .stream()
                    .filter(RISE_MAX::containsKey)
                    .forEach(name -> trends.put(name,
                            Trend.of(
                                    samples.stream().map(sample -> sample.values().getOrDefault(name, 0.0)).toList())));
        }
        return trends;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
