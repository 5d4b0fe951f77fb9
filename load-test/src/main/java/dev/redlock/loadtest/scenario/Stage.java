package dev.redlock.loadtest.scenario;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.cli.AdminClient;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The setting of a scenario: fresh nodes, and clients that connect directly or through proxies of their own. Closing it
 * ends all.
 *
 * @threading caller-confined
 */
final class Stage implements AutoCloseable {
    /** Long, so that a busy machine does not make a live node look silent. */
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(1);

    private final RedisNodes nodes;
    private final List<Runnable> actors = new ArrayList<>();

    Stage(int nodeCount) {
        this(RedisNodes.start(nodeCount));
    }

    Stage(RedisNodes nodes) {
        this.nodes = nodes;
    }

    RedisNode node(int index) {
        return nodes.node(index);
    }

    /** A client without a restart guard, because these nodes are fresh. */
    Redlock client() {
        return client(unguarded(nodes.addresses()));
    }

    Redlock client(List<FaultProxy> proxies) {
        return client(unguarded(addresses(proxies)));
    }

    Redlock client(RedlockContext context) {
        Redlock client = Redlock.connect(context);
        actors.add(0, client::close);
        return client;
    }

    private static RedlockContext unguarded(String... addresses) {
        return common(addresses).restartGuard(RestartGuardMode.OFF);
    }

    static RedlockContext common(String... addresses) {
        return new RedlockContext().nodes(addresses)
                .nodeTimeout(NODE_TIMEOUT)
                .reconnectDelay(Duration.ofMillis(20), Duration.ofMillis(100));
    }

    String[] addresses() {
        return nodes.addresses();
    }

    private static String[] addresses(List<FaultProxy> proxies) {
        return proxies.stream().map(proxy -> proxy.address().toString()).toArray(String[]::new);
    }

    List<FaultProxy> proxies() {
        return nodes.nodes().stream().map(this::proxy).toList();
    }

    FaultProxy proxy(RedisNode node) {
        FaultProxy proxy = FaultProxy.open(node.address());
        actors.add(proxy::close);
        return proxy;
    }

    /** The published single-node pattern, by another client. */
    boolean setNx(int node, String resource, String token, long ttlMs) throws IOException {
        try (AdminClient redis = node(node).connect()) {
            return "OK".equals(redis.call("SET", resource, token, "NX", "PX", Long.toString(ttlMs)));
        }
    }

    boolean has(int node, String resource) {
        return Long.valueOf(1).equals(node(node).call("EXISTS", resource));
    }

    long count(String resource) {
        return nodes.nodes().stream().filter(node -> has(node.index(), resource)).count();
    }

    @Override
    public void close() {
        actors.forEach(Runnable::run);
        nodes.close();
    }
}
