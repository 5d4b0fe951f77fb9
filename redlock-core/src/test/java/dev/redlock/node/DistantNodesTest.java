package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** Nodes whose replies take longer than the node timeout: the client says so, with the fix, and has no quorum. */
class DistantNodesTest extends VirtualTest {

    private static final long MS = 1_000_000;
    private static final String TOO_FAR = "the node is too far away or too slow";

    /** Half of the round trip to each node, from the first connection on. */
    private VirtualWorld.Client distantWorld(RedlockContext context, long... delaysMs) {
        for (int i = 0; i < delaysMs.length; i++) {
            long delayNs = delaysMs[i] * MS;
            node(i).delay(() -> delayNs);
        }
        return client(context);
    }

    private VirtualWorld.Client distantWorld(long... delaysMs) {
        world = new VirtualWorld(delaysMs.length);
        return distantWorld(context(), delaysMs);
    }

    private List<String> warnings(LogLines log) {
        return log.with(Level.WARNING, "): " + TOO_FAR);
    }

    @Test
    void nodesBeyondTheNodeTimeoutAreAProblemWithItsFixAndNoQuorum() {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = distantWorld(44, 44, 44);
            world.runMs(4_000);
            String problem = status(client, 0).problem();
            assertEquals(TOO_FAR + ": each of the last 3 replies took 88 ms or longer, and a vote counts for 50 ms"
                    + " only; raise RedlockContext.nodeTimeout, for example to 265 ms", problem);
            assertFalse(client.redlock().isQuorumAvailable());
            world.runMs(600_000);
            assertEquals(3, warnings(log).size(), log.with("node ")::toString);
            assertEquals(1, log.with(Level.WARNING, "no quorum votes for").size(), log.with("quorum")::toString);
            assertTrue(log.with("no quorum votes for").get(0).contains(TOO_FAR), log.with("quorum")::toString);
        }
    }

    @Test
    void theProposedTimeoutMendsIt() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = distantWorld(context().nodeTimeout(Duration.ofMillis(265)), 44, 44, 44);
        world.runMs(10_000);
        assertNull(status(client, 0).problem());
        assertTrue(client.redlock().isQuorumAvailable());
        release(lease(client));
    }

    @Test
    void aMinorityOfDistantNodesIsAProblemAndLeavesAQuorum() {
        VirtualWorld.Client client = distantWorld(0, 0, 44);
        world.runMs(4_000);
        assertTrue(client.redlock().isQuorumAvailable());
        assertNull(status(client, 0).problem());
        assertTrue(status(client, 2).problem().startsWith(TOO_FAR), () -> status(client, 2).toString());
        release(lease(client));
    }

    /** A fork, a slow command, a lost packet. */
    @Test
    void aPauseIsNoDistance() {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = distantWorld(0, 0, 0);
            for (int i = 0; i < 10; i++) {
                eachNode(node -> node.delay(() -> 100 * MS));
                world.runMs(1_500);
                assertTrue(client.redlock().isQuorumAvailable());
                eachNode(node -> node.delay(() -> 0));
                world.runMs(1_500);
            }
            assertEquals(List.of(), warnings(log));
        }
    }

    @Test
    void theFirstReplyInTimeEndsIt() {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = distantWorld(44, 44, 44);
            world.runMs(5_000);
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind());
            eachNode(node -> node.delay(() -> MS));
            world.await("quorum", 2_000, () -> client.redlock().isQuorumAvailable());
            world.runMs(1_000);
            assertNull(status(client, 0).problem());
            assertEquals(3, log.with(Level.INFO, "the node replies in time again").size());
            release(lease(client));
        }
    }

    /** A reconnect brings a node no nearer. */
    @Test
    void aReconnectDoesNotHideIt() {
        VirtualWorld.Client client = distantWorld(44, 44, 44);
        world.runMs(4_000);
        eachNode(node -> node.breakConnections());
        for (int i = 0; i < 300; i++) {
            world.runMs(10);
            assertFalse(client.redlock().isQuorumAvailable());
        }
        assertTrue(status(client, 0).problem().startsWith(TOO_FAR), () -> status(client, 0).toString());
    }

    /** Samples of every millisecond, or of every minute. */
    @Test
    void thePeriodOfTheSamplesDoesNotCount() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = distantWorld(context().clockSampleInterval(Duration.ofMillis(1)), 44);
        world.runMs(1_500);
        assertNull(status(client, 0).problem());
        world.runMs(1_500);
        assertTrue(status(client, 0).problem().startsWith(TOO_FAR), () -> status(client, 0).toString());
    }
}
