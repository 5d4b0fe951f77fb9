package dev.redlock.node.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes that show one run_id have one vote together, in any order. Node 0 copies the run_id of node 1. */
class DuplicateRunIdTest extends VirtualTest {

    private VirtualWorld.Client client;

    /** The copy is connected first, or the original. */
    private void copied(boolean isCopyFirst) {
        world = new VirtualWorld(3);
        node(0).redis().runId(node(1).redis().runId());
        int late = isCopyFirst ? 1 : 0;
        node(late).crash();
        client = client();
        world.runMs(2_000);
        node(late).start();
        world.await("all", 3_000,
                () -> client.redlock().nodes().stream().allMatch(node -> node.state() == NodeState.READY));
    }

    private void assertNamed(int node, int other) {
        assertTrue(status(client, node).problem().contains("it has the identity of node " + other + " (node-" + other),
                status(client, node)::toString);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void bothAreNamed(boolean isCopyFirst) {
        try (LogLines log = new LogLines()) {
            copied(isCopyFirst);
            assertNamed(0, 1);
            assertNamed(1, 0);
            assertNull(status(client, 2).problem());
            world.runMs(10_000);
            assertEquals(2, log.with("it has the identity").size(), "lines");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void twoHonestNodesOfThreeDecideWhateverTheCopySays(boolean isCopyFirst) {
        copied(isCopyFirst);
        for (String error : List.of("ERR no", "")) {
            node(0).redis().failNext("SET", error, error.isEmpty() ? 0 : 100);
            Lease lease = lease(client);
            node(0).redis().loseData();
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
            VirtualWorld.Client other = client();
            node(0).redis().loseData();
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind(), "the copy grants");
            assertEquals(ReleaseOutcome.RELEASED, release(lease));
            node(0).redis().clearErrors();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void copyAndOriginalAreNoQuorum(boolean isCopyFirst) {
        copied(isCopyFirst);
        node(2).crash();
        assertFalse(acquire(client, options()).isAcquired(), "two votes of one identity");
        assertFalse(acquire(client, options().fenced()).isAcquired(), "two votes of one identity");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void fencingTokensGrowWhateverTheCopyCounts(boolean isCopyFirst) {
        copied(isCopyFirst);
        long last = 0;
        for (int i = 0; i < 20; i++) {
            int round = i;
            node(0).redis().fencedReply(value -> round % 2 == 0 ? 1 : value + 500);
            Lease lease = acquired(acquire(client, options().fenced()));
            assertTrue(lease.fencingToken() > last, last + " and " + lease.fencingToken());
            last = lease.fencingToken();
            release(lease);
            world.runMs(10);
        }
    }

    /** The copy granted when it was another server. */
    @Test
    void aLeaseOutlivesACopyThatAppears() {
        world = new VirtualWorld(3);
        client = client();
        Lease lease = acquired(acquire(client, options().autoExtend()));
        node(0).redis().runId(node(1).redis().runId());
        node(0).breakConnections();
        world.runMs(130_000);
        assertNamed(0, 1);
        assertTrue(lease.isHeld());
        release(lease);
    }

    @Test
    void aLeaseIsLostWithoutTheThirdNode() {
        copied(true);
        Lease lease = acquired(acquire(client, options().watchLoss()));
        world.runMs(10);
        node(2).redis().delete("orders");
        world.runMs(10_000);
        assertFalse(lease.isHeld());
    }

    @Test
    void aNodeWithItsOwnRunIdAgainVotesAlone() {
        copied(true);
        node(0).redis().newProcess();
        node(0).redis().uptime(86_400);
        node(0).breakConnections();
        world.runMs(65_000);
        assertNull(status(client, 0).problem());
        assertNull(status(client, 1).problem());
        node(2).crash();
        lease(client);
    }

    /** Servers that exchange their addresses must not share an identity forever. */
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
        assertNull(status(client, 0).problem());
        assertNull(status(client, 1).problem());
        lease(client);
    }
}
