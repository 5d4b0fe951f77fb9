package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SetNxDriverTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(10);

    @Test
    void excludesAndReleasesByTheSingleNodePattern() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1).config("requirepass pw"));
                LockSession session = Drivers.named("set-nx").open(SessionSpec.of(addresses(nodes), true))) {
            BlockingLock ours = new BlockingLock(session, "r", TTL, LIMIT);
            BlockingLock theirs = new BlockingLock(session, "r", TTL, LIMIT);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
            assertEquals(AcquireOutcome.Kind.CONTENDED, theirs.acquire());
            assertEquals(ReleaseOutcome.EXPIRED, theirs.release(), "not theirs to release");
            assertEquals(ReleaseOutcome.RELEASED, ours.release());
            assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
            assertTrue((Long) nodes.node(0).call("PTTL", "r") > 0);
        }
    }

    @Test
    void deadNodeEndsEveryCall() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1));
                LockSession session = Drivers.named("set-nx").open(SessionSpec.of(addresses(nodes), true))) {
            BlockingLock lock = new BlockingLock(session, "r", TTL, LIMIT);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
            nodes.node(0).kill();
            assertEquals(ReleaseOutcome.UNKNOWN, lock.release());
            assertEquals(AcquireOutcome.Kind.CLOSED, lock.acquire());
        }
    }

    @Test
    void rivalsOnOneResourceNeverOverlap() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(1));
                LockSession one = Drivers.named("set-nx").open(SessionSpec.of(addresses(nodes), true));
                LockSession two = Drivers.named("set-nx").open(SessionSpec.of(addresses(nodes), true))) {
            LoadPlan plan = LoadPlan.closed(8)
                    .resources(2)
                    .hold(Duration.ofMillis(1))
                    .duration(Duration.ofMillis(500))
                    .ttl(TTL)
                    .keyPrefix("r");
            LoadResult result = new LoadTestRig(plan, List.of(one, two)).run((elapsedNs, isMeasuring) -> {
            });
            assertEquals(List.of(), result.failures());
            assertTrue(result.tally().holdings() > 20, result::toString);
            assertTrue(result.tally().acquires().get(AcquireOutcome.Kind.CONTENDED.name()) > 20, result::toString);
        }
    }

    private static List<NodeAddress> addresses(RedisNodes nodes) {
        return nodes.nodes().stream().map(node -> node.address()).toList();
    }
}
