package dev.redlock.loadtest.chaos;

import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.faults.FaultProxy;
import dev.redlock.trial.faults.NodeNetwork;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.NodeUris;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
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
final class ChaosMasters extends ChaosVoters {
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
    List<String> addresses() {
        List<String> addresses = new ArrayList<>();
        for (RedisNode node : nodes.nodes()) {
            NodeAddress own = addressOf(node);
            addresses.add(NodeUris.of(
                    proxies.isEmpty() ? own : NodeUris.at(own, proxies.get(node.index()).address())));
        }
        return addresses;
    }

    @Override
    Action inject(ChaosStep step) throws IOException {
        RedisNode node = nodes.node(step.target());
        return switch (step.fault()) {
            case KILL -> {
                node.kill();
                yield node::start;
            }
            case WIPE, WIPE_MAJORITY -> {
                List<RedisNode> wiped = step.targets().stream().map(nodes::node).toList();
                wiped.forEach(RedisNode::kill);
                yield () -> wiped.forEach(each -> each.restart(Data.LOST));
            }
            case PAUSE -> {
                node.pause();
                yield node::resume;
            }
            case CLOCK_STEP -> {
                node.setClock(Duration.ofMillis(step.amount()));
                yield () -> node.setClock(Duration.ZERO);
            }
            default -> step.fault().isOfProxy() ? disturb(proxies.get(step.target()), step) : disturbNetwork(step);
        };
    }

    private static Action disturb(FaultProxy proxy, ChaosStep step) {
        switch (step.fault()) {
            case STALL -> proxy.stall();
            case SLOW -> proxy.slow(Duration.ofMillis(step.amount()));
            case MUTE -> proxy.mute();
            default -> proxy.cut();
        }
        return proxy::pass;
    }

    private Action disturbNetwork(ChaosStep step) throws IOException {
        NodeNetwork namespaces = network.orElseThrow();
        int target = step.target();
        switch (step.fault()) {
            case LINK_DOWN -> namespaces.cut(target);
            case BLACKHOLE -> namespaces.loseReplies(target);
            case NARROW -> namespaces.narrow(target);
            case NETEM_DELAY, NETEM_LOSS, NETEM_REORDER -> namespaces.shape(target, step.fault().netem());
            default -> throw new IllegalArgumentException(step.fault() + " is no fault of a single master");
        }
        return () -> namespaces.heal(target);
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
