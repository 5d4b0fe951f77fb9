package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeTransport;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.VirtualTest;
import io.netty.channel.Channel;
import io.netty.channel.local.LocalChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The machine has no thread or file descriptor for a connection: the client retries the node as after other failures.
 */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ConnectFaultsTest extends VirtualTest {

    /** The failure of a channel when the process has too many open files. */
    public static final class ChannelWithoutFile extends LocalChannel {
        public ChannelWithoutFile() {
            throw new IllegalStateException("too many open files, thrown by a test");
        }
    }

    @Test
    void aLookupThatThrowsIsRetried() {
        VirtualWorld.Client client = world(3);
        client.transport().throwAtNextLookup(new OutOfMemoryError("unable to create native thread, thrown by a test"));
        node(0).breakConnections();
        world.runMs(2_000);
        assertEquals(NodeState.READY, status(client, 0).state(), () -> status(client, 0).toString());
    }

    private void assertReady(VirtualWorld.Client client, long withinMs) {
        world.await("ready", withinMs, () -> status(client, 0).state() == NodeState.READY);
    }

    @Test
    void aLookupWithoutReplyTimesOut() {
        VirtualWorld.Client client = world(3);
        int[] lookups = new int[1];
        client.transport().resolver((found, answer) -> lookups[0]++);
        node(0).breakConnections();
        world.await("timed out", 20_000, () -> status(client, 0).state() == NodeState.WAITING
                && String.valueOf(status(client, 0).problem()).contains("look-up timed out"));
        client.transport().resolver((found, answer) -> answer.accept(found));
        assertReady(client, 2_000);
        assertEquals(1, lookups[0], "lookups in progress");
    }

    /** Each lookup that hangs occupies a thread. */
    @Test
    void lookupsWithoutReplyAreRetriedWithGrowingDelay() {
        VirtualWorld.Client client = world(3);
        int[] lookups = new int[1];
        client.transport().resolver((found, answer) -> lookups[0]++);
        node(0).breakConnections();
        world.runMs(3_600_000);
        assertTrue(lookups[0] > 5 && lookups[0] < 20, lookups[0] + " lookups in an hour");
        client.transport().resolver((found, answer) -> answer.accept(found));
        assertReady(client, 400_000);
    }

    /** A resolver slower than the connect timeout must not keep the node disconnected forever. */
    @Test
    void aLateLookupReplyIsUsedByTheNextTry() {
        VirtualWorld.Client client = world(3);
        client.transport()
                .resolver((found, answer) -> world.after(13_000_000_000L,
                        () -> client.engine().execute(() -> answer.accept(found))));
        node(0).breakConnections();
        assertReady(client, 30_000);
        world.runMs(60_000);
        assertEquals(NodeState.READY, status(client, 0).state(), "later replies change nothing");
        assertEquals(1, node(0).connectionCount());
    }

    /** The files of TLS are read for the present try. */
    @Test
    void aLateLookupReplyIsUsedByTheNextTryOfANodeWithTls() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(new RedlockContext().nodes("rediss://node-0:1"));
        client.transport()
                .resolver((found, answer) -> world.after(13_000_000_000L,
                        () -> client.engine().execute(() -> answer.accept(node(0).place()))));
        world.runMs(14_000);
        long endNs = world.nowNs() + 5_000_000_000L;
        // The files are read on a thread, in real time.
        Await.until("a connection", () -> {
            world.runMs(1);
            return node(0).openedCount() > 0 || world.nowNs() - endNs > 0;
        });
        assertEquals(1, node(0).openedCount());
    }

    @Test
    void aDuplicateLookupReplyOpensOneConnection() {
        VirtualWorld.Client client = world(3);
        client.transport().resolver((found, answer) -> {
            answer.accept(found);
            answer.accept(found);
        });
        int openedBefore = node(0).openedCount();
        node(0).breakConnections();
        assertReady(client, 2_000);
        world.runMs(100);
        assertEquals(1, node(0).openedCount() - openedBefore, "connections that were opened");
        assertEquals(1, node(0).connectionCount());
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)));
    }

    /** The second reply finds the node connected, in its reconnect delay, or closed. */
    @Test
    void aLaterDuplicateLookupReplyIsIgnored() {
        VirtualWorld.Client client = world(3);
        for (long delayMs : new long[]{1, 5, 20, 100, 1_000}) {
            client.transport().resolver((found, answer) -> {
                answer.accept(found);
                world.after(delayMs * 1_000_000,
                        () -> client.engine().execute(() -> answer.accept(null)));
            });
            node(0).crash();
            world.runMs(50);
            node(0).restart(true);
            world.runMs(3_000);
            client.transport().resolver((found, answer) -> answer.accept(found));
            world.runMs(2_000);
            assertTrue(status(client, 0).state().name().matches("READY|QUARANTINED"),
                    () -> delayMs + " ms later: " + status(client, 0));
            assertEquals(1, node(0).connectionCount());
        }
    }

    /** The failure is thrown in a task whose future is not observed. */
    @Test
    void aChannelConstructorThatThrowsIsRetried() {
        VirtualWorld.Client client = world(3);
        client.transport().channelClass((Class<? extends Channel>) null);
        node(0).breakConnections();
        world.runMs(100);
        assertEquals(NodeState.WAITING, status(client, 0).state(), () -> status(client, 0).toString());
        client.transport().channelClass(LocalChannel.class);
        assertReady(client, 2_000);
    }

    /** Netty reports the failure on another thread, which must not change the state of the event loop. */
    @Test
    void aChannelFailureIsReportedOnTheEventLoop() throws Exception {
        try (LiveNodes nodes = new LiveNodes(1)) {
            FakeTransport transport = nodes.newTransport();
            transport.channelClass(ChannelWithoutFile.class);
            Set<Thread> threads = ConcurrentHashMap.newKeySet();
            TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                    transport, () -> {
                        threads.add(Thread.currentThread());
                        return System.nanoTime();
                    }, 1);
            threads.clear();
            client.open().join();
            NodeStatus status = client.redlock().nodes().get(0);
            assertTrue(status.problem().contains("connection failed"), status.problem());
            nodes.clientLoop().submit(() -> transport.channelClass(LocalChannel.class)).sync();
            Await.until("ready", () -> status.state() == NodeState.READY);
            Thread loop = nodes.clientLoop().submit(Thread::currentThread).get();
            assertEquals(Set.of(loop), threads, "threads that read the clock");
            client.redlock().close();
        }
    }
}
