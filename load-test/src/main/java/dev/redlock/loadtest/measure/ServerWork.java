package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds what the servers do for each grant of a series, by two readings within the recorded time.
 *
 * @threading caller-confined to the thread that runs the rig
 */
final class ServerWork implements SeriesWatch {
    static final String COMMANDS = "serverCommandsPerGrant";
    static final String CPU_US = "serverCpuUsPerGrant";

    private static final long INTERVAL_MS = 500;

    private final ServerCounts counts;
    private ServerCounts.Reading first;
    private ServerCounts.Reading last;
    private long firstMs;
    private long lastMs;
    private String problem;

    /** The counts are borrowed. */
    ServerWork(ServerCounts counts) {
        this.counts = counts;
    }

    @Override
    public void onProgress(long offsetMs, boolean isMeasuring) {
        if (!isMeasuring || problem != null || last != null && offsetMs - lastMs < INTERVAL_MS) {
            return;
        }
        try {
            last = counts.read();
            lastMs = offsetMs;
            if (first == null) {
                first = last;
                firstMs = offsetMs;
            }
        } catch (IOException e) {
            problem = e.getMessage();
        }
    }

    /** The rate of grants in the recorded time stands for that between the readings. */
    @Override
    public SeriesResult complete(SeriesResult series, Usage usage) {
        double grants = series.tally().cyclesPerSecond() * (lastMs - firstMs) / 1e3;
        if (problem != null || grants == 0) {
            return series;
        }
        ServerCounts.Reading each = last.since(first).each(grants);
        Map<String, Double> figures = new LinkedHashMap<>(series.figures());
        figures.put(COMMANDS, each.commands());
        figures.put(CPU_US, each.cpuUs());
        return series.with(figures, series.cost());
    }

    @Override
    public List<String> failures() {
        return problem == null ? List.of() : List.of(problem);
    }
}
