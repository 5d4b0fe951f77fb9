package dev.redlock.trial.faults;

import dev.redlock.node.cluster.DeposedMaster;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.Source;
import java.util.ArrayList;
import java.util.List;

/** The part of {@link DeposedMasterTest} that runs in the network of the clients. */
final class DeposedMasterProbe {

    static final int MASTERS = 3;
    private static final int NODE_TIMEOUT_MS = 2_000;

    private DeposedMasterProbe() {
    }

    /**
     * Cuts all masters off from each other, and fails if one serves for longer than the bound.
     *
     * @param args the prefix of the network
     */
    public static void main(String[] args) throws Exception {
        NodeNetwork network = new NodeNetwork(args[0], MASTERS);
        network.connectNodes();
        RedisNodesContext context = new RedisNodesContext().source(Source.PATH).places(network.places()).count(MASTERS);
        try (RedisNodes nodes = RedisNodes.start(RedisCluster.enabled(context, NODE_TIMEOUT_MS))) {
            RedisCluster.form(nodes.nodes(), MASTERS);
            long cutNs = System.nanoTime();
            for (int i = 0; i < MASTERS; i++) {
                network.isolate(i);
            }
            List<RedisNode> serving = new ArrayList<>(nodes.nodes());
            Await.until("each master reports that its cluster fails", () -> {
                serving.removeIf(master -> hasFailed(master, cutNs));
                return serving.isEmpty();
            });
        }
    }

    private static boolean hasFailed(RedisNode master, long cutNs) {
        if (!((String) master.call("CLUSTER", "INFO")).contains("cluster_state:fail")) {
            return false;
        }
        check(master, (System.nanoTime() - cutNs) / 1_000_000);
        return true;
    }

    private static void check(RedisNode master, long servedMs) {
        long boundMs = DeposedMaster.servedMsMax(NODE_TIMEOUT_MS);
        System.out.println(master + ", cut off, served for " + servedMs + " ms; node timeout " + NODE_TIMEOUT_MS
                + " ms, bound " + boundMs + " ms");
        if (servedMs > boundMs) {
            throw new AssertionError(servedMs + " ms is more than " + boundMs + " ms");
        }
    }
}
