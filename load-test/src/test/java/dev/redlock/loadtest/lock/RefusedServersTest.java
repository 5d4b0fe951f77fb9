package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Real servers that cannot be used, or no longer: the client says so, and why. */
@Timeout(120)
class RefusedServersTest {
    private static final Duration TTL = Duration.ofSeconds(30);

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void clusterNodeIsRejected(Source source) throws Exception {
        RedisNodesContext cluster = new RedisNodesContext().source(source)
                .count(1)
                .config("cluster-enabled yes")
                .config("cluster-config-file cluster.conf");
        try (RedisNodes nodes = RequiredNodes.start(cluster); Redlock redlock = connect(nodes, CommandMode.AUTO)) {
            NodeStatus node = redlock.nodes().get(0);
            Await.until("refused", () -> String.valueOf(node.problem()).contains("redis-cluster://"));
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, redlock.tryAcquire("orders", TTL).kind());
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void outOfMemoryNodeReportsTheProblemUntilItRecovers(Source source) throws Exception {
        for (CommandMode mode : CommandMode.values()) {
            try (RedisNodes nodes = start(source); Redlock redlock = connect(nodes, mode)) {
                NodeStatus node = redlock.nodes().get(0);
                redlock.tryAcquire("orders", TTL).lease().release();
                nodes.node(0).call("CONFIG", "SET", "maxmemory", "1");
                for (int i = 0; i < 10; i++) {
                    assertFalse(redlock.tryAcquire("orders", TTL).isAcquired());
                }
                assertEquals("OOM", node.failingCode(), node::toString);
                assertTrue(node.problem().contains("OOM"), node::toString);
                nodes.node(0).call("CONFIG", "SET", "maxmemory", "0");
                assertTrue(redlock.tryAcquire("orders", TTL).isAcquired());
                assertEquals(null, node.problem(), node::toString);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void nodeThatDeniesTimeDoesNotVote(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock redlock = connect(nodes, CommandMode.AUTO)) {
            NodeStatus node = redlock.nodes().get(0);
            Await.until("ready", () -> node.state() == NodeState.READY);
            nodes.node(0).call("ACL", "SETUSER", "default", "-time");
            Await.until("blind", () -> node.state() == NodeState.QUARANTINED);
            assertTrue(node.problem().contains("TIME") && node.problem().contains("NOPERM"), node::toString);
            nodes.node(0).call("ACL", "SETUSER", "default", "+time");
            Await.until("ready again", () -> node.state() == NodeState.READY);
            assertEquals(0, node.disconnectCount());
        }
    }

    private static RedisNodes start(Source source) {
        return RequiredNodes.start(new RedisNodesContext().source(source).count(1));
    }

    private static Redlock connect(RedisNodes nodes, CommandMode mode) {
        RedisNode node = nodes.node(0);
        return Redlock.connect(new RedlockContext().nodes(node.address().host() + ":" + node.address().port())
                .restartGuard(RestartGuardMode.OFF)
                .commands(mode)
                .nodeTimeout(Duration.ofSeconds(5)));
    }
}
