package dev.redlock.trial.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each fault does what its name says, on a real node. */
class FaultProxyTest {
    private static final Duration SOON = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final int ATTEMPTS_MAX = 30;

    private static RedisNodes nodes;
    private static RedisNode node;

    private FaultProxy proxy;

    @BeforeAll
    static void startNode() {
        nodes = RequiredNodes.start(new RedisNodesContext().count(1));
        node = nodes.node(0);
    }

    @AfterAll
    static void stopNode() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @BeforeEach
    void openProxy() {
        node.call("FLUSHALL");
        proxy = FaultProxy.open(node.address());
    }

    @AfterEach
    void closeProxy() {
        proxy.close();
    }

    /** A client that waits for {@link #SOON} only, and has had a reply. On a busy machine, the first may be late. */
    private AdminClient connectedForSoon() throws IOException {
        for (int attemptsLeft = ATTEMPTS_MAX;; attemptsLeft--) {
            AdminClient redis = AdminClient.connect(proxy.address(), SOON);
            try {
                assertEquals("PONG", redis.call("PING"));
                return redis;
            } catch (SocketTimeoutException e) {
                redis.close();
                if (attemptsLeft == 1) {
                    throw e;
                }
            }
        }
    }

    @Test
    void passesBytesBothWays() throws Exception {
        String large = "x".repeat(1 << 20);
        try (AdminClient redis = AdminClient.connect(proxy.address(), LONG)) {
            assertEquals("OK", redis.call("SET", "key", large));
            assertEquals(large, redis.call("GET", "key"));
        }
    }

    @Test
    void slowAddsTheDelayTwice() throws Exception {
        try (AdminClient redis = AdminClient.connect(proxy.address(), LONG)) {
            assertEquals("PONG", redis.call("PING"));
            proxy.slow(Duration.ofMillis(60));
            long beganNs = System.nanoTime();
            assertEquals("PONG", redis.call("PING"));
            assertTrue(System.nanoTime() - beganNs >= 120_000_000L);
            proxy.pass();
            assertEquals("PONG", redis.call("PING"));
        }
    }

    @Test
    void stallHoldsRequestsBackAndDeliversThemAfterTheirSenderHasGone() throws Exception {
        try (AdminClient redis = connectedForSoon()) {
            proxy.stall();
            assertThrows(SocketTimeoutException.class, () -> redis.call("SET", "late", "1"));
        }
        assertNull(node.call("GET", "late"));
        proxy.pass();
        Await.until("the late request arrives", () -> "1".equals(node.call("GET", "late")));
    }

    @Test
    void muteDeliversRequestsAndLosesReplies() throws Exception {
        try (AdminClient redis = connectedForSoon()) {
            proxy.mute();
            assertThrows(SocketTimeoutException.class, () -> redis.call("SET", "unanswered", "1"));
            Await.until("the request arrives", () -> "1".equals(node.call("GET", "unanswered")));
            proxy.pass();
            assertThrows(IOException.class, () -> redis.call("PING"), "the stream lost a reply: it must be closed");
        }
    }

    @Test
    void cutClosesConnectionsOldAndNew() throws Exception {
        try (AdminClient redis = AdminClient.connect(proxy.address(), LONG)) {
            assertEquals("PONG", redis.call("PING"));
            proxy.cut();
            assertThrows(IOException.class, () -> redis.call("PING"));
        }
        try (AdminClient redis = AdminClient.connect(proxy.address(), LONG)) {
            assertThrows(IOException.class, () -> redis.call("PING"));
        }
        proxy.pass();
        try (AdminClient redis = AdminClient.connect(proxy.address(), LONG)) {
            assertEquals("PONG", redis.call("PING"));
        }
    }
}
