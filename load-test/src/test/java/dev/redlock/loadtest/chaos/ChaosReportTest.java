package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What the report of a run reads from the nodes. */
class ChaosReportTest {
    @Test
    void onlyTokensThatWereCheckedAreSaidToRise() {
        String claim = ", fencing tokens rise";
        assertTrue(report("all", 5).contains("PASS: no two valid sections overlapped" + claim), report("all", 5));
        assertTrue(report("none", 0).contains("PASS: no two valid sections overlapped, no key"), report("none", 0));
    }

    private static String report(String fenced, long fence) {
        ChaosOptions options = new ChaosOptions();
        new CommandLine(options).setCaseInsensitiveEnumValuesAllowed(true).parseArgs("--fenced", fenced);
        SectionRecord section = new SectionRecord(SectionRecord.Kind.ENTER, 1, 0, 1, 10, 100, fence);
        SectionAudit audit = SectionAudit.of(List.of(section), 0, 200, new ClockSteps());
        StringWriter text = new StringWriter();
        new ChaosReport(options, new WorkerTally(), audit).print(new PrintWriter(text), 0, false);
        return text.toString();
    }

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
