package dev.redlock.loadtest.measure;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ClientTls;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.Usage;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what the servers do for each grant of a series, all nodes together: commands, also those that scripts call, and
 * CPU time. It compares two readings within the recorded time.
 *
 * @threading caller-confined to the thread that runs the rig
 */
final class ServerWork implements SeriesWatch, AutoCloseable {
    static final String COMMANDS = "serverCommandsPerGrant";
    static final String CPU_US = "serverCpuUsPerGrant";

    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final long INTERVAL_MS = 500;
    /** What the readings themselves send. */
    private static final Pattern CALLS = Pattern.compile("(?m)^cmdstat_(?!info|hello|auth)[^:]+:calls=(\\d+)");
    private static final Pattern CPU_SECONDS = Pattern.compile("(?m)^used_cpu_(?:user|sys):([0-9.]+)");

    private final List<AdminClient> nodes = new ArrayList<>();
    private Reading first;
    private Reading last;
    private String problem;

    /** @threading immutable */
    private record Reading(long atMs, double commands, double cpuSeconds) {
    }

    /** Connects to the nodes. */
    static ServerWork of(List<NodeAddress> addresses, ClientTls files) throws IOException {
        ServerWork work = new ServerWork();
        try {
            for (NodeAddress address : addresses) {
                work.nodes.add(AdminClient.connect(address, LIMIT, files));
            }
            return work;
        } catch (IOException | RuntimeException e) {
            work.close();
            throw e;
        }
    }

    @Override
    public void onProgress(long offsetMs, boolean isMeasuring) {
        if (!isMeasuring || problem != null || last != null && offsetMs - last.atMs < INTERVAL_MS) {
            return;
        }
        try {
            last = read(offsetMs);
            first = first == null ? last : first;
        } catch (IOException e) {
            problem = "a node did not tell what it has done: " + e.getMessage();
        }
    }

    private Reading read(long atMs) throws IOException {
        double commands = 0;
        double cpuSeconds = 0;
        for (AdminClient node : nodes) {
            commands += sum(CALLS, node, "commandstats");
            cpuSeconds += sum(CPU_SECONDS, node, "cpu");
        }
        return new Reading(atMs, commands, cpuSeconds);
    }

    private static double sum(Pattern pattern, AdminClient node, String section) throws IOException {
        if (!(node.call("INFO", section) instanceof String text)) {
            throw new IOException("it refused INFO " + section);
        }
        double sum = 0;
        for (Matcher matcher = pattern.matcher(text); matcher.find();) {
            sum += Double.parseDouble(matcher.group(1));
        }
        return sum;
    }

    /** The readings lie within the recorded time, whose rate of grants stands for that between them. */
    @Override
    public SeriesResult complete(SeriesResult series, Usage usage) {
        if (problem != null || first == last || series.tally().cyclesPerSecond() == 0) {
            return series;
        }
        double grants = series.tally().cyclesPerSecond() * (last.atMs - first.atMs) / 1e3;
        Map<String, Double> figures = new LinkedHashMap<>(series.figures());
        figures.put(COMMANDS, (last.commands - first.commands) / grants);
        figures.put(CPU_US, (last.cpuSeconds - first.cpuSeconds) * 1e6 / grants);
        return series.with(figures, series.cost());
    }

    @Override
    public List<String> failures() {
        return problem == null ? List.of() : List.of(problem);
    }

    @Override
    public void close() {
        nodes.forEach(AdminClient::close);
    }
}
