package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Thrifty quorums over two masters, nodes 0 and 1, and a cluster of two masters, nodes 2 and 3. */
class ThriftyClusterTest extends VirtualTest {

    private static final int QUORUM = 2;
    private static final int SLOT = FakeCluster.slotOf("orders");
    /** A time slice. */
    private static final long SLICE_NS = 1 << 20;
    private static final long SILENCE_NS = ClusterTest.silenceMs(15_000) * 1_000_000;

    private FakeCluster cluster;
    private FakeCluster.Member first;
    private FakeCluster.Member second;

    private void startCluster() {
        world = new VirtualWorld(4);
        cluster = new FakeCluster();
        first = cluster.add(node(2).redis(), "node-2", 1).own(0, 8_191);
        second = cluster.add(node(3).redis(), "node-3", 1).own(8_192, 16_383);
        if (second.owns(SLOT)) {
            FakeCluster.Member owner = second;
            second = first;
            first = owner;
        }
    }

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes("node-0:1", "node-1:1", "redis-cluster://node-2:1,node-3:1")
                .thriftyQuorums(true);
    }

    private VirtualWorld.Client scriptedClient() {
        startCluster();
        return client(context().commands(CommandMode.SCRIPTS));
    }

    private Lease lease(VirtualWorld.Client client, String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options())));
    }

    /** Acquires locks in different time slices, whose first voters differ. */
    private List<Lease> leases(VirtualWorld.Client client, List<String> resources) {
        List<Lease> leases = new ArrayList<>();
        for (String resource : resources) {
            leases.add(lease(client, resource));
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        world.runMs(1);
        return leases;
    }

    /** Resources of one slot. */
    private static List<String> together(int count) {
        List<String> resources = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            resources.add("{orders}" + i);
        }
        return resources;
    }

    private void releaseInOneTurn(VirtualWorld.Client client, List<Lease> leases) {
        List<CompletableFuture<ReleaseOutcome>> releasing = new ArrayList<>();
        client.call(() -> leases.forEach(lease -> releasing.add(lease.releaseAsync().toCompletableFuture())));
        world.runMs(10);
        releasing.forEach(one -> assertEquals(ReleaseOutcome.RELEASED, one.getNow(null)));
        eachNode(node -> assertTrue(node.redis().allKeys().isEmpty(), () -> node + ": " + node.redis().allKeys()));
    }

    private static long commands(VirtualWorld.Client client) {
        return client.redlock().counters().commandCount();
    }

    private static long hedges(VirtualWorld.Client client) {
        return client.redlock().counters().hedgedAttemptCount();
    }

    private int acquireCount(FakeCluster.Member member) {
        return member.redis().commandCount("acquire");
    }

    /** Asks for locks until the cluster redirects one, and returns the time. */
    private long findMove(VirtualWorld.Client client) {
        for (int i = 0; i < 2 * 3; i++) {
            Lease lease = lease(client, "{orders}find" + i);
            if (first.redis().commandCount("MOVED") > 0) {
                long foundNs = world.nowNs();
                release(lease);
                return foundNs;
            }
            release(lease);
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        throw new AssertionError("the cluster was not asked");
    }

    // ---- a silent slot ----------------------------------------------------------------------------------------------

    @Test
    void aSilentClusterIsNotAsked() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        findMove(client);
        world.runMs(10);
        long hedgesBefore = hedges(client);
        long commandsBefore = commands(client);
        List<Lease> leases = leases(client, together(20));
        assertEquals(hedgesBefore, hedges(client));
        assertEquals(20 * QUORUM, commands(client) - commandsBefore);
        assertEquals(0, acquireCount(second));
        releaseInOneTurn(client, leases);
        assertEquals(2 * 20 * QUORUM, commands(client) - commandsBefore);
    }

    @Test
    void aContendedAttemptDoesNotAskASilentCluster() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        findMove(client);
        world.runMs(10);
        long hedgesBefore = hedges(client);
        for (int i = 0; i < 20; i++) {
            release(acquired(get(client.redlock().acquireAsync("{orders}" + i, options().fenced()))));
        }
        assertEquals(hedgesBefore, hedges(client));
        assertEquals(0, second.redis().commandCount("acquire_fenced"));
    }

    @Test
    void otherSlotsOfTheClusterAreAsked() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        findMove(client);
        int before = acquireCount(first) + acquireCount(second);
        for (int i = 0; i < 20; i++) {
            release(lease(client, "other-" + i));
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        int askedCount = acquireCount(first) + acquireCount(second) - before;
        assertTrue(askedCount >= 5, () -> askedCount + " of 20");
    }

    /** The first grants of an attempt are older than the end of the silence. */
    @Test
    void anAttemptAsksNoClusterWhoseSilenceEndsAfterItsStart() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        long endNs = findMove(client) + SILENCE_NS;
        world.runUntilNs(endNs - 500_000);
        node(1).pause();
        long hedgesBefore = hedges(client);
        AcquireOutcome outcome = acquire(client, options());
        assertTrue(world.nowNs() > endNs + 500_000, "the others were asked after the end");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertEquals(hedgesBefore + 1, hedges(client));
        assertEquals(0, acquireCount(second), "not asked");
        acquired(acquire(client, options()));
        assertEquals(1, acquireCount(second), "an attempt that starts later asks the cluster");
        node(1).resume();
    }

    @Test
    void aSilentClusterDoesNotDelayTheOutcome() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        findMove(client);
        world.runMs(10);
        node(1).pause();
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runUntilNs(startNs + 100_000);
        node(1).breakConnections();
        AcquireOutcome outcome = get(acquiring);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertEquals("failed: silent: the slot has a new owner or is being moved", outcome.voteText(2));
        assertTrue(world.nowNs() - startNs < NODE_TIMEOUT_MS * 1_000_000, "before the node timeout");
    }

    // ---- releases ---------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void releasesGoToTheVotersThatWereAsked(FakeRedis.Kind kind) {
        startCluster();
        world.nodes().forEach(node -> node.redis().kind(kind));
        VirtualWorld.Client client = client(context());
        List<String> resources = new ArrayList<>(together(12));
        for (int i = 0; i < 12; i++) {
            resources.add("other-" + i);
        }
        List<Lease> leases = leases(client, resources);
        assertEquals(resources.size() * QUORUM, commands(client));
        eachNode(node -> node.redis().startLog());
        int keyCount = world.nodes().stream().mapToInt(node -> node.redis().allKeys().size()).sum();
        assertEquals(resources.size() * QUORUM, keyCount);
        releaseInOneTurn(client, leases);
        assertEquals(2 * resources.size() * QUORUM, commands(client));
        List<String> missed = new ArrayList<>();
        eachNode(node -> node.redis().log().stream().filter(line -> line.endsWith("-> 0")).forEach(missed::add));
        assertEquals(List.of(), missed, "releases without a key");
        eachNode(node -> assertEquals(0, node.redis().commandCount("CROSSSLOT")));
    }

    @Test
    void aRedirectedBatchHasTheLocksOfTheClusterOnly() {
        VirtualWorld.Client client = scriptedClient();
        List<Lease> leases = leases(client, together(9));
        int lockedCount = first.redis().allKeys().size();
        assertTrue(lockedCount > 1 && lockedCount < 9, () -> lockedCount + " of 9");
        cluster.move(SLOT, first, second);
        long before = commands(client);
        releaseInOneTurn(client, leases);
        assertEquals(1, first.redis().commandCount("MOVED"));
        assertEquals(lockedCount, second.redis().commandCount("release"));
        assertEquals(9 * QUORUM, commands(client) - before);
    }

    /** The first release of the batch has all its outcomes before node 1 is reported, which it was not for. */
    @Test
    void releasesThatNoVoterGetsAreReported() {
        VirtualWorld.Client client = scriptedClient();
        List<String> resources = together(9);
        List<Lease> leases = leases(client, resources);
        List<Lease> ordered = new ArrayList<>();
        for (int i = 0; i < leases.size(); i++) {
            boolean isOnNode1 = node(1).redis().get(resources.get(i)) != null;
            ordered.add(isOnNode1 ? ordered.size() : 0, leases.get(i));
        }
        eachNode(FakeNode::crash);
        world.runMs(10);
        List<CompletableFuture<ReleaseOutcome>> releasing = new ArrayList<>();
        client.call(() -> ordered.forEach(lease -> releasing.add(lease.releaseAsync().toCompletableFuture())));
        world.runMs(10);
        releasing.forEach(one -> assertEquals(ReleaseOutcome.UNKNOWN, one.getNow(null)));
    }

    // ---- extensions -------------------------------------------------------------------------------------------------

    @Test
    void anExtensionAsksASilentClusterWhenItsSilenceIsOver() {
        VirtualWorld.Client client = scriptedClient();
        cluster.move(SLOT, first, second);
        long endNs = findMove(client) + SILENCE_NS;
        Lease lease = lease(client);
        while (world.nowNs() < endNs - 5_000_000_000L) {
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
            world.runMs(1);
            assertNull(second.redis().get("orders"), "a silent cluster gets no extension");
            world.runMs(4_000);
        }
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runUntilNs(endNs + 1_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(1);
        assertNotNull(second.redis().get("orders"), "the cluster votes");
        node(0).crash();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the new holder counts");
    }
}
