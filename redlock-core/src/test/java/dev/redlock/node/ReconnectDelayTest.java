package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A node that fails after its handshake is reconnected with growing delays and a limited number of log lines. */
@Tag("long")
class ReconnectDelayTest extends VirtualTest {

    private static final int MINUTES = 2;

    /** Honest up to the last script of the handshake; the given bytes are the reply to every lock command. */
    private static FakeNode.Hostility replying(String bytes) {
        return (wire, words, honest) -> {
            if (words.get(0).equals("SET") && words.contains("NX") || words.get(0).startsWith("EVAL")) {
                wire.send(bytes);
            } else {
                wire.send(honest);
            }
        };
    }

    private static FakeNode.Hostility disconnectingAfterTheHandshake() {
        return (wire, words, honest) -> {
            wire.send(honest);
            if (words.get(0).equals("SCRIPT") && words.get(2).startsWith("-- Gives many fenced")) {
                wire.disconnect();
            }
        };
    }

    private void acquireAndRelease(VirtualWorld.Client client) {
        release(lease(client));
        world.runMs(1);
    }

    /**
     * At least half of the longest delay is between two connections: two per second, besides those of the first second.
     */
    private void assertCalm(VirtualWorld.Client client, FakeNode.Hostility hostility) {
        try (LogLines log = new LogLines()) {
            node(0).hostility(hostility);
            node(0).breakConnections();
            int openedBefore = node(0).openedCount();
            long endMs = nowMs() + MINUTES * 60_000;
            while (nowMs() < endMs) {
                acquireAndRelease(client);
                world.runMs(50);
            }
            int opened = node(0).openedCount() - openedBefore;
            assertTrue(opened <= 8 + 2 * 60 * MINUTES, "connections in " + MINUTES + " minutes: " + opened);
            assertTrue(opened >= 60 * MINUTES / 2, "the client retries without end: " + opened);
            List<String> lines = log.with("node 0");
            assertTrue(lines.size() <= 3 * MINUTES + 2, () -> "log lines: " + lines);
            assertTrue(lines.size() >= MINUTES, () -> "it stays reported: " + lines);
        }
    }

    @ParameterizedTest
    @CsvSource({"garbage, 'GET / HTTP/1.1\r\n\r\n'", "a wrong type, '+PONG\r\n'", "an array, '*1\r\n:1\r\n'",
        "a bulk of 512 MiB, '$536870912\r\n'", "a bulk of 2 MiB, '$2097152\r\n'", "an answer too many, ':1\r\n:1\r\n'"})
    void aNodeThatSendsMalformedVotesReconnectsWithGrowingDelay(String what,
            String bytes) {
        assertCalm(world(3), replying(bytes));
    }

    @Test
    void aNodeThatSendsDeeplyNestedRepliesReconnectsWithGrowingDelay() {
        assertCalm(world(3), replying("*1\r\n".repeat(200) + ":1\r\n"));
    }

    @Test
    void aNodeThatDisconnectsAfterTheHandshakeReconnectsWithGrowingDelay() {
        assertCalm(world(3), disconnectingAfterTheHandshake());
    }

    /** One good reply does not make a short connection a useful one. */
    @Test
    void aNodeThatDisconnectsAfterItsFirstVoteReconnectsWithGrowingDelay() {
        assertCalm(world(3), (wire, words, honest) -> {
            wire.send(honest);
            // An acquire, because the handshake probes a SET without NX.
            if (words.get(0).equals("SET") && words.contains("NX")) {
                wire.disconnect();
            }
        });
    }

    /** Each reason has a different text, as if the server put a counter into it. */
    @Test
    void changingReasonsAreLoggedAtALimitedRate() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client();
        int[] count = {0};
        try (LogLines log = new LogLines()) {
            node(0).hostility((wire, words, honest) -> {
                wire.send(words.get(0).equals("INFO") && words.get(1).equals("replication")
                        ? "+role:" + "x".repeat(1 + count[0]++ % 50) + "\r\n"
                        : honest.toString(
                                java.nio.charset.StandardCharsets.ISO_8859_1));
            });
            node(0).breakConnections();
            world.runMs(10 * 60_000);
            List<String> lines = log.with("node 0");
            assertTrue(count[0] > 60, "different reasons: " + count[0]);
            assertTrue(lines.size() <= 11 * 10, () -> lines.size() + " lines: " + lines);
        }
        lease(client);
    }

    @Test
    void theProblemStaysWhileTheNodeKeepsFailing() {
        VirtualWorld.Client client = world(3);
        node(0).hostility(replying("+PONG\r\n"));
        for (int i = 0; i < 200; i++) {
            acquireAndRelease(client);
            world.runMs(10);
        }
        node(0).hostility(null);
        world.await("connected again", 2_000, () -> status(client, 0).state() == NodeState.READY);
        assertTrue(String.valueOf(status(client, 0).problem()).contains("reply of the wrong type"),
                String.valueOf(status(client, 0).problem()));
        world.runMs(1_500);
        assertEquals(NodeState.READY, status(client, 0).state());
        assertNull(status(client, 0).problem(), "it has worked for as long as the longest delay");
    }

    @Test
    void aLongLivedConnectionIsReplacedImmediately() {
        VirtualWorld.Client client = world(3);
        for (int i = 0; i < 20; i++) {
            world.runMs(1_300);
            node(0).breakConnections();
            world.await("back", 25, () -> status(client, 0).state() == NodeState.READY);
            assertNull(status(client, 0).problem(), "a single break is over");
        }
    }

    @Test
    void aReconnectedNodeHasNoProblem() {
        VirtualWorld.Client client = world(3);
        world.runMs(2_000);
        node(0).crash();
        world.runMs(10_000);
        node(0).start();
        world.await("back", 1_100, () -> status(client, 0).state() == NodeState.READY);
        assertNull(status(client, 0).problem());
    }

    /** The next line has the number of suppressed lines, and a lasting reason is logged again. */
    @Test
    void suppressedLogLinesAreCounted() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            node(0).hostility(replying("+PONG\r\n"));
            for (int i = 0; i < 3_000; i++) {
                acquireAndRelease(client);
                world.runMs(40);
            }
            assertTrue(log.with("reply of the wrong type").size() >= 2, log.with("node 0")::toString);
            assertTrue(log.with("left out").size() >= 1, log.with("node 0")::toString);
        }
    }

    /** The quarantine is not the reason why the connection ended. */
    @Test
    void aDisconnectDuringQuarantineIsReported() {
        world = new VirtualWorld(1);
        node(0).redis().uptime(0);
        VirtualWorld.Client client = client();
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        node(0).breakConnections();
        world.runMs(1);
        assertEquals(NodeState.WAITING, status(client, 0).state());
        assertEquals("the server closed the connection", status(client, 0).problem());
    }
}
