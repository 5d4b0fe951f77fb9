package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.CommandMode;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The channel to which an event loop subscribes on each node. */
class WakeChannelTest extends VirtualTest {

    private static final String ADVICE = "; waiting clients are woken all at once: allow +subscribe +publish and"
            + " &redlock:wake:*";

    private String channel() {
        List<String> names = node(0).redis().channels();
        assertEquals(1, names.size(), names::toString);
        return names.get(0);
    }

    private int subscribeCount() {
        return node(0).redis().commandCount("SUBSCRIBE");
    }

    @Test
    void aClientSubscribesToOneChannelOnEachNode() {
        VirtualWorld.Client client = world(3);
        String channel = channel();
        assertTrue(channel.matches("redlock:wake:[A-Za-z0-9_-]{22}"), channel);
        eachNode(node -> assertEquals(List.of(channel), node.redis().channels()));
        eachNode(node -> assertEquals(1, node.redis().publish(channel, "hk")));
        assertNull(status(client, 0).wakeUpProblem());
        release(lease(client));
        assertEquals(0, status(client, 0).disconnectCount());
    }

    @Test
    void eachClientHasAChannelOfItsOwn() {
        world(1);
        String first = channel();
        client();
        assertEquals(2, node(0).redis().channels().size());
        assertNotEquals(first, node(0).redis().channels().get(1));
    }

    @Test
    void aNewConnectionSubscribesAgain() {
        VirtualWorld.Client client = world(1);
        String channel = channel();
        node(0).breakConnections();
        assertEquals(0, node(0).redis().publish(channel, "hk"));
        world.await("connected again", 6_000, () -> status(client, 0).state() == NodeState.READY);
        assertEquals(channel, channel());
        assertEquals(2, subscribeCount());
        assertEquals(1, node(0).redis().publish(channel, "hk"));
    }

    @Test
    void aNewProcessIsSubscribedToAsWell() {
        VirtualWorld.Client client = world(1);
        String channel = channel();
        node(0).crash();
        node(0).restart(true);
        world.await("connected again", 6_000, () -> !node(0).redis().channels().isEmpty());
        assertEquals(channel, channel());
        assertEquals(1, status(client, 0).disconnectCount());
    }

    @ParameterizedTest
    @CsvSource({"NOPERM this user has no permissions to access one of the channels used as arguments, NOPERM",
        "NOPERM this user has no permissions to run the 'subscribe' command, NOPERM",
        "ERR unknown command 'SUBSCRIBE', ERR"})
    void aNodeWithoutTheRightIsUsedAndNamesTheProblem(String error, String code) {
        world = new VirtualWorld(1);
        node(0).redis().failNext("SUBSCRIBE", error, Integer.MAX_VALUE);
        VirtualWorld.Client client = client();
        NodeStatus status = status(client, 0);
        assertEquals(NodeState.READY, status.state());
        assertEquals("SUBSCRIBE failed: " + code + ADVICE, status.wakeUpProblem());
        assertNull(status.problem());
        release(lease(client));
    }

    @Test
    void aProblemOfTrackingIsShownFirst() {
        world = new VirtualWorld(1);
        node(0).redis().failNext("SUBSCRIBE", "NOPERM no", Integer.MAX_VALUE);
        node(0).redis().failNext("CLIENT TRACKING", "NOPERM no", Integer.MAX_VALUE);
        assertEquals("CLIENT TRACKING failed: NOPERM", status(client(), 0).wakeUpProblem());
    }

    @ParameterizedTest
    @ValueSource(strings = {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script."})
    void aServerThatIsNotReadyIsAskedAgain(String error) {
        world = new VirtualWorld(1);
        node(0).redis().failNext("SUBSCRIBE", error, 1);
        VirtualWorld.Client client = client();
        world.await("ready", 6_000, () -> status(client, 0).state() == NodeState.READY);
        assertNull(status(client, 0).wakeUpProblem());
        assertEquals(1, node(0).redis().channels().size());
    }

    @Test
    void theProblemEndsWithTheNextConnection() {
        world = new VirtualWorld(1);
        node(0).redis().failNext("SUBSCRIBE", "NOPERM no", 1);
        VirtualWorld.Client client = client();
        assertEquals("SUBSCRIBE failed: NOPERM" + ADVICE, status(client, 0).wakeUpProblem());
        node(0).breakConnections();
        world.runMs(1);
        assertEquals("not connected", status(client, 0).wakeUpProblem());
        world.await("connected again", 6_000, () -> status(client, 0).state() == NodeState.READY);
        assertNull(status(client, 0).wakeUpProblem());
    }

    /** Without RESP3 a subscribed connection could run no other command. */
    @Test
    void aServerWithoutResp3EndsTheSubscription() {
        world = new VirtualWorld(1);
        node(0).redis().onlyResp2();
        VirtualWorld.Client client = client();
        assertEquals(NodeState.READY, status(client, 0).state());
        assertEquals("the server has no RESP3", status(client, 0).wakeUpProblem());
        assertEquals(List.of(), node(0).redis().channels());
        assertEquals(1, subscribeCount());
        assertEquals(1, node(0).redis().commandCount("UNSUBSCRIBE"));
        release(lease(client));
    }

    @Test
    void aServerWithoutResp3AndWithoutSubscriptionsIsUsed() {
        world = new VirtualWorld(1);
        node(0).redis().onlyResp2();
        node(0).redis().failNext("SUBSCRIBE", "ERR unknown command 'SUBSCRIBE'", 1);
        VirtualWorld.Client client = client();
        assertEquals("the server has no RESP3", status(client, 0).wakeUpProblem());
        assertEquals(0, node(0).redis().commandCount("UNSUBSCRIBE"));
        release(lease(client));
    }

    @Test
    void aClientWithoutWakeUpsDoesNotSubscribe() {
        world = new VirtualWorld(1);
        node(0).redis().kind(FakeRedis.Kind.REDIS_8_4);
        for (VirtualWorld.Client client : List.of(client(context().wakeUpKeysMax(0)),
                client(context().commands(CommandMode.NATIVE)))) {
            assertTrue(status(client, 0).wakeUpProblem().startsWith("switched off"));
        }
        assertEquals(0, subscribeCount());
    }

    @Test
    void aClusterIsNotSubscribedTo() {
        world = new VirtualWorld(1);
        new FakeCluster().add(node(0).redis(), "node-0", 1).own(0, 16_383);
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis-cluster://node-0:1"));
        assertEquals(NodeState.READY, status(client, 0).state());
        assertNull(status(client, 0).wakeUpProblem());
        assertEquals(0, subscribeCount());
        release(lease(client));
    }
}
