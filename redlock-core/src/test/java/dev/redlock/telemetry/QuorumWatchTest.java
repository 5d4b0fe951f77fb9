package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.NodeState;
import dev.redlock.api.TransportKind;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An outage of a quorum is one warning, its end another one, and a health check sees it. */
@Tag("jdk")
class QuorumWatchTest extends VirtualTest {

    private static List<String> warnings(LogLines log) {
        return log.with(Level.WARNING, "quorum");
    }

    private void assertWarnings(LogLines log, int count) {
        assertEquals(count, warnings(log).size(), () -> warnings(log).toString());
    }

    private static void restart(FakeNode node) {
        node.start();
        node.redis().uptime(86_400);
    }

    private void crash(int... indexes) {
        for (int index : indexes) {
            node(index).crash();
        }
    }

    /** Each node passes through quarantine when it connects, which is no reason to wait a minute. */
    @Test
    void slowFirstContactsAreNotExplainedByLostLocks() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().uptime(0));
        VirtualWorld.Client client = client();
        world.await("a quorum", 1_000, () -> client.redlock().isQuorumAvailable());
        eachNode(node -> node.delay(() -> 400_000_000));
        try (LogLines log = new LogLines()) {
            eachNode(FakeNode::breakConnections);
            world.await("a warning", 4_000, () -> !warnings(log).isEmpty());
            assertEquals(NodeState.QUARANTINED, status(client, 0).state());
            assertFalse(warnings(log).get(0).contains("may have lost locks"), () -> warnings(log).get(0));
        }
    }

    @Test
    void nodesThatAreDownFromTheStartAreOneWarning() {
        world = new VirtualWorld(3);
        crash(0, 1, 2);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            world.runMs(300_000);
            assertWarnings(log, 1);
            String line = warnings(log).get(0);
            assertTrue(line.startsWith("no quorum votes for "), line);
            assertTrue(line.contains(" ms, so no lock can be acquired; votes needed: 2 of 3; node 0 ("), line);
            for (int i = 0; i < 3; i++) {
                assertTrue(line.contains(status(client, i).address()), line);
                assertTrue(line.contains(status(client, i).problem()), line);
            }
            assertFalse(client.redlock().isQuorumAvailable());
            eachNode(QuorumWatchTest::restart);
            world.runMs(2_000);
            assertWarnings(log, 2);
            assertTrue(warnings(log).get(1).matches("a quorum votes again, after 30[0-9]{4} ms"), warnings(log).get(1));
            assertTrue(client.redlock().isQuorumAvailable());
        }
    }

    /** As on a busy machine: each reply comes late, and no node has failed. */
    @ParameterizedTest
    @ValueSource(ints = {450, 900})
    void aSlowStartIsNoOutage(int delayMs) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().uptime(0));
        eachNode(node -> node.delay(() -> delayMs * 1_000_000L));
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(context().connectTimeout(Duration.ofSeconds(1)));
            world.runMs(delayMs > 500 ? 3_300 : 1_100);
            assertFalse(client.redlock().isQuorumAvailable(), "after the timeouts");
            world.runMs(2_000);
            eachNode(node -> node.delay(() -> 0));
            world.runMs(20_000);
            assertTrue(client.redlock().isQuorumAvailable());
            assertEquals(List.of(), log.with(Level.WARNING, ""));
        }
    }

    @Test
    void aStartWithSilentNodesIsReportedWhenTheirHandshakesHaveFailed() {
        world = new VirtualWorld(3);
        node(0).pause();
        node(1).pause();
        try (LogLines log = new LogLines()) {
            client();
            world.runMs(1_900);
            assertWarnings(log, 0);
            world.runMs(1_200);
            assertWarnings(log, 1);
            assertTrue(warnings(log).get(0).contains("the handshake took longer than"), warnings(log).get(0));
        }
    }

    // ---- a quorum votes, and nodes are missing ----------------------------------------------------------------------

    private static List<String> degraded(LogLines log) {
        return log.with(Level.WARNING, " nodes vote; ");
    }

    @Test
    void aDeadNodeOfThreeIsOneWarningThatNamesIt() {
        VirtualWorld.Client client = world(3);
        Redlock redlock = client.redlock();
        assertFalse(redlock.isDegraded());
        assertEquals(1, redlock.toleratedFailureCount());
        try (LogLines log = new LogLines()) {
            crash(1);
            world.runMs(990);
            assertTrue(redlock.isDegraded());
            assertEquals(0, redlock.toleratedFailureCount());
            assertEquals(List.of(), degraded(log));
            world.runMs(300_000);
            assertEquals(1, degraded(log).size(), degraded(log)::toString);
            String line = degraded(log).get(0);
            assertTrue(line.startsWith("2 of 3 nodes vote; one more failure and no lock can be acquired; node 1 ("),
                    line);
            assertTrue(line.endsWith(status(client, 1).problem()), line);
            assertWarnings(log, 0);
            restart(node(1));
            world.runMs(2_000);
            assertFalse(redlock.isDegraded());
            assertEquals(1, log.with(Level.INFO, "all 3 nodes vote again").size());
            assertEquals(1, degraded(log).size(), degraded(log)::toString);
        }
    }

    @Test
    void eachFurtherNodeIsAWarningUntilNoQuorumIsLeft() {
        VirtualWorld.Client client = world(5);
        assertEquals(2, client.redlock().toleratedFailureCount());
        try (LogLines log = new LogLines()) {
            crash(0);
            world.runMs(1_100);
            crash(1);
            world.runMs(1_100);
            assertEquals(2, degraded(log).size(), degraded(log)::toString);
            assertTrue(degraded(log).get(0).startsWith("4 of 5 nodes vote; 2 more failures and no lock"));
            assertTrue(degraded(log).get(1).startsWith("3 of 5 nodes vote; one more failure and no lock"));
            crash(2);
            world.runMs(1_100);
            assertEquals(-1, client.redlock().toleratedFailureCount());
            assertEquals(2, degraded(log).size(), "the loss of the quorum has its own line");
            assertWarnings(log, 1);
            for (int i = 0; i < 3; i++) {
                restart(node(i));
            }
            world.runMs(2_000);
            assertEquals(1, log.with(Level.INFO, "all 5 nodes vote again").size());
            assertEquals(2, degraded(log).size());
        }
    }

    /** Node 2 is away for some milliseconds, which no line shows. */
    @Test
    void allVoteAgainAfterANodeThatNoLineHasNamed() {
        VirtualWorld.Client client = world(5);
        try (LogLines log = new LogLines()) {
            crash(0);
            crash(1);
            world.runMs(1_100);
            assertEquals(1, degraded(log).size(), degraded(log)::toString);
            restart(node(0));
            world.runMs(2_000);
            restart(node(1));
            node(1).delay(() -> 5_000_000);
            while (client.redlock().nodes().get(1).state() != NodeState.HANDSHAKING) {
                world.runMs(1);
            }
            crash(2);
            while (client.redlock().nodes().get(1).state() != NodeState.READY) {
                world.runMs(1);
            }
            assertTrue(client.redlock().isDegraded(), "node 2 is the last");
            restart(node(2));
            world.runMs(500);
            assertFalse(client.redlock().isDegraded());
            assertEquals(1, log.with(Level.INFO, "all 5 nodes vote again").size());
        }
    }

    @Test
    void aNodeThatIsDownFromTheStartIsOneWarning() {
        world = new VirtualWorld(3);
        crash(2);
        try (LogLines log = new LogLines()) {
            client();
            world.runMs(300_000);
            assertEquals(1, degraded(log).size(), degraded(log)::toString);
            assertTrue(degraded(log).get(0).contains("one more failure and no lock can be acquired; node 2 ("));
            assertWarnings(log, 0);
        }
    }

    /** Node 0 stays away, and node 1 reconnects so often that it is away at most moments of a second. */
    @Test
    void unstableNodesHideNoDeadOne() {
        world(3);
        try (LogLines log = new LogLines()) {
            crash(0);
            for (int i = 0; i < 100; i++) {
                node(1).breakConnections();
                world.runMs(700);
            }
            assertTrue(degraded(log).size() > 0, "reported");
            assertTrue(degraded(log).size() < 5, degraded(log)::toString);
        }
    }

    @Test
    void aReconnectIsNoDegradation() {
        world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 20; i++) {
                node(i % 3).breakConnections();
                world.runMs(20_000);
            }
            assertEquals(List.of(), log.with(Level.WARNING, ""));
        }
    }

    @Test
    void anOutageIsReportedAfterASecond() {
        VirtualWorld.Client client = world(3);
        assertTrue(client.redlock().isQuorumAvailable());
        try (LogLines log = new LogLines()) {
            crash(0);
            world.runMs(5_000);
            assertTrue(client.redlock().isQuorumAvailable(), "two of three vote");
            assertWarnings(log, 0);
            crash(2);
            world.runMs(990);
            assertFalse(client.redlock().isQuorumAvailable());
            assertWarnings(log, 0);
            world.runMs(20);
            assertWarnings(log, 1);
            String line = warnings(log).get(0);
            assertTrue(line.startsWith("no quorum votes for 1000 ms, "), line);
            assertTrue(line.contains("node 0 (") && !line.contains("node 1 (") && line.contains("node 2 ("), line);
            restart(node(2));
            world.runMs(2_000);
            assertWarnings(log, 2);
        }
    }

    @Test
    void aReconnectIsNoOutage() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 20; i++) {
                eachNode(FakeNode::breakConnections);
                world.runMs(5);
                assertFalse(client.redlock().isQuorumAvailable());
                world.runMs(20_000);
                assertTrue(client.redlock().isQuorumAvailable());
            }
            assertWarnings(log, 0);
        }
    }

    @Test
    void unstableNodesDoNotFillTheLog() {
        world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 60; i++) {
                crash(0, 1);
                world.runMs(5_000);
                restart(node(0));
                restart(node(1));
                world.runMs(5_000);
            }
            assertTrue(warnings(log).size() <= 20, () -> warnings(log).size() + " lines in 10 minutes");
            crash(0, 1);
            world.runMs(11_000);
            assertTrue(warnings(log).get(warnings(log).size() - 1).startsWith("no quorum"), "a lasting relapse");
        }
    }

    @Test
    void nodesThatAnswerWithErrorsGiveNoQuorum() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 2; i++) {
                node(i).redis().failNext("SET", "OOM x", Integer.MAX_VALUE);
            }
            for (int i = 0; i < 20; i++) {
                assertFalse(acquire(client, options()).isAcquired());
            }
            assertFalse(client.redlock().isQuorumAvailable());
            world.runMs(1_100);
            assertWarnings(log, 1);
            assertTrue(warnings(log).get(0).contains("READY: the node answers acquires with errors: OOM"),
                    warnings(log).get(0));
            eachNode(node -> node.redis().clearErrors());
            release(lease(client));
            assertTrue(client.redlock().isQuorumAvailable());
            world.runMs(10);
            assertWarnings(log, 2);
        }
    }

    @Test
    void closingIsNoOutage() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            get(client.engine().close(TTL));
            world.runMs(5_000);
            assertFalse(client.redlock().isQuorumAvailable());
            assertWarnings(log, 0);
        }
    }

    @Test
    void aCloseThatWaitsForItsReleasesIsNoOutage() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(3)));
        lease(client);
        eachNode(FakeNode::pause);
        try (LogLines log = new LogLines()) {
            CompletableFuture<CloseReport> closing = client.engine().close(TTL);
            world.runMs(2_000);
            assertFalse(closing.isDone());
            assertWarnings(log, 0);
            eachNode(FakeNode::resume);
            get(closing);
            assertWarnings(log, 0);
        }
    }

    /** Each event loop has connections of its own. */
    @Test
    void allEventLoopsOfAClientLogOneWarning() throws InterruptedException {
        try (LogLines log = new LogLines();
                Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2")
                        .transport(TransportKind.NIO)
                        .eventLoops(3))) {
            Await.until("the warning", () -> !warnings(log).isEmpty());
            assertFalse(redlock.isQuorumAvailable());
            assertWarnings(log, 1);
        }
    }

    @Test
    void theOutcomeNamesAddressAndCause() {
        VirtualWorld.Client client = world(3);
        crash(0, 1);
        world.runMs(100);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        for (int i = 0; i < 2; i++) {
            NodeStatus status = status(client, i);
            assertEquals("failed: not connected: " + status.problem(), outcome.voteText(i));
            String expected = ", node " + i + " (" + status.address() + ") failed: not connected: " + status.problem();
            assertTrue(outcome.toString().contains(expected), outcome::toString);
        }
    }

    @Test
    void theHealthCheckAllocatesNothing() {
        VirtualWorld.Client client = world(3);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        Redlock redlock = client.redlock();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 100; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int j = 0; j < 1_000; j++) {
                assertTrue(redlock.isQuorumAvailable());
            }
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertEquals(0, least, "bytes of 1000 calls");
    }

    @Test
    void aClientThatConnectsHasNoQuorumYet() {
        world = new VirtualWorld(3);
        eachNode(node -> node.delay(() -> 20_000_000));
        VirtualWorld.Client client = client(context().connectTimeout(TTL));
        assertFalse(client.redlock().isQuorumAvailable());
        try (LogLines log = new LogLines()) {
            world.runMs(5_000);
            assertTrue(client.redlock().isQuorumAvailable());
            assertWarnings(log, 0);
        }
    }
}
