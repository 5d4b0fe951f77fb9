package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisReplicas;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The guarantee of Redisson with replicas, as the page with the comparison states it. */
class RedissonReplicasTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    @Test
    void locksNeedAReplicaUntilThePrimaryHasNone() throws Exception {
        RedisNodesContext context = new RedisNodesContext().source(Source.PATH)
                .count(2)
                .config("repl-diskless-sync-delay 0");
        try (RedisNodes nodes = RequiredNodes.start(context)) {
            RedisNode primary = nodes.node(0);
            RedisNode replica = nodes.node(1);
            replica.call("REPLICAOF", primary.address().host(), Integer.toString(primary.address().port()));
            Await.until("the replica is in step", () -> replicas(primary) == 1);
            SessionSpec spec = SessionSpec.of(List.of(primary.address()), true);
            try (LockSession session = Drivers.named("redisson-wait").open(spec)) {
                BlockingLock lock = new BlockingLock(session, "replicated", TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                assertEquals(1L, replica.call("EXISTS", "replicated"));
                assertEquals(ReleaseOutcome.RELEASED, lock.release());
                replica.pause();
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, lock.acquire());
                replica.kill();
                Await.until("the primary has no replica", () -> replicas(primary) == 0);
                Await.until("a lock without replicas", () -> lock.acquire() == AcquireOutcome.Kind.ACQUIRED);
            }
        }
    }

    private static long replicas(RedisNode primary) {
        return RedisReplicas.inStep(String.valueOf(primary.call("INFO", "replication")));
    }
}
