package dev.redlock.loadtest.chaos;

import dev.redlock.trial.faults.NodeNetwork;
import dev.redlock.trial.nodes.NodePlace;
import dev.redlock.trial.nodes.NodeState;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * One voter: a primary with two replicas behind three Sentinels. In a network of their own there are three hosts, each
 * with a server, a Sentinel and a part of the workers. The servers keep no data on their disks, so each restart loses
 * keys.
 *
 * @threading caller-confined
 */
final class ChaosSentinels extends ChaosVoters {
    static final int SERVERS = 3;
    /** Of the clients, for clocks and for requests without an answer: short, as the silence contains both. */
    static final int SAMPLE_MS = 500;
    private static final int MAX_LAG_S = 2;

    private final RedisNodes servers;
    private final RedisSentinels sentinels;
    private final Optional<NodeNetwork> network;

    private ChaosSentinels(RedisNodes servers, RedisSentinels sentinels, Optional<NodeNetwork> network) {
        this.servers = servers;
        this.sentinels = sentinels;
        this.network = network;
    }

    /** The servers; with a limit, the primary serves only while it has a replica. */
    static RedisNodesContext servers(boolean isWriteLimited) {
        RedisNodesContext context = new RedisNodesContext().source(Source.PATH)
                .count(SERVERS)
                .config("protected-mode no")
                .config("repl-diskless-sync-delay 0")
                .config("repl-timeout 5");
        return isWriteLimited
                ? context.config("min-replicas-to-write 1").config("min-replicas-max-lag " + MAX_LAG_S)
                : context;
    }

    static ChaosSentinels watch(RedisNodes servers, Optional<NodeNetwork> network) throws IOException {
        if (network.isPresent()) {
            network.get().connectNodes();
        }
        List<NodePlace> places = network.map(NodeNetwork::places)
                .orElse(Collections.nCopies(SERVERS, NodePlace.LOOPBACK));
        return new ChaosSentinels(servers, RedisSentinels.watch(servers, places, null), network);
    }

    @Override
    List<String> addresses() {
        return List.of(sentinels.address(""));
    }

    @Override
    List<String> placeOfWorker(int place) {
        return network.map(hosts -> hosts.places().get(place % SERVERS).prefix()).orElse(List.of());
    }

    @Override
    Action inject(ChaosStep step) throws IOException {
        RedisNode primary = primary();
        switch (step.fault()) {
            case PRIMARY_KILL -> {
                primary.kill();
                return primary::start;
            }
            case PRIMARY_STOP -> {
                primary.pause();
                return primary::resume;
            }
            case HANDOVER -> {
                sentinels.requestFailOver();
                return () -> {
                };
            }
            case PARTITION -> {
                network.orElseThrow().isolate(primary.index());
                return () -> network.get().heal(primary.index());
            }
            default -> throw new IllegalArgumentException(step.fault() + " is no fault of Sentinels");
        }
    }

    /** The running server that most Sentinels name, or else any that runs. */
    private RedisNode primary() {
        List<RedisNode> named = sentinels.sentinels().stream().map(sentinels::primary).toList();
        return servers.nodes()
                .stream()
                .filter(node -> node.state() == NodeState.RUNNING)
                .max(Comparator.comparingInt(node -> Collections.frequency(named, node)))
                .orElseThrow();
    }

    @Override
    void heal() throws IOException {
        super.heal();
        sentinels.awaitWatching();
    }

    @Override
    public void close() {
        sentinels.close();
    }
}
