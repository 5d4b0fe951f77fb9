package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client for diagnosis shows the same states as others, and leaves no mark that these trust. */
class DiagnosisMarksTest extends VirtualTest {

    private static final String MARK = "node:redlock:fence:run_id";

    private VirtualWorld.Client diagnosis() {
        return client(context().withoutMarks());
    }

    private static void assertStates(VirtualWorld.Client client, NodeState state) {
        List<NodeStatus> nodes = client.redlock().nodes();
        assertEquals(Stream.generate(() -> state).limit(nodes.size()).toList(),
                nodes.stream().map(NodeStatus::state).toList(), nodes::toString);
    }

    private void assertNoKeys() {
        eachNode(node -> assertNull(node.redis().get(MARK)));
    }

    /** A fresh group is young, and old nodes have served their quarantine: both vote at once. */
    @ParameterizedTest
    @ValueSource(longs = {0, 70, 86_400})
    void nodesThatMayVoteAreShownAsReadyAndNotMarked(long uptimeSeconds) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().uptime(uptimeSeconds));
        VirtualWorld.Client diagnosis = diagnosis();
        world.await("all vote", 100, () -> diagnosis.redlock().isQuorumAvailable());
        assertStates(diagnosis, NodeState.READY);
        world.runMs(70_000);
        node(0).breakConnections();
        world.runMs(5_000);
        assertStates(diagnosis, NodeState.READY);
        assertNoKeys();
    }

    @Test
    void theEndOfAQuarantineWritesNoMark() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().uptime(0));
        node(0).redis().set("other", "x", -1);
        VirtualWorld.Client diagnosis = diagnosis();
        world.runMs(1_000);
        assertStates(diagnosis, NodeState.QUARANTINED);
        world.await("the end of the quarantine", 63_000, () -> diagnosis.redlock().isQuorumAvailable());
        world.runMs(1_000);
        assertStates(diagnosis, NodeState.READY);
        assertNoKeys();
    }

    /** Else a node would be shown as ready on which no client gets a vote. */
    @ParameterizedTest
    @ValueSource(strings = {"NOREPLICAS Not enough good replicas to write.", "MISCONF Errors writing to the AOF file",
        "OOM command not allowed when used memory > 'maxmemory'.", "NOPERM User app has no permissions"})
    void freshNodesThatRefuseWritesAreShownAsAClientSeesThem(String error) {
        world = new VirtualWorld(3);
        eachNode(node -> {
            node.redis().uptime(0);
            node.redis().failNext("SET", error, 1_000);
        });
        VirtualWorld.Client other = client(context());
        VirtualWorld.Client diagnosis = diagnosis();
        world.runMs(5_000);
        assertStates(other, NodeState.QUARANTINED);
        assertStates(diagnosis, NodeState.QUARANTINED);
        assertEquals(problems(other), problems(diagnosis));
        assertNoKeys();
    }

    /** Without the time that the quarantine still takes. */
    private static List<String> problems(VirtualWorld.Client client) {
        return client.redlock()
                .nodes()
                .stream()
                .map(node -> String.valueOf(node.problem()).replaceFirst("for another \\d+ s", ""))
                .toList();
    }

    @Test
    void aMarkOfAnotherClientCounts() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().uptime(0));
        node(0).redis().set("other", "x", -1);
        eachNode(node -> node.redis().set(MARK, node.redis().reign(), -1));
        assertStates(diagnosis(), NodeState.READY);
    }

    /** Else a node that has lost the lock would vote, because of a client with a shorter maxTtl. */
    @Test
    void aClientForDiagnosisWithAShorterMaxTtlGivesNoSecondHolder() {
        world = new VirtualWorld(3);
        Duration maxTtl = Duration.ofMinutes(10);
        VirtualWorld.Client holder = client(context().maxTtl(maxTtl));
        Lease held = acquired(acquire(holder, AcquireOptions.ofTtl(Duration.ofMinutes(8)).tryOnce()));
        holder.pause();
        // As if the acquire had not reached node 2.
        node(2).redis().delete("orders");
        node(0).crash();
        node(0).restart(false);
        world.runMs(70_000);
        diagnosis();
        world.runMs(1_000);
        VirtualWorld.Client rival = client(context().maxTtl(maxTtl));
        assertFalse(acquire(rival, options()).isAcquired());
        holder.resume();
        assertTrue(held.isHeld());
    }
}
