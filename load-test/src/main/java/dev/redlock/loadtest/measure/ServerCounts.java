package dev.redlock.loadtest.measure;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what servers have done so far, all together: commands, also those that scripts call, and CPU time.
 *
 * @threading caller-confined
 */
public final class ServerCounts implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final double US_PER_SECOND = 1e6;
    /** What the readings themselves send. */
    private static final Pattern CALLS = Pattern.compile("(?m)^cmdstat_(?!info|hello|auth)[^:]+:calls=(\\d+)");
    private static final Pattern CPU_SECONDS = Pattern.compile("(?m)^used_cpu_(?:user|sys):([0-9.]+)");

    private final List<AdminClient> nodes = new ArrayList<>();

    /**
     * The sums over all servers since their start.
     *
     * @threading immutable
     */
    public record Reading(double commands, double cpuUs) {
        /** What was done since an earlier reading. */
        public Reading since(Reading before) {
            return new Reading(commands - before.commands, cpuUs - before.cpuUs);
        }

        /** The same for each of so many. */
        public Reading each(double count) {
            return new Reading(commands / count, cpuUs / count);
        }
    }

    private ServerCounts() {
    }

    /** Connects to the nodes. */
    public static ServerCounts of(List<NodeAddress> addresses, ClientTls files) throws IOException {
        ServerCounts counts = new ServerCounts();
        try {
            for (NodeAddress address : addresses) {
                counts.nodes.add(AdminClient.connect(address, LIMIT, files));
            }
            return counts;
        } catch (IOException | RuntimeException e) {
            counts.close();
            throw e;
        }
    }

    /** @throws IOException if a node does not report it */
    public Reading read() throws IOException {
        double commands = 0;
        double cpuSeconds = 0;
        for (AdminClient node : nodes) {
            commands += sum(CALLS, node, "commandstats");
            cpuSeconds += sum(CPU_SECONDS, node, "cpu");
        }
        return new Reading(commands, cpuSeconds * US_PER_SECOND);
    }

    private static double sum(Pattern pattern, AdminClient node, String section) throws IOException {
        if (!(node.call("INFO", section) instanceof String text)) {
            throw new IOException("a node refused INFO " + section);
        }
        double sum = 0;
        for (Matcher matcher = pattern.matcher(text); matcher.find();) {
            sum += Double.parseDouble(matcher.group(1));
        }
        return sum;
    }

    @Override
    public void close() {
        nodes.forEach(AdminClient::close);
    }
}
