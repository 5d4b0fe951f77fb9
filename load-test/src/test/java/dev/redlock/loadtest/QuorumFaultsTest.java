package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.driver.Drivers;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the loss of nodes does to held locks and to the load: nothing for a minority, NO_QUORUM for a majority. */
class QuorumFaultsTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECOVERY = Duration.ofSeconds(20);

    @ParameterizedTest
    @EnumSource(names = {"PATH", "EMBEDDED"})
    void twoOfFiveKilledUnderLoadLoseNoLockAndStopNothing(Source source) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(source, 5);
                Redlock holder = connect(nodes);
                Redlock rival = connect(nodes);
                LockSession session = Drivers.named("redlock")
                        .open(SessionSpec.of(nodes.nodes().stream().map(RedisNode::address).toList(), true))) {
            Lease held = holder.acquire("held", TTL).lease();
            LoadPlan plan = LoadPlan.closed(16).duration(Duration.ofSeconds(2)).ttl(TTL).keyPrefix("load:");
            AtomicBoolean isKilled = new AtomicBoolean();
            LoadResult result = new LoadTestRig(plan, List.of(session)).run((elapsedNs, isMeasuring) -> {
                if (elapsedNs > Duration.ofMillis(700).toNanos() && isKilled.compareAndSet(false, true)) {
                    nodes.node(1).kill();
                    nodes.node(4).kill();
                }
            });
            assertTrue(isKilled.get());
            assertEquals(List.of(), result.failures());
            assertTrue(held.isHeld());
            assertFalse(rival.tryAcquire("held", TTL).isAcquired(), "three nodes still say that it is taken");
            assertEquals(ReleaseOutcome.RELEASED, held.release());
            assertTrue(rival.tryAcquire("held", TTL, RECOVERY).isAcquired());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PATH", "EMBEDDED"})
    void threeOfFiveKilledGiveNoQuorumUntilTheyReturn(Source source) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(source, 5); Redlock redlock = connect(nodes)) {
            assertTrue(redlock.acquire("before", TTL).isAcquired());
            List<RedisNode> dead = List.of(nodes.node(0), nodes.node(2), nodes.node(3));
            dead.forEach(RedisNode::kill);
            AcquireOutcome outcome = redlock.tryAcquire("after", TTL);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
            dead.forEach(node -> node.restart(Data.LOST));
            assertTrue(redlock.tryAcquire("after", TTL, RECOVERY).isAcquired(), "the nodes are back");
        }
    }

    @Test
    void threeOfFivePausedGiveNoQuorumAndLateGrantsAreReleased() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 5); Redlock redlock = connect(nodes)) {
            assertTrue(redlock.acquire("before", TTL).isAcquired());
            List<RedisNode> frozen = List.of(nodes.node(0), nodes.node(2), nodes.node(3));
            frozen.forEach(RedisNode::pause);
            AcquireOutcome outcome = redlock.tryAcquire("after", TTL);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
            frozen.forEach(RedisNode::resume);
            assertTrue(redlock.tryAcquire("after", TTL, RECOVERY).isAcquired(), "nothing of the failed attempt stands");
        }
    }

    @Test
    void nodesThatAreDownAtTheStartJoinLater() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            nodes.node(1).kill();
            try (Redlock redlock = connect(nodes)) {
                assertTrue(redlock.acquire("r", TTL).isAcquired());
                nodes.node(1).start();
                nodes.node(2).kill();
                assertTrue(redlock.tryAcquire("s", TTL, RECOVERY).isAcquired(), "the late node votes");
            }
        }
    }

    /** A long node timeout: a busy machine must not make a live node look silent. */
    private static Redlock connect(RedisNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1)));
    }
}
