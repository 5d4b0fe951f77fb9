package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A real server becomes the replica of another one while the client is connected, and a master again. */
@Timeout(120)
class RoleChangeOnNodesTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    /** A look each second and the delay before a connection, on a busy machine. */
    private static final long LIMIT_MS = 20_000;

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, false"})
    void aReplicaHasNoVoteUntilItIsAMasterAgain(boolean isLocking, boolean isClockWatched) throws Exception {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH).count(4);
        try (RedisNodes nodes = RequiredNodes.start(servers); Redlock redlock = connect(nodes, isClockWatched)) {
            NodeStatus node = redlock.nodes().get(0);
            Await.until("ready", () -> redlock.nodes().stream().allMatch(each -> each.state() == NodeState.READY));
            nodes.node(0).call("REPLICAOF", "127.0.0.1", String.valueOf(nodes.node(3).address().port()));
            long demotedNs = System.nanoTime();
            Await.until("left", () -> {
                cycle(redlock, isLocking);
                return node.state() != NodeState.READY && String.valueOf(node.problem()).contains("role is slave");
            });
            assertSoon(demotedNs);
            long errors = node.errorCount();
            for (int i = 0; i < 200; i++) {
                cycle(redlock, true);
            }
            assertEquals(errors, node.errorCount(), "it gets no command");
            assertTrue(errors <= 2, node::toString);
            nodes.node(0).call("REPLICAOF", "NO", "ONE");
            long promotedNs = System.nanoTime();
            Await.until("votes again", () -> {
                cycle(redlock, isLocking);
                return node.state() == NodeState.READY;
            });
            assertSoon(promotedNs);
            long granted = node.grantedCount();
            cycle(redlock, true);
            Await.until("granted", () -> node.grantedCount() > granted);
            Await.until("no problem", () -> node.problem() == null);
        }
    }

    private static void assertSoon(long sinceNs) {
        long ms = (System.nanoTime() - sinceNs) / 1_000_000;
        assertTrue(ms < LIMIT_MS, ms + " ms");
    }

    private static void cycle(Redlock redlock, boolean isLocking) throws InterruptedException {
        if (isLocking) {
            Lease lease = redlock.tryAcquire("orders", TTL).lease();
            lease.release();
        }
    }

    private static Redlock connect(RedisNodes nodes, boolean isClockWatched) {
        String[] addresses = Stream.of(0, 1, 2)
                .map(i -> nodes.node(i).address().host() + ":" + nodes.node(i).address().port())
                .toArray(String[]::new);
        return Redlock.connect(new RedlockContext().nodes(addresses)
                .restartGuard(RestartGuardMode.OFF)
                .clockSampleInterval(isClockWatched ? Duration.ofSeconds(1) : Duration.ZERO)
                .nodeTimeout(Duration.ofSeconds(5)));
    }
}
