package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Each run_id has one vote, and the address that reported it first keeps it. */
class DuplicateRunIdTest extends VirtualTest {

    private static final long HOLD_MS = 60_000 + 600 + 2 + 1_000;

    private VirtualWorld.Client client;

    /** Node 0 is honest; node 1 reports the same run_id. */
    private void copied() {
        world = new VirtualWorld(3);
        client = client();
        copyIdentity();
        node(1).breakConnections();
        world.runMs(6_000);
        assertOwner(0, 1);
    }

    private void copyIdentity() {
        node(1).redis().runId(node(0).redis().runId());
    }

    private void assertOwner(int owner, int other) {
        assertEquals(NodeState.READY, status(client, owner).state(), () -> status(client, owner).toString());
        assertEquals(NodeState.WAITING, status(client, other).state(), () -> status(client, other).toString());
        assertTrue(status(client, other).problem().contains("same server as node " + owner),
                status(client, other).problem());
    }

    @Test
    void aCopyDoesNotReplaceANodeWhoseConnectionBreaks() {
        copied();
        node(0).crash();
        world.runMs(30_000);
        assertEquals(NodeState.WAITING, status(client, 1).state(), "the original keeps its run_id");
        node(0).start();
        world.await("back", 1_100, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(10_000);
        assertOwner(0, 1);
        lease(client);
    }

    @Test
    void aCopyIsRejectedAgainWhenTheOriginalReconnects() {
        copied();
        node(0).crash();
        world.runMs(HOLD_MS + 6_000);
        assertNotEquals(NodeState.WAITING, status(client, 1).state(), "the keys of the original have expired");
        node(0).start();
        world.await("back", 1_100, () -> status(client, 0).state() == NodeState.READY);
        world.runMs(20_000);
        assertOwner(0, 1);
        lease(client);
    }

    @Test
    void originalAndCopyNeverVoteAtTheSameTime() {
        copied();
        world.observer(() -> assertTrue(
                status(client, 0).state() != NodeState.READY
                        || status(client, 1).state() != NodeState.READY,
                "two votes of one server"));
        for (int i = 0; i < 4; i++) {
            node(0).crash();
            world.runMs(i * 30_000);
            node(0).start();
            world.runMs(7_000);
        }
        world.observer(() -> {
        });
        assertOwner(0, 1);
    }

    /** The copy gets the new run_id from the original and reports it earlier. */
    @Test
    void aCopyDoesNotReplaceANodeThatRestarts() {
        copied();
        node(0).crash();
        node(0).redis().newProcess();
        copyIdentity();
        world.runMs(20_000);
        assertEquals(NodeState.WAITING, status(client, 1).state(), status(client, 1)::toString);
        node(0).start();
        world.runMs(HOLD_MS + 3_000);
        assertOwner(0, 1);
    }

    @Test
    void aNodeWithItsOwnRunIdAgainIsUsed() {
        copied();
        node(1).redis().newProcess();
        node(1).redis().uptime(100);
        world.await("a server with its own run_id", 6_000,
                () -> status(client, 1).state().ordinal() >= NodeState.QUARANTINED
                        .ordinal());
        world.runMs(HOLD_MS);
        assertEquals(NodeState.READY, status(client, 1).state(), () -> status(client, 1).toString());
        assertEquals(NodeState.READY, status(client, 0).state(), () -> status(client, 0).toString());
    }

    /** Servers that exchange their addresses must not reject each other forever. */
    @Test
    void serversThatChangeTheirAddressesAreUsedAgain() {
        world = new VirtualWorld(2);
        client = client(context().maxTtl(Duration.ofSeconds(10)));
        String first = node(0).redis().runId();
        eachNode(node -> node.crash());
        node(0).redis().runId(node(1).redis().runId());
        node(1).redis().runId(first);
        eachNode(node -> node.start());
        world.runMs(60_000);
        assertEquals(NodeState.READY, status(client, 0).state(), () -> status(client, 0).toString());
        assertEquals(NodeState.READY, status(client, 1).state(), () -> status(client, 1).toString());
    }
}
