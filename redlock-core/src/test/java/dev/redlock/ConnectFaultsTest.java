package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.FakeTransport;
import dev.redlock.sim.LiveNodes;
import dev.redlock.sim.VirtualWorld;
import io.netty.channel.local.LocalChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The machine has no thread or no file descriptor left for a connection: the node is tried again like any other. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ConnectFaultsTest extends VirtualTest {

    /** What a channel does when there are too many open files. */
    public static final class ChannelWithoutFile extends LocalChannel {
        public ChannelWithoutFile() {
            throw new IllegalStateException("too many open files, thrown by a test");
        }
    }

    @Test
    void aLookUpThatThrowsIsTriedAgain() {
        final VirtualWorld.Client client = world(3);
        client.transport().throwAtNextLookup(new OutOfMemoryError("unable to create native thread, thrown by a test"));
        node(0).breakConnections();
        world.runMs(2_000);
        assertEquals(NodeStatus.State.READY, status(client, 0).state(), () -> status(client, 0).toString());
    }

    /** Netty tells of it on a thread of its own, which must not touch what belongs to the event loop. */
    @Test
    void aChannelThatCannotBeMadeIsToldOnTheEventLoop() throws Exception {
        try (LiveNodes nodes = new LiveNodes(1)) {
            final FakeTransport transport = nodes.newTransport();
            transport.channelClass(ChannelWithoutFile.class);
            final Set<Thread> threads = ConcurrentHashMap.newKeySet();
            final TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                    transport, () -> {
                        threads.add(Thread.currentThread());
                        return System.nanoTime();
                    }, 1);
            threads.clear();
            client.open().join();
            final NodeStatus status = client.redlock().nodes().get(0);
            assertTrue(status.problem().contains("cannot be connected"), status.problem());
            nodes.clientLoop().submit(() -> transport.channelClass(LocalChannel.class)).sync();
            Await.until("ready", () -> status.state() == NodeStatus.State.READY);
            final Thread loop = nodes.clientLoop().submit(Thread::currentThread).get();
            assertEquals(Set.of(loop), threads, "who read the clock");
            client.redlock().close();
        }
    }
}
