package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.Usage;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds the work of the servers for each grant of a series, by two readings within the recorded time. The idle part is
 * the work for clients that are connected and do not lock, by two readings before the series.
 *
 * @threading caller-confined to the thread that runs the rig
 */
final class ServerWork implements SeriesWatch {
    static final String COMMANDS = "serverCommandsPerGrant";
    static final String CPU_US = "serverCpuUsPerGrant";

    static final String IDLE_COMMANDS = "serverIdleCommandsPerGrant";
    static final String IDLE_CPU_US = "serverIdleCpuUsPerGrant";
    /** The duration of {@link #measureIdle()}. */
    static final long IDLE_MS = 3_000;

    private static final long INTERVAL_MS = 500;
    /** Within this time the handshakes of connected clients are over. */
    private static final long SETTLE_MS = 1_000;

    private final Source counts;
    /** Per second; null if not measured. */
    private ServerCounts.Reading idle;
    private ServerCounts.Reading first;
    private ServerCounts.Reading last;
    private long firstMs;
    private long lastMs;
    private String problem;

    /**
     * Reads the counts of all servers. NaN is a count that they do not report.
     *
     * @threading caller-confined
     */
    @FunctionalInterface
    interface Source {
        ServerCounts.Reading read() throws IOException;
    }

    /** The counts are borrowed. */
    ServerWork(Source counts) {
        this.counts = counts;
    }

    /** Reads the counts twice while clients are connected and do not lock. */
    void measureIdle() throws InterruptedException {
        Thread.sleep(SETTLE_MS);
        try {
            ServerCounts.Reading before = counts.read();
            long startNs = System.nanoTime();
            Thread.sleep(IDLE_MS - SETTLE_MS);
            idle = counts.read().since(before).each((System.nanoTime() - startNs) / 1e9);
        } catch (IOException e) {
            problem = e.getMessage();
        }
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
        double grantsPerSecond = series.tally().cyclesPerSecond();
        double grants = grantsPerSecond * (lastMs - firstMs) / 1e3;
        if (problem != null || grants == 0) {
            return series;
        }
        Map<String, Double> figures = new LinkedHashMap<>(series.figures());
        put(figures, COMMANDS, CPU_US, last.since(first).each(grants));
        if (idle != null) {
            put(figures, IDLE_COMMANDS, IDLE_CPU_US, idle.each(grantsPerSecond));
        }
        return series.with(figures, series.cost());
    }

    private static void put(Map<String, Double> figures, String commands, String cpuUs, ServerCounts.Reading each) {
        if (!Double.isNaN(each.commands())) {
            figures.put(commands, each.commands());
        }
        if (!Double.isNaN(each.cpuUs())) {
            figures.put(cpuUs, each.cpuUs());
        }
    }

    @Override
    public List<String> failures() {
        return problem == null ? List.of() : List.of(problem);
    }
}
