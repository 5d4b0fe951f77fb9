package dev.redlock.trial.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The clusters on which faults are tried. */
class RedisClusterTest {

    /** The servers keep no data on their disks, not even what a replica got at its last synchronization. */
    @Test
    void aReplicaThatStartsAgainIsEmpty() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(RedisCluster.enabled(new RedisNodesContext().count(3), 1_000))) {
            RedisCluster cluster = RedisCluster.form(nodes.nodes(), 2);
            RedisNode master = cluster.ownerOf("orders");
            assertEquals("OK", master.call("SET", "orders", "token"));
            cluster.replicate(nodes.node(2), master);
            cluster.awaitReplica();
            assertEquals(1L, nodes.node(2).call("DBSIZE"));
            List<RedisNode> all = List.copyOf(cluster.members());
            all.forEach(RedisNode::kill);
            all.forEach(RedisNode::start);
            for (RedisNode node : all) {
                assertEquals(0L, node.call("DBSIZE"), node::toString);
            }
        }
    }
}
