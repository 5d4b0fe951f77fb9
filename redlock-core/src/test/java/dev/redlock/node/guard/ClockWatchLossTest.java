package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A node whose TIME fails does not vote while its clock cannot be watched. */
class ClockWatchLossTest extends VirtualTest {

    private static final String NO_PERMISSION = "NOPERM User app has no permissions to run the 'time' command";

    private static FakeNode.Hostility replyingToTime(String bytes) {
        return (wire, words, honest) -> {
            if (words.get(0).equals("TIME")) {
                wire.send(bytes);
            } else {
                wire.send(honest);
            }
        };
    }

    private void assertBlindThenSeeing(VirtualWorld.Client client, FakeNode.Hostility hostility,
            String reason) {
        world.runMs(3_000);
        try (LogLines log = new LogLines()) {
            node(0).hostility(hostility);
            world.runMs(1_100);
            assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "its clock cannot be watched");
            String problem = String.valueOf(status(client, 0).problem());
            assertTrue(problem.contains("TIME") && problem.contains(reason), problem);
            world.runMs(30_000);
            assertEquals(NodeState.QUARANTINED, status(client, 0).state(), "still");
            assertEquals(0, status(client, 0).disconnectCount(), "it still gets releases");
            assertEquals(1, log.with("node 0 (node-0:1): TIME").size(), () -> log.with("node 0").toString());
            node(0).hostility(null);
            world.runMs(1_100);
            assertEquals(NodeState.READY, status(client, 0).state(), status(client, 0)::toString);
            assertNull(status(client, 0).problem());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-" + NO_PERMISSION + "\r\n", "-BUSY Redis is busy running a script.\r\n", "+OK\r\n",
        ":1760000000\r\n", "_\r\n", "*-1\r\n", "*0\r\n", "*1\r\n$1\r\n1\r\n", "*2\r\n$3\r\nnow\r\n$1\r\n0\r\n",
        "*2\r\n$2\r\n-5\r\n$1\r\n0\r\n", "*2\r\n$10\r\n1760000000\r\n$2\r\n-1\r\n",
        "*2\r\n$10\r\n1760000000\r\n$7\r\n1000000\r\n", "*2\r\n$19\r\n9223372036854775807\r\n$1\r\n0\r\n",
        "*2\r\n$13\r\n9223372036855\r\n$1\r\n0\r\n", "*2\r\n$10\r\n9223372037\r\n$1\r\n0\r\n",
        "*2\r\n$-1\r\n$-1\r\n", "*2\r\n*0\r\n*0\r\n"})
    void aNodeWithoutTimeDoesNotVoteUntilItsTimeIsReadable(String bytes) {
        boolean isError = bytes.startsWith("-");
        assertBlindThenSeeing(world(3), replyingToTime(bytes), isError ? bytes.substring(1, bytes.indexOf(' ')) : "");
    }

    @Test
    void losingTheTimeOfANodeRevokesItsGrants() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).redis().failNext("TIME", NO_PERMISSION, 1_000);
        world.runMs(1_100);
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(0, keyCount(), "a node that does not vote still gets releases");
        AcquireOutcome outcome = acquire(client, options());
        assertTrue(outcome.voteText(0).contains("in quarantine"), outcome::toString);
        release(outcome.lease());
    }

    /** The first sample detects a jump that happened in between. */
    @Test
    void aJumpWhileTheTimeIsUnreadableIsDetected() {
        VirtualWorld.Client client = world(3);
        world.runMs(3_000);
        node(0).redis().failNext("TIME", NO_PERMISSION, 1_000);
        world.runMs(5_000);
        node(0).redis().clockJump(3_600_000);
        world.runMs(5_000);
        node(0).redis().clearErrors();
        world.runMs(1_100);
        assertEquals(1, status(client, 0).clockJumpCount());
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        assertTrue(status(client, 0).problem().contains("jumped"), status(client, 0).problem());
        world.runMs(60_000);
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    /** The node votes only after both reasons have ended. */
    @Test
    void aNodeWithoutTimeDoesNotVoteAfterTheRestartGuard() {
        world = new VirtualWorld(3);
        node(0).redis().uptime(0);
        VirtualWorld.Client client = client();
        node(0).redis().failNext("TIME", NO_PERMISSION, 1_000);
        world.runMs(70_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        assertTrue(status(client, 0).problem().contains("TIME"), status(client, 0).problem());
        node(0).redis().clearErrors();
        world.runMs(1_100);
        assertEquals(NodeState.READY, status(client, 0).state(), status(client, 0)::toString);
        node(0).breakConnections();
        world.runMs(100);
        assertEquals(NodeState.READY, status(client, 0).state(), "the restart guard does not start again");
    }

    @Test
    void aReadableTimeDoesNotEndTheRestartGuard() {
        world = new VirtualWorld(3);
        node(0).redis().uptime(0);
        VirtualWorld.Client client = client();
        node(0).redis().failNext("TIME", NO_PERMISSION, 3);
        world.runMs(30_000);
        assertEquals(NodeState.QUARANTINED, status(client, 0).state());
        assertTrue(status(client, 0).problem().contains("restart guard"), status(client, 0).problem());
        world.runMs(33_000);
        assertEquals(NodeState.READY, status(client, 0).state(), status(client, 0)::toString);
    }

    @Test
    void withoutClockWatchTheNodeVotesAndItsRoundTripIsMeasured() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> 2_000_000));
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ZERO));
        world.runMs(3_000);
        node(0).redis().failNext("TIME", NO_PERMISSION, 1_000);
        eachNode(node -> node.delay(() -> 5_000_000));
        world.runMs(3_000);
        assertEquals(NodeState.READY, status(client, 0).state());
        assertNull(status(client, 0).problem());
        assertEquals(10_000_000, status(client, 0).roundTripNs(), "an error has the same round trip as a reply");
    }

    /** Each failure changes the state, but not each change is logged. */
    @Test
    void intermittentTimeFailuresAreLoggedAtALimitedRate() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            int[] count = {0};
            node(0).hostility((wire, words, honest) -> {
                if (words.get(0).equals("TIME") && count[0]++ % 2 == 0) {
                    wire.send("+now\r\n");
                } else {
                    wire.send(honest);
                }
            });
            world.runMs(300_000);
            List<String> lines = log.with("node 0 (node-0:1): TIME");
            assertTrue(lines.size() >= 4 && lines.size() <= 6, lines::toString);
        }
        lease(client);
    }
}
