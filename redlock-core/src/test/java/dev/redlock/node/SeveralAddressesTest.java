package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A host name with several addresses: the client tries all of them in turn, the last good one first. */
class SeveralAddressesTest extends VirtualTest {

    /** No server listens there. */
    private static final LocalAddress DEAD = new LocalAddress("dead");
    /** A host that drops every packet. */
    private static final LocalAddress SILENT = new LocalAddress("silent");
    private static final List<SocketAddress> CONNECTS = new ArrayList<>();

    /** The addresses of the name of node 0. */
    private List<LocalAddress> addresses;
    private VirtualWorld.Client client;

    /** Never reports that a connect to a silent host has failed. */
    public static final class SilentChannel extends LocalChannel {
        @Override
        public ChannelFuture connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            CONNECTS.add(remote);
            return remote == SILENT ? promise : super.connect(remote, local, promise);
        }
    }

    /** Connects to one node whose name has these addresses. */
    private void connect(LocalAddress... ofNode0) {
        connect(new RedlockContext().nodes("node-0:1"), ofNode0);
    }

    private void connect(RedlockContext context, LocalAddress... ofNode0) {
        addresses = List.of(ofNode0);
        client = world.newUnconnectedClient("client", context, 7, null);
        CONNECTS.clear();
        client.transport().channelClass(SilentChannel.class);
        client.transport().addresses((host, place) -> host.equals("node-0") ? addresses : List.of(place));
        client.engine().open();
        world.runMs(10);
    }

    private LocalAddress place(int index) {
        return node(index).place();
    }

    private NodeStatus status() {
        return status(client, 0);
    }

    private void assertReady(long withinMs) {
        world.await(withinMs + " ms: " + status(), withinMs, () -> status().state() == NodeState.READY);
        world.runMs(1);
    }

    private void assertProblem(String text) {
        assertTrue(String.valueOf(status().problem()).contains(text), () -> status().toString());
    }

    @Test
    void theSecondAddressIsTriedAtOnceIfTheFirstRefuses() {
        world = new VirtualWorld(1);
        try (LogLines log = new LogLines()) {
            connect(DEAD, place(0));
            assertEquals(NodeState.READY, status().state(), () -> status().toString());
            assertNull(status().problem());
            release(lease(client));
            world.runMs(1);
            assertEquals(1, log.with(Level.INFO, "local:dead: connection failed: ").size());
            assertEquals(1, log.with("; connected to " + place(0) + ", one of the 2 addresses of node-0").size(),
                    log.with("")::toString);
        }
    }

    /** As on a machine whose IPv6 leads nowhere. */
    @Test
    void anAddressThatDoesNotAnswerTakesItsShareOfTheConnectTimeout() {
        world = new VirtualWorld(1);
        try (LogLines log = new LogLines()) {
            connect(SILENT, place(0));
            world.runMs(480);
            assertEquals(NodeState.CONNECTING, status().state());
            assertReady(20);
            assertEquals(1, log.with("local:silent: connection failed: no answer in 500 ms; connected to").size(),
                    log.with("")::toString);
        }
    }

    @Test
    void theLastGoodAddressIsTheFirstOne() {
        world = new VirtualWorld(1);
        connect(SILENT, place(0));
        assertReady(500);
        for (int i = 0; i < 3; i++) {
            CONNECTS.clear();
            node(0).breakConnections();
            world.runMs(1);
            assertReady(100);
            assertEquals(List.of(place(0)), CONNECTS);
        }
    }

    @Test
    void theProblemNamesEachAddressIfNoneCanBeUsed() {
        world = new VirtualWorld(1);
        try (LogLines log = new LogLines()) {
            connect(DEAD, SILENT);
            world.runMs(1_000);
            assertProblem("none of the 2 addresses of node-0 can be used: local:dead: connection failed: ");
            assertProblem("; local:silent: connection failed: no answer in ");
            int lookups = client.transport().lookupCount();
            world.runMs(30_000);
            assertTrue(client.transport().lookupCount() - lookups >= 10, "each try looks the name up");
            assertEquals(1,
                    log.with("none of the 2 addresses").stream().filter(line -> line.contains("): none")).count(),
                    log.with("")::toString);
        }
    }

    @Test
    void oneAddressHasTheWholeTimeoutAndItsOwnText() {
        world = new VirtualWorld(1);
        connect(SILENT);
        world.runMs(980);
        assertNull(status().problem());
        world.runMs(20);
        assertEquals("connection failed: no answer in 1000 ms: local:silent", status().problem());
    }

    @Test
    void theTimesOfManySilentAddressesAreBounded() {
        world = new VirtualWorld(1);
        LocalAddress[] many = IntStream.range(0, 40).mapToObj(i -> DEAD).toArray(LocalAddress[]::new);
        connect(many);
        assertEquals("connection failed", status().problem().substring(0, 17), "equal addresses are one");
        addresses = IntStream.range(0, 40).mapToObj(i -> new LocalAddress("dead-" + i)).toList();
        CONNECTS.clear();
        world.await("next try", 2_000, () -> String.valueOf(status().problem()).contains("none of"));
        assertEquals(16, CONNECTS.stream().filter(one -> one.toString().contains("dead-")).distinct().count());
    }

    @Test
    void aNameThatMovesIsFollowed() {
        world = new VirtualWorld(2);
        connect(place(0), DEAD);
        assertReady(1);
        node(0).crash();
        addresses = List.of(DEAD, place(1));
        world.await("connected to the new address", 3_000, () -> node(1).connectionCount() == 1);
    }

    /** For example, a name of all servers, of which one is the master. */
    @Test
    void anotherAddressIsTriedSoonIfTheServerAtTheFirstOneIsRejected() {
        world = new VirtualWorld(2);
        node(0).redis().role("slave");
        try (LogLines log = new LogLines()) {
            connect(place(0), place(1));
            world.await("connected", 100, () -> node(1).connectionCount() == 1);
            assertEquals(1, log.with(Level.WARNING, "): the server's role is slave")
                    .stream()
                    .filter(line -> line.endsWith("(at " + place(0) + ", one of the 2 addresses of node-0)"))
                    .count(), log.with("")::toString);
        }
        node(0).redis().role("master");
        eachNode(node -> node.redis().modeField("redis_mode:sentinel"));
        node(1).breakConnections();
        world.runMs(1_000);
        int openedCount = node(0).openedCount() + node(1).openedCount();
        world.runMs(12_000);
        int tries = node(0).openedCount() + node(1).openedCount() - openedCount;
        assertTrue(tries <= 6, () -> tries + " tries in 12 s, although only a person can mend both");
    }

    @Test
    void aServerThatHangsInTheHandshakeIsFollowedByTheNextAddress() {
        world = new VirtualWorld(2);
        node(0).pause();
        connect(place(0), place(1));
        world.await("connected", 2_100, () -> node(1).connectionCount() == 1);
    }

    /** Two clients may count them as one node, with locks on different servers. */
    @Test
    void twoServersBehindOneNameAreAWarning() {
        world = new VirtualWorld(2);
        try (LogLines log = new LogLines()) {
            connect(place(0), place(1));
            assertReady(1);
            node(0).breakConnections();
            world.runMs(100);
            assertEquals(0, log.with("two servers").size(), "the same server");
            node(0).crash();
            world.await("second server", 2_000, () -> node(1).connectionCount() == 1);
            world.runMs(100);
            assertEquals(1, log.with(Level.WARNING, "if they are two servers").size(), log.with("")::toString);
        }
    }

    @Test
    void aServerThatRestartsAtItsAddressIsNoWarning() {
        world = new VirtualWorld(1);
        try (LogLines log = new LogLines()) {
            connect(place(0), DEAD);
            assertReady(1);
            node(0).crash();
            world.runMs(100);
            node(0).restart(true);
            world.runMs(3_000);
            assertEquals(0, log.with("two servers").size());
        }
    }

    @Test
    void theSeedOfAClusterHasSeveralAddresses() {
        world = new VirtualWorld(1);
        FakeCluster cluster = new FakeCluster();
        cluster.add(node(0).redis(), "node-0", 1).own(0, 16_383);
        connect(new RedlockContext().nodes("redis-cluster://node-0:1"), SILENT, place(0));
        assertReady(1_000);
        release(lease(client));
    }
}
