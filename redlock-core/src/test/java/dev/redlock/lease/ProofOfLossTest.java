package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A node that replies that it does not hold the token is no holder node any more, whatever the other nodes reply. */
class ProofOfLossTest extends VirtualTest {

    private final List<LeaseState> received = new ArrayList<>();

    /** Nodes 0 and 1 hold the lease; node 2 is paused. */
    private Lease leaseOnTwo(VirtualWorld.Client client, AcquireOptions options) {
        node(2).pause();
        Lease lease = acquired(acquire(client, options.listener((lost, state) -> received.add(state))));
        world.runMs(1);
        return lease;
    }

    /** Replaces the key on a node by another holder's. */
    private void lose(int nodeIndex, String how) {
        switch (how) {
            case "foreign" -> node(nodeIndex).redis().set("orders", "another client's", 60_000);
            case "missing" -> node(nodeIndex).redis().delete("orders");
            default -> node(nodeIndex).redis()
                    .failNext("extend", "WRONGTYPE Operation against a key holding the wrong kind of value", 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"foreign", "missing", "of another type"})
    void aRefusalThatLeavesNoQuorumOfHolderNodesLosesTheLease(String how) {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        lose(1, how);
        long startMs = nowMs();
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "node 0 alone holds it");
        assertEquals(startMs, nowMs(), "immediately");
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(List.of(LeaseState.LOST), received, "the listener is notified");
        assertEquals(1, client.redlock().counters().lostCount(), "counted");
        world.runMs(1);
        assertEquals(how.equals("foreign") ? 1 : 0, keyCount(), "the keys of this client are released");
    }

    @Test
    void anAutomaticExtensionDetectsTheLoss() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options().autoExtend());
        lose(1, "foreign");
        world.runMs(3_340);
        assertEquals(LeaseState.LOST, lease.state(), "detected by the first extension, after a third of the ttl");
        assertEquals(List.of(LeaseState.LOST), received, "the listener is notified");
    }

    @Test
    void anErrorUnrelatedToTheKeyIsNotALoss() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        node(1).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "an error proves nothing about the key");
        assertTrue(lease.isHeld(), lease::toString);
    }

    @Test
    void aRefusalThatLeavesAQuorumOfHolderNodesIsNotALoss() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        lose(0, "foreign");
        node(1).pause();
        node(2).pause();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "one refusal, two are silent");
        assertTrue(lease.isHeld(), "nodes 1 and 2 may still hold it: " + lease);
        node(1).resume();
        node(2).resume();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "and they do");
    }

    /** The refusal arrives after the end of the round. */
    @Test
    void aLateRefusalRemovesAHolderNode() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        lose(1, "foreign");
        node(1).delay(() -> 100_000_000);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "the reply of node 1 is pending");
        assertTrue(lease.isHeld(), lease::toString);
        world.runMs(200);
        assertEquals(LeaseState.LOST, lease.state(), "now it has arrived");
    }

    /** The refusal belongs to an older extension, but its proof is still valid. */
    @Test
    void aRefusalOfAnEarlierExtensionRemovesAHolderNode() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        lose(1, "foreign");
        node(1).delay(() -> 50_000_000);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "the reply of node 1 is pending");
        node(1).delay(() -> 200_000_000);
        CompletableFuture<ExtendOutcome> second = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        assertFalse(second.isDone(), "precondition: the second extension is in flight");
        node(1).delay(() -> 0);
        assertEquals(ExtendOutcome.LOST, get(second), "by the reply to the first");
    }

    /** The conditional set fails, and the connection breaks before the script that follows it replies. */
    @ParameterizedTest
    @ValueSource(strings = {"foreign", "missing"})
    void aFailedConditionalSetRemovesAHolderNode(String how) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client(context().commands(CommandMode.NATIVE));
        Lease lease = leaseOnTwo(client, options());
        lose(1, how);
        node(1).delay(() -> 5_000_000);
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(11);
        node(1).breakConnections();
        assertEquals(ExtendOutcome.LOST, get(extended), "node 0 alone holds it");
        assertEquals(0, node(1).redis().commandCount("extend"), "there is no lease to set keys for");
    }

    /** Nodes 0 to 3 of five hold the lease; node 3 loses its key, gets it again, and counts after its next renewal. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aKeySetAgainCountsFromTheNextExtension(int extensions) {
        VirtualWorld.Client client = world(5);
        node(4).pause();
        Lease lease = lease(client);
        world.runMs(1);
        lose(3, "missing");
        for (int i = 0; i < extensions; i++) {
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by a quorum");
            world.runMs(1);
        }
        assertEquals(4, keyCount(), "node 3 has it again");
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertEquals(extensions == 1 ? LeaseState.LOST : LeaseState.HELD, lease.state(), "three are needed");
    }

    /** A node that proves to hold the token is a holder node before the decision of the round. */
    @Test
    void aGrantOfAnUndecidedRoundCompensatesARefusal() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        node(2).resume();
        world.runMs(1);
        node(2).redis().set("orders", node(0).redis().get("orders"), 10_000);
        lose(1, "foreign");
        node(1).delay(() -> 5_000_000);
        node(0).delay(() -> 10_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "nodes 0 and 2 hold it");
    }

    /** Node 2 grants the acquire for ten seconds, but replies after the extension to thirty seconds. */
    @Test
    void aLateGrantOfTheAcquireDoesNotProveALongerValidity() {
        VirtualWorld.Client client = world(3);
        node(2).delay(() -> 20_000_000);
        Lease lease = lease(client);
        node(2).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(30)), "nodes 0 and 1");
        world.runMs(50);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertEquals(LeaseState.LOST, lease.state(), "node 2 keeps the key for ten seconds only");
    }

    @Test
    void aLateGrantOfTheAcquireProvesItsOwnValidity() {
        VirtualWorld.Client client = world(3);
        node(2).delay(() -> 20_000_000);
        Lease lease = lease(client);
        world.runMs(50);
        node(0).redis().clockJump(60_000);
        world.runMs(1_300);
        assertEquals(1, status(client, 0).clockJumpCount(), "the jump is detected");
        assertEquals(LeaseState.HELD, lease.state(), "nodes 1 and 2 hold it");
    }

    /** A reply to a release proves nothing against the lease, which has ended. */
    @Test
    void aRefusedReleaseIsAnOutcomeNotALoss() {
        VirtualWorld.Client client = world(3);
        Lease lease = leaseOnTwo(client, options());
        lose(0, "foreign");
        lose(1, "foreign");
        assertEquals(ReleaseOutcome.EXPIRED, releaseWhileTheThirdReplies(lease), "two do not hold it");
        assertEquals(LeaseState.RELEASED, lease.state());
        assertEquals(List.of(), received, "not a loss");
    }

    private ReleaseOutcome releaseWhileTheThirdReplies(Lease lease) {
        node(2).resume();
        return release(lease);
    }
}
