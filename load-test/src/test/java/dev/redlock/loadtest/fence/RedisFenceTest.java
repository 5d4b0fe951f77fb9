package dev.redlock.loadtest.fence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The compare script of docs/guides/fencing.md, taken from the page itself, on a real server. */
class RedisFenceTest {
    private static final String SCRIPT = GuideBlock.text("lua");

    @Test
    void writeOfAnEarlierHolderIsRefused() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(3));
                RedisNodes store = RequiredNodes.start(new RedisNodesContext().count(1));
                Redlock first = client(nodes);
                Redlock second = client(nodes)) {
            AcquireOptions fenced = AcquireOptions.ofTtl(Duration.ofMillis(400))
                    .waitUpTo(Duration.ofSeconds(10))
                    .fenced();
            Lease late = first.acquire(first.key("r"), fenced).lease();
            try (Lease next = second.acquire(second.key("r"), fenced).lease()) {
                assertTrue(write(store.node(0), next.fencingToken(), "second"));
                assertTrue(write(store.node(0), next.fencingToken(), "second, again"));
                assertFalse(write(store.node(0), late.fencingToken(), "first"));
                assertEquals("second, again", store.node(0).call("HGET", "value", "value"));
            }
        }
    }

    @Test
    void tokensNearTheEndOfTheirRangeAreComparedExactly() throws Exception {
        try (RedisNodes store = RequiredNodes.start(new RedisNodesContext().count(1))) {
            long highest = (1L << 53) - 1;
            assertTrue(write(store.node(0), highest, "last"));
            assertFalse(write(store.node(0), highest - 1, "before"));
            assertEquals(Long.toString(highest), store.node(0).call("HGET", "value", "fence"));
        }
    }

    private static boolean write(RedisNode store, long fence, String value) {
        Object reply = store.call("EVAL", SCRIPT, "1", "value", Long.toString(fence), value);
        return Long.valueOf(1).equals(reply);
    }

    private static Redlock client(RedisNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1)));
    }
}
