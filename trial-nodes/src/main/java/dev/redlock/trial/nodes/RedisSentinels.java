package dev.redlock.trial.nodes;

import dev.redlock.cli.AdminClient;
import dev.redlock.resp.RespValue;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Three Sentinels as processes, and the servers that they watch: the first one is the primary at the start, the others
 * are its replicas. The Sentinels are the server's own executable in another mode.
 *
 * @threading caller-confined
 */
public final class RedisSentinels implements AutoCloseable {

    public static final String NAME = "mymaster";
    public static final String ANNOUNCE_HOSTS = "sentinel announce-hostnames yes";
    public static final String RESOLVE_HOSTS = "sentinel resolve-hostnames yes";
    private static final int COUNT = 3;
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long POLL_MS = 20;
    /** Gets the executable and the file. */
    private static final List<String> PREFIX = List.of("sh", "-c", "exec \"$0\" \"$1\" --sentinel");

    private final RedisNodes servers;
    private final RedisNodes sentinels;
    private final boolean isTls;

    private RedisSentinels(RedisNodes servers, RedisNodes sentinels, boolean isTls) {
        this.servers = servers;
        this.sentinels = sentinels;
        this.isTls = isTls;
    }

    /**
     * Makes all servers but the first one replicas, and starts Sentinels.
     *
     * @param servers        processes, which stay the caller's; with TLS if they have it
     * @param serverPassword of the servers; null for none
     * @param config         further lines for the Sentinels; they name hosts if they announce hosts
     */
    public static RedisSentinels watch(RedisNodes servers, String serverPassword, String... config) {
        return watch(servers, Collections.nCopies(COUNT, NodePlace.LOOPBACK), serverPassword, config);
    }

    /** As {@link #watch}, with a Sentinel at each place. */
    public static RedisSentinels watch(RedisNodes servers, List<NodePlace> places, String serverPassword,
            String... config) {
        boolean isTls = servers.node(0).tlsAddress().isPresent();
        NodeAddress primary = place(servers.node(0), isTls);
        String host = List.of(config).contains(ANNOUNCE_HOSTS) ? "localhost" : primary.host();
        for (RedisNode replica : servers.nodes().subList(1, servers.size())) {
            replica.call("REPLICAOF", host, Integer.toString(primary.port()));
        }
        servers.nodes()
                .subList(1, servers.size())
                .forEach(replica -> await(replica + " is in step",
                        () -> info(replica).contains("master_link_status:up")));
        RedisNodesContext context = new RedisNodesContext().source(Source.PATH)
                .count(COUNT)
                .tls(isTls)
                .places(places.stream().map(place -> place.with(PREFIX)).toList())
                .config("sentinel monitor " + NAME + " " + host + " " + primary.port() + " 2")
                .config("sentinel down-after-milliseconds " + NAME + " 1000")
                .config("sentinel failover-timeout " + NAME + " 5000");
        if (serverPassword != null) {
            context.config("sentinel auth-pass " + NAME + " " + serverPassword);
        }
        if (isTls) {
            context.issued = servers.issued();
            context.config("tls-replication yes");
        }
        List.of(config).forEach(context::config);
        RedisSentinels started = new RedisSentinels(servers, RedisNodes.start(context), isTls);
        try {
            started.awaitWatching();
            return started;
        } catch (RuntimeException e) {
            started.close();
            throw e;
        }
    }

    private static NodeAddress place(RedisNode node, boolean isTls) {
        return isTls ? node.tlsAddress().orElseThrow() : node.address();
    }

    private static String info(RedisNode node) {
        return String.valueOf(node.call("INFO", "replication"));
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (deadlineNs - System.nanoTime() < 0) {
                throw new IllegalStateException("not within " + LIMIT + ": " + what);
            }
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting: " + what, e);
            }
        }
    }

    /** Waits until each running Sentinel knows the other ones and the replicas. */
    public void awaitWatching() {
        for (RedisNode sentinel : sentinels.nodes()) {
            await(sentinel + " knows the others", () -> {
                List<?> state = (List<?>) sentinel.call("SENTINEL", "MASTER", NAME);
                return "master".equals(valueOf(state, "flags"))
                        && Integer.toString(COUNT - 1).equals(valueOf(state, "num-other-sentinels"))
                        && Integer.toString(servers.size() - 1).equals(valueOf(state, "num-slaves"));
            });
        }
    }

    private static Object valueOf(List<?> fields, String name) {
        int index = fields.indexOf(name);
        return index < 0 ? null : fields.get(index + 1);
    }

    public List<RedisNode> sentinels() {
        return sentinels.nodes();
    }

    /** The server that a Sentinel names now. */
    public RedisNode primary(RedisNode sentinel) {
        List<?> named = (List<?>) sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME);
        return servers.nodes()
                .stream()
                .filter(node -> place(node, isTls).port() == Integer.parseInt(String.valueOf(named.get(1))))
                // Sentinels may name the host by another name.
                .max(Comparator.comparing(node -> place(node, isTls).host().equals(named.get(0))))
                .orElseThrow();
    }

    /** Asks a Sentinel to promote a replica. It may refuse, for example because a failover is under way. */
    public void requestFailOver() {
        try (AdminClient sentinel = sentinels.node(0).connect()) {
            sentinel.send("SENTINEL", "FAILOVER", NAME);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Promotes a replica in an orderly way; returns when the Sentinels have another primary. */
    public RedisNode failOver() {
        RedisNode before = primary(sentinels.node(0));
        try (AdminClient sentinel = sentinels.node(0).connect()) {
            await("the Sentinel starts a failover", () -> {
                try {
                    RespValue reply = sentinel.send("SENTINEL", "FAILOVER", NAME);
                    return !reply.isError();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
        return awaitSuccessor(before);
    }

    /** Waits until each running Sentinel has another primary. */
    public RedisNode awaitSuccessor(RedisNode before) {
        for (RedisNode sentinel : sentinels.nodes()) {
            if (sentinel.state() == NodeState.RUNNING) {
                await(sentinel + " has another primary than " + before, () -> primary(sentinel) != before);
            }
        }
        return primary(sentinels.node(0));
    }

    /** The address in the form that {@code Redlock.connect} takes. */
    public String address(String login) {
        return (isTls ? "rediss-sentinel://" : "redis-sentinel://") + login + sentinels.nodes()
                .stream()
                .map(node -> place(node, isTls).host() + ":" + place(node, isTls).port())
                .collect(Collectors.joining(",")) + "/" + NAME;
    }

    /** Ends the Sentinels. */
    @Override
    public void close() {
        sentinels.close();
    }
}
