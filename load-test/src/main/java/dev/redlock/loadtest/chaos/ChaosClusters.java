package dev.redlock.loadtest.chaos;

import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Clusters as voters, each with a replica of one of its masters. The servers keep no data on their disks, so each
 * restart loses keys.
 *
 * @threading caller-confined
 */
final class ChaosClusters extends ChaosVoters {
    /** A cluster that lost a master elects the replica after this time. */
    static final int NODE_TIMEOUT_MS = 1_000;

    private final List<RedisCluster> clusters = new ArrayList<>();
    private final int resourceCount;
    private final int tagCount;

    private ChaosClusters(int resourceCount) {
        this.resourceCount = resourceCount;
        this.tagCount = tagCount(resourceCount);
    }

    static RedisNodesContext enabled(RedisNodesContext context, int clusterCount, int shards) {
        return RedisCluster.enabled(context.count(clusterCount * (shards + 1)), NODE_TIMEOUT_MS);
    }

    static ChaosClusters form(RedisNodes nodes, int shards, int resourceCount) {
        ChaosClusters formed = new ChaosClusters(resourceCount);
        formed.clusters.addAll(RedisCluster.formEach(nodes.nodes(), shards + 1, shards));
        for (RedisCluster cluster : formed.clusters) {
            cluster.replicate(cluster.members().get(shards), cluster.ownerOf(formed.resource(0)));
        }
        return formed;
    }

    /** The number of hash tags: resources with the same tag share a slot, and fencing tokens or not. */
    static int tagCount(int resourceCount) {
        return Math.max(1, resourceCount / 4) * 2;
    }

    private String resource(int draw) {
        return SectionWorker.resource(draw % resourceCount, tagCount);
    }

    @Override
    List<String> addresses() {
        return clusters.stream().map(RedisCluster::address).toList();
    }

    @Override
    Action inject(ChaosStep step) {
        RedisCluster cluster = clusters.get(step.target());
        int draw = step.amount();
        return switch (step.fault()) {
            case WIPE -> kill(List.of(cluster.ownerOf(resource(draw))));
            case CLUSTER_DOWN -> kill(cluster.members());
            case PAUSE -> pause(cluster.ownerOf(resource(draw)));
            case FAIL_OVER -> failOver(cluster);
            case MOVE_SLOT -> move(cluster, resource(draw), draw);
            default -> throw new IllegalArgumentException(step.fault() + " is no fault of a cluster");
        };
    }

    private static Action kill(List<RedisNode> servers) {
        servers.forEach(RedisNode::kill);
        return () -> servers.forEach(RedisNode::start);
    }

    private static Action pause(RedisNode server) {
        server.pause();
        return server::resume;
    }

    private static Action failOver(RedisCluster cluster) {
        RedisNode replica = cluster.awaitReplica();
        RedisNode master = cluster.masterOf(replica);
        Action restart = kill(List.of(master));
        cluster.promote(replica, true);
        return restart;
    }

    /** The slot is between its owners until the fault ends: new keys are set at the next owner. */
    private static Action move(RedisCluster cluster, String resource, int draw) {
        cluster.awaitComplete();
        int slot = RedisCluster.slotOf(resource);
        RedisNode from = cluster.ownerOf(resource);
        List<RedisNode> others = new ArrayList<>(cluster.runningMasters());
        others.remove(from);
        RedisNode to = others.get(draw % others.size());
        cluster.startMove(slot, from, to);
        return () -> {
            cluster.moveKeys(slot, from, to);
            cluster.endMove(slot, from, to);
        };
    }

    @Override
    void heal() throws IOException {
        super.heal();
        clusters.forEach(RedisCluster::awaitComplete);
    }
}
