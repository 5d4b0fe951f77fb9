package org.example;

import dev.redlock.trial.nodes.NodesUnavailableException;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.Source;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The nodes of the application. Quarkus ends them after it, and {@link ShutdownTest} reads what it has left. */
public final class RealNodes implements QuarkusTestResourceLifecycleManager {

    /** The system property for the keys and connections that the ended application has left. */
    static final String LEFT = "redlock.sample.left";

    private static final long LIMIT_SECONDS = 30;

    private RedisNodes nodes;

    /** As other tests, this one is skipped without a Redis server, unless one is required. */
    static boolean areAvailable() {
        try (RedisNodes found = start(1)) {
            return found.size() == 1;
        } catch (NodesUnavailableException e) {
            return Boolean.getBoolean("tests.requireServers");
        }
    }

    private static RedisNodes start(int count) {
        return RedisNodes.start(new RedisNodesContext().source(Source.PATH).count(count));
    }

    @Override
    public Map<String, String> start() {
        nodes = start(3);
        return Map.of("redlock.nodes", String.join(",", nodes.addresses()), "quarkus.http.test-port", "0",
                "jobs.report.every", "1s", "jobs.report.hold-at-least", "0s");
    }

    @Override
    public void stop() {
        try {
            // An exception would be ignored.
            System.setProperty(LEFT, leftOnNodes());
        } finally {
            nodes.close();
        }
    }

    /** The client sends its releases before it closes its connections; a node may execute them a little later. */
    private String leftOnNodes() {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!nodes.nodes().stream().allMatch(RealNodes::isEmpty)) {
            if (System.nanoTime() - deadlineNs > 0) {
                return nodes.nodes()
                        .stream()
                        .map(node -> node + ": " + node.call("KEYS", "*") + node.call("CLIENT", "LIST"))
                        .collect(Collectors.joining());
            }
            pause();
        }
        return "";
    }

    private static boolean isEmpty(RedisNode node) {
        return node.call("DBSIZE").equals(0L) && !node.call("CLIENT", "LIST").toString().contains("name=redlock");
    }

    private static void pause() {
        try {
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
