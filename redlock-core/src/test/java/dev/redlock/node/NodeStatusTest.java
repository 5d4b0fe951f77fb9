package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.CloseReport;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A {@link NodeStatus} is readable at any time from any thread, and contains no secret. */
class NodeStatusTest extends VirtualTest {

    private static List<Object> everyAccessor(NodeStatus status) {
        List<Object> all = new ArrayList<>(List.of(status.index(), status.address(), status.state(),
                status.roundTripNs(), status.grantedCount(), status.refusedCount(), status.errorCount(),
                status.disconnectCount(), status.clockJumpCount(), status.undeliveredReleaseCount(),
                status.undeliveredReleaseDroppedCount(),
                status.undeliveredReleaseDeliveredCount(), status.undeliveredReleaseRefusedCount()));
        all.add(status.problem());
        all.add(status.failingCode());
        all.add(status.failingNs());
        all.add(status.votesAgainInNs());
        all.add(status.toString());
        return all;
    }

    private static List<Object> readByAnotherThread(NodeStatus status) {
        return CompletableFuture.supplyAsync(() -> everyAccessor(status)).join();
    }

    /** Every state except the normal ones has a problem. */
    private void assertState(NodeState expected, NodeStatus status) {
        assertEquals(expected, status.state(), status::toString);
        assertEquals(everyAccessor(status), readByAnotherThread(status), "the same for every thread");
        assertTrue(status.toString().contains(status.address()), status::toString);
    }

    /** The times in the text are those of the read, not of the report. */
    @Test
    void theProblemOfAQuarantineHasTheRestOfItAndTheUptime() {
        world = new VirtualWorld(1);
        node(0).redis().uptime(0);
        NodeStatus status = status(client(), 0);
        world.runMs(100);
        String reason = "; it votes when all locks that a restart may have lost have expired";
        assertEquals("in quarantine for another 62 s: restart guard: the server has been up for 0 s" + reason,
                status.problem());
        world.runMs(27_000);
        assertEquals("in quarantine for another 35 s: restart guard: the server has been up for 27 s" + reason,
                status.problem());
        assertEquals(34, status.votesAgainInNs() / 1_000_000_000, "seconds");
        world.runMs(35_000);
        assertEquals(NodeState.READY, status.state(), status::problem);
        assertEquals(0, status.votesAgainInNs(), "it votes");
        node(0).redis().clockJump(60_000);
        world.runMs(1_000);
        world.runMs(30_000);
        assertEquals("in quarantine for another 30 s: clock watch: the node's clock has jumped, keys may have expired"
                + " early", status.problem());
        node(0).redis().failNext("TIME", "NOPERM no time", 1_000);
        world.runMs(40_000);
        assertTrue(status.problem().startsWith("TIME"), status::problem);
        assertEquals(0, status.votesAgainInNs(), "a right ends it, no time");
        node(0).crash();
        world.runMs(1_000);
        assertFalse(status.problem().contains("quarantine"), status::problem);
    }

    @Test
    void statusIsReadableInEachState() {
        world = new VirtualWorld(1);
        node(0).delay(() -> 5_000_000);
        node(0).crash();
        VirtualWorld.Client client = client(context().reconnectDelay(Duration.ofMillis(50), Duration.ofMillis(50))
                .restartGuard(RestartGuardMode.UPTIME)
                .maxTtl(Duration.ofSeconds(2))
                .fenceCounterTtl(Duration.ofHours(1)));
        NodeStatus status = status(client, 0);
        assertState(NodeState.WAITING, status);
        assertFalse(status.problem().isBlank(), "why it waits");
        assertEquals(0, status.roundTripNs(), "nothing was measured");
        node(0).restart(true);
        world.await("handshake", 2_000, () -> status.state() == NodeState.HANDSHAKING);
        assertState(NodeState.HANDSHAKING, status);
        world.await("quarantine", 2_000, () -> status.state() == NodeState.QUARANTINED);
        assertState(NodeState.QUARANTINED, status);
        assertFalse(status.problem().isBlank(), "why it does not vote");
        world.await("ready", 5_000, () -> status.state() == NodeState.READY);
        world.runMs(20);
        assertState(NodeState.READY, status);
        assertNull(status.problem(), "nothing is wrong");
        assertEquals(10_000_000, status.roundTripNs(), "there and back");
    }

    @Test
    void statusIsReadableAfterTheClientHasClosed() {
        VirtualWorld.Client client = world(3);
        lease(client);
        world.runMs(1);
        NodeStatus status = status(client, 1);
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("closed", 2_000, report::isDone);
        assertState(NodeState.CLOSED, status);
        assertEquals(1, status.grantedCount(), "earlier counts stay");
        assertEquals(1, status.index());
        world.runMs(60_000);
        assertState(NodeState.CLOSED, status);
        assertEquals(1, client.redlock().nodes().get(1).grantedCount(), "the client still returns it");
    }

    @Test
    void toStringShowsNoCredentials() {
        world = new VirtualWorld(1);
        node(0).redis().password("ann", "secret");
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis://ann:secret@node-0:1"));
        NodeStatus status = status(client, 0);
        assertState(NodeState.READY, status);
        assertEquals("node-0:1", status.address());
        assertFalse(everyAccessor(status).toString().contains("secret"), status::toString);
        assertFalse(everyAccessor(status).toString().contains("ann"), status::toString);
    }

    @Test
    void theProblemOfAWrongPasswordShowsNoCredentials() {
        world = new VirtualWorld(1);
        node(0).redis().password("ann", "secret");
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis://ann:guessed@node-0:1"));
        NodeStatus status = status(client, 0);
        assertTrue(status.problem().contains("WRONGPASS"), status::problem);
        assertFalse(everyAccessor(status).toString().contains("guessed"), status::toString);
    }

    @Test
    void theListHasOneStatusPerNodeAndIsImmutable() {
        VirtualWorld.Client client = world(3);
        List<NodeStatus> nodes = client.redlock().nodes();
        assertEquals(List.of(0, 1, 2), nodes.stream().map(NodeStatus::index).toList(), "in configured order");
        assertThrows(IndexOutOfBoundsException.class, () -> nodes.get(3));
        assertThrows(IndexOutOfBoundsException.class, () -> nodes.get(-1));
        assertThrows(UnsupportedOperationException.class, () -> nodes.remove(0));
        assertThrows(UnsupportedOperationException.class, () -> nodes.add(null));
        assertSame(nodes, client.redlock().nodes(), "monitoring makes no new list");
    }
}
