package dev.redlock.spring;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The health of a client, without a type of Spring Boot.
 *
 * @threading any thread
 */
final class RedlockHealth {

    /** As for the indicators of Spring Boot itself. */
    static final String ENABLED = "${management.health.redlock.enabled:${management.health.defaults.enabled:true}}";

    private RedlockHealth() {
    }

    /** @return the transport, and the state of each node with its problem */
    static Map<String, Object> detailsOf(Redlock redlock) {
        Map<String, Object> nodes = new LinkedHashMap<>();
        for (NodeStatus node : redlock.nodes()) {
            nodes.put(node.address(), node.problem() == null ? node.state() : node.state() + ": " + node.problem());
        }
        return Map.of("nodes", nodes, "transport", redlock.transportDescription());
    }
}
