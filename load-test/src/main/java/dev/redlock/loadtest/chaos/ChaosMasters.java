package dev.redlock.loadtest.chaos;

import dev.redlock.loadtest.faults.FaultProxy;
import dev.redlock.loadtest.faults.NodeNetwork;
import dev.redlock.loadtest.nodes.Data;
import dev.redlock.loadtest.nodes.NodeState;
import dev.redlock.loadtest.nodes.NodeUris;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Single masters as voters, behind proxies or in a network of their own.
 *
 * @threading caller-confined
 */
final class ChaosMasters implements ChaosVoters {
    private final RedisNodes nodes;
    private final Optional<NodeNetwork> network;
    private final List<FaultProxy> proxies = new ArrayList<>();

    ChaosMasters(RedisNodes nodes, Optional<NodeNetwork> network) {
        this.nodes = nodes;
        this.network = network;
        if (network.isEmpty()) {
            nodes.nodes().forEach(node -> proxies.add(FaultProxy.open(addressOf(node))));
        }
    }

    private static NodeAddress addressOf(RedisNode node) {
        return node.tlsAddress().orElse(node.address());
    }

    @Override
    public List<String> addresses() {
        List<String> addresses = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            NodeAddress own = addressOf(node);
            addresses.add(NodeUris.of(
                    proxies.isEmpty() ? own : NodeUris.at(own, proxies.get(node.index()).address())));
        }
        return addresses;
    }

    @Override
    public void begin(ChaosStep step) throws IOException {
        int target = step.target();
        switch (step.fault()) {
            case KILL, WIPE -> nodes.node(target).kill();
            case WIPE_MAJORITY -> step.targets().forEach(each -> nodes.node(each).kill());
            case PAUSE -> nodes.node(target).pause();
            case STALL -> proxies.get(target).stall();
            case SLOW -> proxies.get(target).slow(Duration.ofMillis(step.amount()));
            case MUTE -> proxies.get(target).mute();
            case CUT -> proxies.get(target).cut();
            case LINK_DOWN -> network.orElseThrow().cut(target);
            case BLACKHOLE -> network.orElseThrow().loseReplies(target);
            case NARROW -> network.orElseThrow().narrow(target);
            case NETEM_DELAY, NETEM_LOSS, NETEM_REORDER -> network.orElseThrow().netem(target, step.fault().netem());
            case CLOCK_STEP -> nodes.node(target).setClock(Duration.ofMillis(step.amount()));
            default -> throw new IllegalArgumentException(step.fault() + " is no fault of a single master");
        }
    }

    @Override
    public void end(ChaosStep step) throws IOException {
        int target = step.target();
        switch (step.fault()) {
            case KILL -> nodes.node(target).start();
            case WIPE -> nodes.node(target).restart(Data.LOST);
            case WIPE_MAJORITY -> step.targets().forEach(each -> nodes.node(each).restart(Data.LOST));
            case PAUSE -> nodes.node(target).resume();
            case STALL, SLOW, MUTE, CUT -> proxies.get(target).pass();
            case LINK_DOWN, BLACKHOLE, NARROW, NETEM_DELAY, NETEM_LOSS, NETEM_REORDER ->
                network.orElseThrow().heal(target);
            case CLOCK_STEP -> nodes.node(target).setClock(Duration.ZERO);
            default -> throw new IllegalArgumentException(step.fault() + " is no fault of a single master");
        }
    }

    @Override
    public void heal() throws IOException {
        proxies.forEach(FaultProxy::pass);
        for (int i = 0; network.isPresent() && i < nodes.size(); i++) {
            network.get().heal(i);
        }
        for (RedisNode node : nodes.nodes()) {
            if (node.state() == NodeState.PAUSED) {
                node.resume();
            } else if (node.state() == NodeState.STOPPED) {
                node.start();
            }
        }
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
