package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import dev.redlock.api.NodeState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two copies of one client process, as after restoring a virtual machine twice from one snapshot. */
class CopiedProcessTest extends VirtualTest {

    private VirtualWorld.Client one;
    private VirtualWorld.Client other;
    private int acquiredCount;

    /** Both have the same seeds, clocks and history. */
    @BeforeEach
    void copy() {
        world = new VirtualWorld(3);
        one = world.newClient("one", context(), 42);
        other = world.newClient("other", context(), 42);
        world.runMs(10);
        assertEquals(token(one), token(other), "precondition: both are copies");
        one.engine().reseed(1);
        other.engine().reseed(2);
    }

    /** Returns the token of a lock that is acquired now. */
    private String token(VirtualWorld.Client client) {
        String resource = "orders-" + acquiredCount++;
        acquired(get(client.redlock().acquireAsync(resource, options())));
        String token = node(0).redis().get(resource);
        assertNotNull(token, "granted by the first node");
        return token;
    }

    /** A copy has to reconnect, and draws new tokens for its new connections. */
    @Test
    void copiesDrawDifferentTokensAfterAReconnect() {
        eachNode(node -> node.breakConnections());
        world.await("back", 500, () -> isReady(one) && isReady(other));
        assertNotEquals(token(one), token(other));
    }

    private static boolean isReady(VirtualWorld.Client client) {
        return client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.READY);
    }

    @Test
    void copiesDrawDifferentTokensAfterOneSecond() {
        world.runMs(989);
        assertEquals(token(one), token(other), "not yet, if they do so in the same nanosecond");
        world.runMs(12);
        assertNotEquals(token(one), token(other));
    }

    @Test
    void copiesDrawDifferentTokensAtDifferentTimes() {
        String token = token(one);
        world.runUntilNs(world.nowNs() + 1);
        assertNotEquals(token, token(other));
    }
}
