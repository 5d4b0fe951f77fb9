package dev.redlock.loadtest.compare;

import dev.redlock.cli.AdminClient;
import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The CPU time of nodes, from their {@code INFO}.
 *
 * @threading any thread
 */
final class ServerCpu {
    private static final Duration LIMIT = Duration.ofSeconds(2);

    private ServerCpu() {
    }

    /** Microseconds since their start, all nodes together; empty if a node does not report it. */
    static OptionalDouble us(List<NodeAddress> nodes, ClientTls files) {
        double seconds = 0;
        for (NodeAddress node : nodes) {
            try (AdminClient redis = AdminClient.connect(node, LIMIT, files)) {
                seconds += Double.parseDouble(redis.info("used_cpu_user"));
                seconds += Double.parseDouble(redis.info("used_cpu_sys"));
            } catch (IOException | NumberFormatException e) {
                return OptionalDouble.empty();
            }
        }
        return OptionalDouble.of(seconds * 1e6);
    }
}
