package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import io.netty.buffer.ByteBuf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node that was flushed or restarted holds no lease that it has granted before. */
class LostKeysTest extends VirtualTest {

    /** A push, and the timer of a flood. */
    private static final long REPORTED_MS = 1;
    private static final long RECONNECTED_MS = 200;

    private final List<LeaseState> lost = new ArrayList<>();

    /** Nodes 0 and 1 hold the lease; node 2 has not answered. */
    private Lease leaseOnTwo(VirtualWorld.Client client) {
        node(2).pause();
        Lease lease = leaseOnAll(client);
        world.runMs(1);
        return lease;
    }

    private Lease leaseOnAll(VirtualWorld.Client client) {
        Lease lease = acquired(acquire(client, options().listener((ended, state) -> lost.add(state))));
        world.runMs(1);
        return lease;
    }

    // ---- flushes ----------------------------------------------------------------------------------------------------

    @Test
    void aFlushThatLeavesNoQuorumOfHoldersLosesTheLease() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = leaseOnTwo(client);
        node(1).redis().flushAll();
        world.runUntilNs(world.nowNs() + LINK_NS);
        assertEquals(LeaseState.LOST, lease.state(), "as soon as the push arrives");
        assertEquals(List.of(LeaseState.LOST), lost);
        assertTrue(client.redlock().flightRecord().contains("a database of a node was flushed, so it may lack the key"),
                () -> client.redlock().flightRecord());
    }

    @Test
    void theFlushOfOneHolderOfThreeLosesNoLease() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = leaseOnAll(client);
        node(0).redis().flushAll();
        world.runMs(REPORTED_MS);
        assertTrue(lease.isHeld());
        node(2).redis().flushAll();
        world.runMs(REPORTED_MS);
        assertEquals(LeaseState.LOST, lease.state(), "one holder is left");
    }

    /** The extension after the flush sets the key again, and the next one finds it. */
    @Test
    void aFlushedNodeHoldsTheLeaseAgainAfterTwoExtensions() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = leaseOnAll(client);
        node(0).redis().flushAll();
        world.runMs(REPORTED_MS);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(REPORTED_MS);
        node(1).redis().flushAll();
        world.runMs(REPORTED_MS);
        assertTrue(lease.isHeld(), "nodes 0 and 2 hold it");
    }

    @Test
    void aGrantAfterTheFlushCounts() {
        VirtualWorld.Client client = slowWorld(3);
        eachNode(node -> node.redis().flushAll());
        Lease lease = leaseOnTwo(client);
        assertTrue(lease.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void aRoundThatIsNotDecidedForgetsTheGrantOfAFlushedNode() {
        VirtualWorld.Client client = slowWorld(3);
        node(1).pause();
        node(2).pause();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runMs(1);
        node(0).redis().flushAll();
        world.runMs(REPORTED_MS);
        node(1).resume();
        AcquireOutcome outcome = get(acquiring);
        assertNotEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(), "node 1 alone has the key");
        assertTrue(outcome.toString().contains("a database of it was flushed, or it was restarted"), outcome::toString);
    }

    @Test
    void anExtensionThatIsNotDecidedForgetsTheVoteOfAFlushedNode() {
        VirtualWorld.Client client = slowWorld(5);
        Lease lease = leaseOnAll(client);
        for (int i = 2; i < 5; i++) {
            node(i).pause();
        }
        CompletableFuture<ExtendOutcome> extending = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(1);
        node(0).redis().flushAll();
        world.runMs(REPORTED_MS);
        node(2).resume();
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(extending), "nodes 1 and 2 have extended it");
        assertTrue(lease.isHeld(), "nodes 1 to 4 hold it");
    }

    /** Each report costs a look at all leases and all waiters. */
    @Test
    void aFloodOfFlushesIsReportedRarely() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = leaseOnAll(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(Duration.ofSeconds(9)));
        world.runMs(100);
        int before = attempts();
        for (int i = 0; i < 500; i++) {
            eachNode(node -> node.pushInvalidation(other::isNamed, null));
            world.runUntilNs(world.nowNs() + 20_000);
        }
        int count = attempts() - before;
        assertTrue(count <= 8, () -> count + " attempts in 10 ms");
        handoffUs(holder, waiting);
    }

    private int attempts() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("acquire")).sum();
    }

    // ---- reconnects -------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aRestartedNodeIsNoHolderUnlessItKeepsItsKeys(RestartGuardMode mode) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(mode));
        Lease lease = leaseOnTwo(client);
        node(1).crash();
        node(1).restart(true);
        world.runMs(RECONNECTED_MS);
        assertEquals(mode == RestartGuardMode.OFF ? LeaseState.HELD : LeaseState.LOST, lease.state());
        if (mode != RestartGuardMode.OFF) {
            assertTrue(client.redlock().flightRecord().contains("a node was restarted and may lack the key"));
        }
    }

    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aNodeThatWasFlushedWhileItWasNotConnectedIsNoHolder(RestartGuardMode mode) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(mode));
        Lease lease = leaseOnTwo(client);
        node(1).breakConnections();
        node(1).redis().flushAll();
        world.runMs(RECONNECTED_MS);
        assertEquals(LeaseState.LOST, lease.state());
    }

    /** The connection has asked for pushes already, and its lock commands follow after the handshake. */
    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aFlushDuringAHandshakeIsReportedAfterIt(RestartGuardMode mode) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(mode));
        Lease lease = leaseOnTwo(client);
        node(1).hostility(new FakeNode.Hostility() {
            @Override
            public void onOpened(FakeNode.Wire wire) {
                wire.send(">2\r\n$10\r\ninvalidate\r\n_\r\n");
            }

            @Override
            public void onRequest(FakeNode.Wire wire, List<String> words, ByteBuf honest) {
                wire.send(honest);
            }
        });
        node(1).breakConnections();
        world.runMs(RECONNECTED_MS);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void aNodeThatHasItsKeysAfterAReconnectStaysAHolder(RestartGuardMode mode) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().restartGuard(mode));
        Lease lease = leaseOnTwo(client);
        for (int i = 0; i < 3; i++) {
            node(0).breakConnections();
            node(1).breakConnections();
            world.runMs(RECONNECTED_MS);
        }
        assertTrue(lease.isHeld());
        assertFalse(client.redlock().flightRecord().contains("is no holder any more"));
    }
}
