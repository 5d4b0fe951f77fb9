package dev.redlock.loadtest;

import dev.redlock.loadtest.nodes.NodeAddress;
import dev.redlock.loadtest.nodes.RawRedis;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;

/**
 * CPU time that nodes have used, as they tell it.
 *
 * @threading any thread
 */
final class ServerCpu {
    private static final Duration LIMIT = Duration.ofSeconds(2);

    private ServerCpu() {
    }

    /** Microseconds since they started, all nodes together; empty if one of them would not tell. */
    static OptionalDouble us(List<NodeAddress> nodes) {
        double seconds = 0;
        for (NodeAddress node : nodes) {
            try (RawRedis redis = RawRedis.connect(node, LIMIT)) {
                seconds += Double.parseDouble(redis.info("used_cpu_user"));
                seconds += Double.parseDouble(redis.info("used_cpu_sys"));
            } catch (IOException | NumberFormatException e) {
                return OptionalDouble.empty();
            }
        }
        return OptionalDouble.of(seconds * 1e6);
    }
}
