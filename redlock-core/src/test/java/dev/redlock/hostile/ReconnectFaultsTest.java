package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeSentinel;
import dev.redlock.sim.VirtualWorld;
import io.netty.buffer.PooledByteBufAllocator;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An exception while a connection ends or starts, as from a heap without memory: the client connects again, and shows
 * until then that the node is down. The clock throws it, because each step reads the clock somewhere in its middle.
 * Each scenario runs once for each of these reads, until the node votes again.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@Tag("jdk")
class ReconnectFaultsTest extends FailingReads {

    private static final int RECONNECT_MS = 5_000;
    private static final String MARK = "node:redlock:fence:run_id";

    private String addresses;
    /** The class and the method whose reads throw; null for all of the nodes. */
    private String step;
    private VirtualWorld.Client client;

    @Override
    protected RedlockContext context() {
        // The flight recorder reads the clock too, and survives what that throws.
        RedlockContext context = new RedlockContext().flightRecorderEvents(0);
        return addresses == null ? context.nodes(world.addresses()) : context.nodes(addresses);
    }

    /** Without the buffers, which survive what they throw themselves, unless one method is tested. */
    @Override
    protected boolean isInStep() {
        List<StackWalker.StackFrame> frames = StackWalker.getInstance().walk(Stream::toList);
        if (step != null) {
            return frames.stream().anyMatch(frame -> step.equals(frame.getClassName() + "." + frame.getMethodName()));
        }
        List<String> classes = frames.stream().map(StackWalker.StackFrame::getClassName).toList();
        return classes.stream().noneMatch(name -> name.contains(".DirectBuffers"))
                && classes.stream().anyMatch(name -> name.startsWith("dev.redlock.node."));
    }

    private void atEachRead(Runnable scenario) {
        throwAtEachRead(() -> {
            scenario.run();
            isArmed = false;
            client.clockListener(() -> {
            });
            assertFalse(hasThrown && !isVoting(), this::text);
            client.engine().close(Duration.ofMillis(100));
            world.runMs(1_000);
            eachNode(node -> assertEquals(0, node.connectionCount(), this::text));
        });
        assertTrue(failingRead > 5, () -> failingRead + " reads");
    }

    private boolean isVoting() {
        boolean isReady = client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.READY);
        return isReady && !client.redlock().isDegraded();
    }

    private String text() {
        return "read " + failingRead + ": " + client.redlock().nodes();
    }

    private void arm(VirtualWorld.Client tested) {
        client = tested;
        client.clockListener(this::onClockRead);
        isArmed = true;
    }

    private void clusterWorld() {
        world = new VirtualWorld(3);
        FakeCluster cluster = new FakeCluster();
        cluster.add(node(0).redis(), "node-0", 1).own(0, 5_460);
        cluster.add(node(1).redis(), "node-1", 1).own(5_461, 10_922);
        cluster.add(node(2).redis(), "node-2", 1).own(10_923, 16_383);
    }

    /** A node without a connection is never shown as one that votes. */
    private void runUntilReconnected() {
        for (int ms = 0; ms < RECONNECT_MS; ms++) {
            world.runMs(1);
            assertTrue(node(0).connectionCount() > 0 || client.redlock().isDegraded(), this::text);
            isArmed &= !isVoting();
        }
        isArmed = false;
        world.runMs(115_000);
    }

    private void assertNodeGrants() {
        Lease lease = lease(client);
        world.runMs(100);
        assertNotNull(key(0), this::text);
        release(lease);
    }

    @Test
    void aNodeWhoseConnectionEndsIsConnectedAgain() {
        atEachRead(() -> {
            arm(world(3));
            node(0).breakConnections();
            runUntilReconnected();
            assertNodeGrants();
        });
    }

    @Test
    void aNodeThatCannotBeReachedForAWhileIsConnectedAgain() {
        atEachRead(() -> {
            arm(world(3));
            node(0).crash();
            world.runMs(50);
            node(0).restart(true);
            runUntilReconnected();
            assertNodeGrants();
        });
    }

    private void armAndOpen() {
        arm(world.newUnconnectedClient("client", context(), 1, PooledByteBufAllocator.DEFAULT));
        client.engine().open();
        runUntilReconnected();
    }

    private void assertOneConnectionEach() {
        eachNode(node -> assertEquals(1, node.connectionCount(), this::text));
    }

    @Test
    void eachNodeIsConnectedAtTheStart() {
        atEachRead(() -> {
            world = new VirtualWorld(3);
            armAndOpen();
            assertNodeGrants();
            assertOneConnectionEach();
        });
    }

    @Test
    void aNodeIsConnectedOnceIfAlsoTheReportOfItsFailureThrows() {
        failingReads = 2;
        atEachRead(() -> {
            world = new VirtualWorld(3);
            armAndOpen();
            assertNodeGrants();
            assertOneConnectionEach();
        });
    }

    private void assertTheMastersAreConnectedOnce() {
        atEachRead(() -> {
            clusterWorld();
            armAndOpen();
            acquired(acquire(client, options()));
            assertOneConnectionEach();
        });
    }

    @Test
    void eachSeedOfAClusterIsConnectedOnceIfAlsoTheReportOfItsFailureThrows() {
        addresses = "redis-cluster://node-0:1,node-1:1,node-2:1";
        failingReads = 2;
        assertTheMastersAreConnectedOnce();
    }

    /** From one read on, each step of the start throws, and so does each try to schedule another one. */
    @Test
    void eachNodeIsConnectedAfterAStartWithoutMemory() {
        atEachRead(() -> {
            world = new VirtualWorld(3);
            arm(world.newUnconnectedClient("client", context(), 1, PooledByteBufAllocator.DEFAULT));
            client.clockListener(this::onClockReadOfStart);
            client.engine().open();
            world.runMs(1);
            client.refuseSchedules(false);
            arm(client);
            runUntilReconnected();
            assertNodeGrants();
            client.engine().close(Duration.ofMillis(100));
        });
    }

    private void onClockReadOfStart() {
        if (hasThrown && isInStep()) {
            throw new OutOfMemoryError("thrown by a test");
        }
        try {
            onClockRead();
        } finally {
            client.refuseSchedules(hasThrown);
        }
    }

    @Test
    void theMastersOfAClusterAreConnectedAtTheStart() {
        addresses = "redis-cluster://node-0:1";
        assertTheMastersAreConnectedOnce();
    }

    @Test
    void aPrimaryThatSentinelsNameIsConnectedAgain() {
        addresses = "redis-sentinel://node-1:1,node-2:1/mymaster";
        atEachRead(() -> {
            world = new VirtualWorld(3);
            FakeSentinel.at(node(1), "node-0");
            FakeSentinel.at(node(2), "node-0");
            VirtualWorld.Client tested = client();
            world.runMs(100);
            arm(tested);
            eachNode(FakeNode::breakConnections);
            runUntilReconnected();
            assertNodeGrants();
        });
    }

    @Test
    void theMastersOfAClusterAreConnectedAgain() {
        addresses = "redis-cluster://node-0:1,node-1:1,node-2:1";
        atEachRead(() -> {
            clusterWorld();
            VirtualWorld.Client tested = client();
            world.runMs(1_000);
            arm(tested);
            eachNode(FakeNode::breakConnections);
            runUntilReconnected();
            acquired(acquire(client, options()));
        });
    }

    /** The node votes in the end, although each step throws once. */
    private void atEachReadOf(String tested, Runnable scenario) {
        step = tested;
        throwAtEachRead(() -> {
            arm(world(3));
            world.runMs(1_000);
            scenario.run();
            world.runMs(120_000);
            isArmed = false;
            assertTrue(isVoting(), this::text);
            assertEquals(node(0).redis().reign(), node(0).redis().get(MARK), this::text);
        });
        assertTrue(failingRead > 1, "no read of the step");
    }

    private void restartEmpty() {
        node(0).crash();
        world.runMs(50);
        node(0).restart(false);
    }

    @Test
    void theEndOfAQuarantineThatThrowsIsTriedAgain() {
        atEachReadOf("dev.redlock.node.Node.onQuarantineEnd", this::restartEmpty);
    }

    @Test
    void aMarkThatIsReadAgainAfterAnErrorIsReadAlthoughThatThrows() {
        atEachReadOf("dev.redlock.node.FirstContact.onTimer", () -> {
            node(0).redis().failNext("GET", "BUSY x", 3);
            node(0).breakConnections();
        });
    }

    @Test
    void aMarkThatIsWrittenAgainAfterAnErrorIsWrittenAlthoughThatThrows() {
        atEachReadOf("dev.redlock.node.FirstContact.onTimer", () -> {
            restartEmpty();
            node(0).redis().failNext("SET", "BUSY x", 3);
        });
    }
}
