package dev.redlock.loadtest.fence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Lease;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RestartGuardMode;
import dev.redlock.loadtest.nodes.RedisNode;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.RequiredNodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The compare script of docs/guides/fencing.md, taken from the page itself, on a real server. */
class RedisFenceTest {
    private static final String FENCE = "```";

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

    private static boolean write(RedisNode store, long fence, String value) throws IOException {
        Object reply = store.call("EVAL", scriptOfTheGuide(), "1", "value", Long.toString(fence), value);
        return Long.valueOf(1).equals(reply);
    }

    private static String scriptOfTheGuide() throws IOException {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("README.md"))) {
            root = root.getParent();
        }
        String page = Files.readString(root.resolve("docs/guides/fencing.md"));
        int begin = page.indexOf(FENCE + "lua\n") + FENCE.length() + 4;
        return page.substring(begin, page.indexOf(FENCE, begin));
    }

    private static Redlock client(RedisNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1)));
    }
}
