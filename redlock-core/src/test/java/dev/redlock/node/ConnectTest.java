package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The call that connects: how long it blocks its caller, and what it logs. */
@Timeout(60)
@Tag("jdk")
class ConnectTest extends VirtualTest {

    private VirtualWorld.Client client;

    /** Connects a new client in a thread of its own. The loop runs when virtual time does. */
    private BlockedCall<Boolean> connect(RedlockContext context) {
        client = world.newUnconnectedClient("client", context, 7, null);
        return new BlockedCall<>(() -> {
            client.engine().engine().lockEngine().connect();
            return Thread.interrupted();
        });
    }

    private RedlockContext patient() {
        return context().connectTimeout(Duration.ofSeconds(60));
    }

    @AfterEach
    void close() {
        client.engine().close(Duration.ZERO);
        world.runMs(100);
    }

    @Test
    void connectReturnsAfterTheFirstReplyOfEachNode() throws InterruptedException {
        world = new VirtualWorld(3);
        BlockedCall<Boolean> connecting = connect(patient()).awaitBlocked(Thread.State.TIMED_WAITING);
        world.runMs(10);
        assertFalse(connecting.result(), "not interrupted");
    }

    /** Its only node is ready before the map arrives, and has no change of state afterwards. */
    @Test
    void connectToAClusterOfOneMasterReturnsWithItsMap() throws InterruptedException {
        world = new VirtualWorld(1);
        new FakeCluster().add(node(0).redis(), "node-0", 1).own(0, 16_383);
        BlockedCall<Boolean> connecting = connect(
                new RedlockContext().nodes("redis-cluster://node-0:1").connectTimeout(Duration.ofSeconds(60)))
                .awaitBlocked(Thread.State.TIMED_WAITING);
        world.runMs(10);
        assertFalse(connecting.result(), "not interrupted");
        assertTrue(get(client.redlock().acquireAsync("orders", options())).isAcquired());
    }

    @Test
    void anInterruptedCallerOfConnectDoesNotWaitAndStaysInterrupted() throws InterruptedException {
        world = new VirtualWorld(3);
        BlockedCall<Boolean> connecting = connect(patient()).awaitBlocked(Thread.State.TIMED_WAITING);
        connecting.thread().interrupt();
        assertTrue(connecting.result(), "interrupted");
    }

    @Test
    void nodesThatAreLaterThanTheConnectTimeoutAreInTheDebugLog() throws InterruptedException {
        world = new VirtualWorld(3);
        try (LogLines log = new LogLines(Level.FINE)) {
            connect(context().connectTimeout(Duration.ofMillis(1))).result();
            List<String> lines = log.with(Level.FINE, "some nodes have not replied within the connect timeout");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains("node-2"), lines.get(0));
        }
    }

    /** A quarantine lasts for maxTtl, its clock drift of 602 ms, and a second, because an uptime has whole seconds. */
    @Test
    void connectReportsHowManyNodesAreInQuarantineAndUntilWhen() throws InterruptedException {
        world = new VirtualWorld(3);
        node(0).redis().uptime(30);
        node(2).redis().uptime(0);
        try (LogLines log = new LogLines()) {
            BlockedCall<Boolean> connecting = connect(patient().restartGuard(RestartGuardMode.UPTIME))
                    .awaitBlocked(Thread.State.TIMED_WAITING);
            // Without delays the nodes reply at the present time, which the report must not race with.
            world.runMs(0);
            connecting.result();
            List<String> lines = log.with(Level.WARNING, "");
            String guard = " s: restart guard: the server has been up for %d s; it votes when all locks that a restart"
                    + " may have lost have expired";
            assertEquals(1, lines.size(), lines::toString);
            assertEquals("no quorum votes for 0 ms, so no lock can be acquired; votes needed: 2 of 3; node 0"
                    + " (node-0:1) QUARANTINED: in quarantine for another 32" + guard.formatted(30)
                    + "; node 2 (node-2:1)"
                    + " QUARANTINED: in quarantine for another 62" + guard.formatted(0)
                    + "; a node in quarantine may have"
                    + " lost locks: wait, or see RedlockContext.restartGuard, which is UPTIME", lines.get(0));
        }
    }
}
