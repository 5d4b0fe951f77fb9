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
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Locks of redlock and of clients that lock a majority of the same nodes with the published single-node pattern exclude
 * each other. A lock on a single node excludes nothing.
 */
class PublishedPatternTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final String RESOURCE = "orders/42";

    @ParameterizedTest
    @EnumSource(names = {"PATH", "EMBEDDED"})
    void redisCliLocksExcludeRedlock(Source source) throws Exception {
        RedisCli.require();
        try (RedisNodes nodes = RequiredNodes.start(source, 3); Redlock redlock = connect(nodes)) {
            assertTrue(RedisCli.trySet(nodes.node(0), RESOURCE, "their-token", TTL.toMillis()));
            assertTrue(RedisCli.trySet(nodes.node(2), RESOURCE, "their-token", TTL.toMillis()));
            AcquireOutcome outcome = redlock.tryAcquire(RESOURCE, TTL);
            assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
            assertEquals("their-token", nodes.node(0).call("GET", RESOURCE), "their lock stands");
            assertTrue(RedisCli.compareAndDelete(nodes.node(0), RESOURCE, "their-token"));
            assertTrue(RedisCli.compareAndDelete(nodes.node(2), RESOURCE, "their-token"));
            assertTrue(redlock.tryAcquire(RESOURCE, TTL, Duration.ofSeconds(5)).isAcquired());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PATH", "EMBEDDED"})
    void redlockLocksExcludeRedisCli(Source source) throws Exception {
        RedisCli.require();
        try (RedisNodes nodes = RequiredNodes.start(source, 3); Redlock redlock = connect(nodes)) {
            Lease lease = redlock.acquire(RESOURCE, TTL).lease();
            int granted = 0;
            for (RedisNode node : nodes.nodes()) {
                granted += RedisCli.trySet(node, RESOURCE, "their-token", TTL.toMillis()) ? 1 : 0;
                assertFalse(node.call("GET", RESOURCE).equals("their-token") && granted > 1, "a majority was theirs");
            }
            assertTrue(granted <= 1, "at most a straggler's node was free, not " + granted);
            assertTrue(lease.isHeld());
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
            assertTrue(RedisCli.trySet(nodes.node(1), RESOURCE, "their-token", TTL.toMillis()) || granted == 1);
        }
    }

    @Test
    void aLockOnASingleNodeDoesNotExcludeRedlock() throws Exception {
        RedisCli.require();
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3); Redlock redlock = connect(nodes)) {
            assertTrue(RedisCli.trySet(nodes.node(0), RESOURCE, "their-token", TTL.toMillis()));
            try (Lease lease = redlock.acquire(RESOURCE, TTL).lease()) {
                assertTrue(lease.isHeld());
                assertEquals("their-token", nodes.node(0).call("GET", RESOURCE));
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
