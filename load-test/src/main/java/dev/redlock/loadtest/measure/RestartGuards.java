package dev.redlock.loadtest.measure;

import dev.redlock.cli.AdminClient;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Fails the run at its start if the given nodes do not vote yet, instead of after thousands of failed acquires.
 *
 * @threading any thread
 */
final class RestartGuards {
    private RestartGuards() {
    }

    static void check(List<LockDriver> drivers, RedisNodes nodes, boolean isFresh) throws IOException {
        long guardSeconds = drivers.stream().mapToLong(driver -> driver.restartGuard().toSeconds()).max().orElse(0);
        if (isFresh || guardSeconds == 0) {
            return;
        }
        List<String> young = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            long upSeconds = upSeconds(node);
            if (upSeconds < guardSeconds) {
                young.add(node.address() + " for " + upSeconds + " s");
            }
        }
        if (nodes.size() - young.size() < nodes.size() / 2 + 1) {
            throw new IOException("too few nodes vote yet: up are " + String.join(", ", young)
                    + ", and a node votes " + guardSeconds + " s after its start, because it may have forgotten locks; "
                    + "wait, or add --fresh if no other client uses them");
        }
    }

    /** A node that is down does not vote either. */
    private static long upSeconds(RedisNode node) {
        try (AdminClient redis = node.connect()) {
            return Long.parseLong(redis.info("uptime_in_seconds"));
        } catch (IOException | RuntimeException e) {
            return 0;
        }
    }
}
