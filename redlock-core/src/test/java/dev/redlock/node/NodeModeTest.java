package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.NodeState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Only a standalone master is accepted as a node. */
class NodeModeTest extends VirtualTest {

    @ParameterizedTest
    @CsvSource({"redis_mode:cluster, redis-cluster://", "server_mode:cluster, redis-cluster://",
        "redis_mode:sentinel, Sentinel", "server_mode:sentinel, Sentinel"})
    void aServerOfAnotherModeIsRejectedWithAReason(String field, String reason) {
        world = new VirtualWorld(3);
        node(0).redis().modeField(field);
        VirtualWorld.Client client = client();
        assertEquals(NodeState.WAITING, status(client, 0).state(), "not used");
        assertTrue(status(client, 0).problem().contains(reason), status(client, 0).problem());
        assertTrue(status(client, 0).problem().contains("independent master"), status(client, 0).problem());
        lease(client);
        world.runMs(60_000);
        assertTrue(node(0).openedCount() <= 26, "retried after 2.5 to 5 s: " + node(0).openedCount());
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis_mode:standalone", "server_mode:standalone", "os:Linux"})
    void aStandaloneServerIsUsed(String field) {
        world = new VirtualWorld(1);
        node(0).redis().modeField(field);
        assertEquals(NodeState.READY, status(client(), 0).state());
    }

    @Test
    void aNodeThatLeavesItsClusterIsUsed() {
        world = new VirtualWorld(1);
        node(0).redis().modeField("redis_mode:cluster");
        VirtualWorld.Client client = client();
        node(0).redis().modeField("redis_mode:standalone");
        world.await("ready", 6_000, () -> status(client, 0).state() == NodeState.READY);
    }
}
