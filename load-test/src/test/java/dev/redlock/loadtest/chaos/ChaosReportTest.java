package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What the report of a run reads from the nodes. */
class ChaosReportTest {

    /** The owner of a slot has changed while the key was there. */
    @Test
    void aKeyOfASlotThatTheNodeDoesNotServeIsLeft() throws Exception {
        RedisNodesContext cluster = new RedisNodesContext()
                .count(1)
                .config("cluster-enabled yes")
                .config("cluster-config-file cluster.conf")
                .config("cluster-require-full-coverage no");
        ChaosOptions options = new ChaosOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true)
                .parseArgs("--nodes", "3", "--cluster-shards", "3");
        try (RedisNodes nodes = RequiredNodes.start(cluster)) {
            RedisNode node = nodes.node(0);
            node.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
            Await.until("served", () -> "OK".equals(node.call("SET", "orders", "token")));
            long slot = (Long) node.call("CLUSTER", "KEYSLOT", "orders");
            node.call("CLUSTER", "DELSLOTS", Long.toString(slot));
            assertEquals(List.of("orders"), new ChaosReport(options, null, null).lockKeys(node));
        }
    }
}
