package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts that ask a quorum first: which nodes, the doubt that makes them ask the others, the life of the lease. */
class ThriftyQuorumsTest extends VirtualTest {

    private static final int NODES = 5;
    private static final int QUORUM = 3;
    /** The shortest delay before an attempt asks the other nodes. */
    private static final long HEDGE_NS = 1_000_000;
    /** A time slice. */
    private static final long SLICE_NS = 1 << 20;
    private static final Duration LONG_NODE_TIMEOUT = Duration.ofSeconds(5);

    private VirtualWorld.Client thriftyWorld() {
        world = new VirtualWorld(NODES);
        return client(thrifty());
    }

    private RedlockContext thrifty() {
        return context().thriftyQuorums(true).commands(CommandMode.SCRIPTS);
    }

    /** Runs until the start of a slice in which plain attempts ask the same nodes as in other such slices. */
    private void awaitSlice() {
        long periodNs = NODES * SLICE_NS;
        world.runUntilNs((world.nowNs() / periodNs + 1) * periodNs);
    }

    /** The nodes that a plain attempt now asks first, found by a cycle. */
    private List<Integer> thriftyQuorum(VirtualWorld.Client client) {
        return thriftyQuorum(client, options());
    }

    private List<Integer> thriftyQuorum(VirtualWorld.Client client, AcquireOptions options) {
        awaitSlice();
        Lease lease = acquired(acquire(client, options));
        world.runMs(1);
        List<Integer> first = nodesWithKey();
        release(lease);
        world.runMs(1);
        awaitSlice();
        assertEquals(QUORUM, first.size(), "nodes with a key");
        return first;
    }

    private List<Integer> nodesWithKey() {
        List<Integer> nodes = new ArrayList<>();
        for (int i = 0; i < NODES; i++) {
            if (key(i) != null) {
                nodes.add(i);
            }
        }
        return nodes;
    }

    private List<Integer> without(List<Integer> nodes) {
        List<Integer> others = new ArrayList<>(List.of(0, 1, 2, 3, 4));
        others.removeAll(nodes);
        return others;
    }

    private CompletableFuture<AcquireOutcome> waiting(VirtualWorld.Client client) {
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(10);
        return waiting;
    }

    private static long commands(VirtualWorld.Client client) {
        return client.redlock().counters().commandCount();
    }

    private static long hedges(VirtualWorld.Client client) {
        return client.redlock().counters().hedgedAttemptCount();
    }

    /** Acquires, and returns the time that it took. */
    private long acquireNs(VirtualWorld.Client client) {
        long startNs = world.nowNs();
        lease(client);
        return world.nowNs() - startNs;
    }

    // ---- which nodes ------------------------------------------------------------------------------------------------

    @Test
    void aCycleSendsTwoCommandsToEachNodeOfAQuorum() {
        VirtualWorld.Client client = thriftyWorld();
        Lease lease = lease(client);
        world.runMs(100);
        assertEquals(QUORUM, keyCount());
        assertEquals(QUORUM, commands(client), "the timer of the hedge has stopped");
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        assertEquals(2 * QUORUM, commands(client));
        assertEquals(0, keyCount());
        assertEquals(QUORUM, world.nodes().stream().mapToInt(node -> node.redis().commandCount("release")).sum());
        assertEquals(0, hedges(client));
    }

    @Test
    void locksAreSpreadOverAllNodes() {
        VirtualWorld.Client client = thriftyWorld();
        for (int i = 0; i < 50; i++) {
            acquired(get(client.redlock().acquireAsync("order-" + i, options())));
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        world.runMs(1);
        world.nodes().forEach(node -> {
            int count = node.redis().keys().size();
            assertTrue(count >= 15 && count <= 45, () -> "30 of 50 keys on average: " + count);
        });
    }

    @Test
    void locksOfOneMomentAreOnTheSameNodes() {
        VirtualWorld.Client client = thriftyWorld();
        for (int i = 0; i < 50; i++) {
            client.redlock().acquireAsync("order-" + i, options());
        }
        world.runMs(10);
        assertEquals(QUORUM, world.nodes().stream().filter(node -> node.redis().keys().size() == 50).count());
    }

    @Test
    void locksOfOneSliceAreOnTheSameNodes() {
        VirtualWorld.Client client = thriftyWorld();
        awaitSlice();
        long startNs = world.nowNs();
        for (int i = 0; i < 10; i++) {
            client.redlock().acquireAsync("order-" + i, options());
            world.runUntilNs(startNs + i * (SLICE_NS - 1) / 9);
        }
        world.runMs(10);
        assertEquals(QUORUM, world.nodes().stream().filter(node -> node.redis().keys().size() == 10).count());
    }

    @Test
    void aFencedLockIsOnTheSameNodesEachTime() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client, options().fenced());
        for (int i = 0; i < 2 * NODES; i++) {
            world.runUntilNs(world.nowNs() + SLICE_NS);
            assertEquals(first, thriftyQuorum(client, options().fenced()));
        }
        assertEquals(0, client.redlock().counters().raisedCount());
    }

    @Test
    void aCompetitorMeetsTheHolderOfAFencedLockOnTheSameNodes() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        acquired(acquire(client, options().fenced()));
        AcquireOutcome refused = acquire(other, options().fenced());
        assertEquals(AcquireOutcome.Kind.CONTENDED, refused.kind());
        assertEquals(QUORUM, refused.refusedCount());
        assertEquals(2 * QUORUM, commands(other), "nothing to release; each node that refuses gets a trace");
    }

    @Test
    void competitorsOnDifferentNodesExcludeEachOther() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        for (int i = 0; i < 2 * NODES; i++) {
            Lease lease = lease(client);
            world.runUntilNs(world.nowNs() + SLICE_NS);
            assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
            assertEquals(ReleaseOutcome.RELEASED, release(lease));
            world.runMs(1);
            assertEquals(0, keyCount());
        }
    }

    @Test
    void clientsWithAndWithoutTheOptionExcludeEachOther() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client all = client();
        Lease lease = lease(client);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(all, options()).kind());
        release(lease);
        Lease other = lease(all);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind());
        release(other);
        lease(client);
    }

    @Test
    void aWaiterAsksTheCoordinatorThenAQuorum() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        Lease lease = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiting(other);
        long before = commands(other);
        release(lease);
        world.await("handoff", 10, waiting::isDone);
        acquired(waiting.join());
        world.runMs(10);
        assertEquals(QUORUM, commands(other) - before);
        assertEquals(QUORUM, keyCount());
    }

    @Test
    void aVoterInQuarantineIsNotAsked() {
        VirtualWorld.Client client = thriftyWorld();
        int restarted = thriftyQuorum(client).get(0);
        node(restarted).crash();
        node(restarted).restart(false);
        world.await("quarantine", 5_000, () -> status(client, restarted).state() == NodeState.QUARANTINED);
        awaitSlice();
        assertEquals(0, acquireNs(client));
        world.runMs(1);
        assertEquals(QUORUM, keyCount());
        assertNull(key(restarted));
        assertEquals(0, hedges(client));
    }

    @Test
    void fewerVotersThanAQuorumAreReportedAtOnce() {
        VirtualWorld.Client client = thriftyWorld();
        for (int i = 0; i < QUORUM; i++) {
            node(i).crash();
        }
        world.runMs(10);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertEquals(QUORUM, outcome.failedCount());
    }

    @Test
    void fewerThanThreeNodesAreRejected() {
        RedlockContext context = new RedlockContext().nodes("a:1", "b:1").thriftyQuorums(true);
        String message = assertThrows(IllegalArgumentException.class, () -> TestClient.conclude(context)).getMessage();
        assertEquals("thriftyQuorums is on with 2 nodes, of which a quorum is all: configure three nodes or more, or"
                + " turn it off", message);
    }

    // ---- doubt ------------------------------------------------------------------------------------------------------

    @Test
    void aStalledVoterCostsTheHedgeDelayOnce() {
        VirtualWorld.Client client = thriftyWorld();
        int stalled = thriftyQuorum(client).get(0);
        node(stalled).pause();
        long tookNs = acquireNs(client);
        assertTrue(tookNs >= HEDGE_NS && tookNs <= 2 * HEDGE_NS, () -> tookNs + " ns");
        assertEquals(1, hedges(client));
        assertEquals(NODES - 1, keyCount(), "all others");
        long startNs = world.nowNs();
        for (int i = 0; i < 20; i++) {
            acquired(get(client.redlock().acquireAsync("order-" + i, options())));
        }
        assertEquals(startNs, world.nowNs(), "the late node is left out");
        assertEquals(1, hedges(client));
    }

    @Test
    void anAttemptWithoutValidityAsksNoMoreNodes() {
        VirtualWorld.Client client = thriftyWorld();
        node(thriftyQuorum(client).get(0)).pause();
        long before = commands(client);
        CompletableFuture<AcquireOutcome> attempt = acquireAsync(client,
                AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce());
        client.pause();
        world.runMs(1_000);
        client.resume();
        world.await("outcome", 10, attempt::isDone);
        assertEquals(AcquireOutcome.Kind.TOO_SLOW, attempt.join().kind());
        assertEquals(0, hedges(client));
        assertEquals(2 * QUORUM, commands(client) - before, "the releases");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aVoterThatRepliesAgainIsAskedAgain(int place) {
        VirtualWorld.Client client = thriftyWorld();
        int stalled = thriftyQuorum(client).get(place);
        node(stalled).pause();
        release(lease(client));
        node(stalled).resume();
        world.runMs(10);
        assertTrue(thriftyQuorum(client).contains(stalled));
    }

    /** A stalled node that several attempts wait for must not make the next hedge wait longer for each of them. */
    @Test
    void manyLateAttemptsRaiseTheDelayOnce() {
        VirtualWorld.Client client = thriftyWorld();
        int stalled = thriftyQuorum(client).get(0);
        node(stalled).pause();
        List<CompletableFuture<AcquireOutcome>> pending = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            pending.add(client.redlock().acquireAsync("order-" + i, options()).toCompletableFuture());
        }
        pending.forEach(one -> acquired(get(one)));
        node(stalled).resume();
        world.runMs(10);
        awaitSlice();
        node(stalled).pause();
        long tookNs = acquireNs(client);
        assertTrue(tookNs >= HEDGE_NS && tookNs <= 2 * HEDGE_NS, () -> tookNs + " ns");
    }

    /** Stalls one of the nodes that an attempt asks first, and returns the time of the attempt. */
    private long acquireWithAStalledNodeNs(VirtualWorld.Client client) {
        int stalled = thriftyQuorum(client).get(0);
        node(stalled).pause();
        long startNs = world.nowNs();
        Lease lease = lease(client);
        long tookNs = world.nowNs() - startNs;
        node(stalled).resume();
        world.runMs(10);
        release(lease);
        return tookNs;
    }

    @Test
    void lateAttemptsRaiseTheDelayAndAttemptsInTimeLowerIt() {
        VirtualWorld.Client client = thriftyWorld();
        for (int i = 0; i < 12; i++) {
            acquireWithAStalledNodeNs(client);
        }
        long raisedNs = acquireWithAStalledNodeNs(client);
        assertTrue(raisedNs >= 3 * HEDGE_NS, () -> raisedNs + " ns");
        for (int i = 0; i < 100; i++) {
            world.runUntilNs(world.nowNs() + SLICE_NS);
            for (int k = 0; k < 40; k++) {
                release(lease(client));
            }
        }
        long loweredNs = acquireWithAStalledNodeNs(client);
        assertTrue(loweredNs <= 2 * HEDGE_NS, () -> loweredNs + " ns");
    }

    @Test
    void anErrorMakesTheAttemptAskTheOthersAtOnce() {
        VirtualWorld.Client client = thriftyWorld();
        int failing = thriftyQuorum(client).get(0);
        node(failing).redis().failNext("acquire", "OOM command not allowed when used memory > 'maxmemory'.", 1);
        assertEquals(0, acquireNs(client));
        assertEquals(1, hedges(client));
        world.runMs(1);
        assertEquals(NODES - 1, keyCount());
    }

    @Test
    void aLostConnectionMakesTheAttemptAskTheOthersAtOnce() {
        VirtualWorld.Client client = thriftyWorld();
        int lost = thriftyQuorum(client).get(0);
        node(lost).pause();
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runUntilNs(startNs + HEDGE_NS / 10);
        assertFalse(acquiring.isDone());
        node(lost).breakConnections();
        acquired(get(acquiring));
        assertTrue(world.nowNs() - startNs < HEDGE_NS / 2);
        assertEquals(1, hedges(client));
    }

    @Test
    void aKeyThatIsLeftOnOneNodeDoesNotRefuseTheLock() {
        VirtualWorld.Client client = thriftyWorld();
        int left = thriftyQuorum(client).get(0);
        node(left).redis().set("orders", "another client's", 60_000);
        lease(client);
        assertEquals(1, hedges(client));
    }

    @Test
    void silentNodesEndTheAttemptAtTheNodeTimeout() {
        VirtualWorld.Client client = thriftyWorld();
        eachNode(FakeNode::pause);
        long startNs = world.nowNs();
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertEquals(NODES, outcome.unknownCount());
        assertEquals(NODE_TIMEOUT_MS * 1_000_000, world.nowNs() - startNs);
        assertEquals(1, hedges(client));
    }

    @Test
    void theOthersHaveTheWholeNodeTimeout() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        node(first.get(0)).redis().failNext("acquire", "OOM command not allowed when used memory > 'maxmemory'.", 1);
        without(first).forEach(i -> node(i).delay(() -> 10_000_000));
        assertEquals(20_000_000, acquireNs(client));
        assertEquals(1, hedges(client));
    }

    @Test
    void anErrorOfOneNodeDoesNotWaitForASlowOne() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        node(first.get(0)).redis().failNext("acquire", "OOM command not allowed when used memory > 'maxmemory'.", 1);
        node(first.get(1)).delay(() -> HEDGE_NS * 3 / 8);
        assertEquals(0, acquireNs(client));
        assertEquals(1, hedges(client));
    }

    @Test
    void aHedgeLeavesHalfOfTheNodeTimeoutToTheOthers() {
        world = new VirtualWorld(NODES);
        eachNode(node -> node.delay(() -> 10_000_000));
        VirtualWorld.Client client = client(thrifty());
        // A clock sample: three round trips of 20 ms are longer than half of the node timeout.
        world.runMs(1_100);
        List<Integer> first = thriftyQuorum(client);
        node(first.get(0)).pause();
        long lateNs = acquireNs(client) - (NODE_TIMEOUT_MS / 2 + 20) * 1_000_000;
        assertTrue(lateNs >= 0 && lateNs <= HEDGE_NS, () -> lateNs + " ns");
    }

    @Test
    void aCounterOutOfRangeMakesTheAttemptAskTheOthers() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client, options().fenced());
        Lease earlier = acquired(acquire(client, options().fenced()));
        long now = earlier.fencingToken();
        release(earlier);
        eachNode(node -> node.redis().set(KeyText.counterName("orders"), Long.toString(now + 7), 86_400_000));
        node(first.get(0)).redis().set(KeyText.counterName("orders"), Long.toString((1L << 53) - 11), 86_400_000);
        node(first.get(1)).redis().set(KeyText.counterName("orders"), Long.toString(now + 20), 86_400_000);
        long startNs = world.nowNs();
        Lease lease = acquired(acquire(client, options().fenced()));
        assertEquals(now + 8, lease.fencingToken(), "the others agree with the third");
        assertEquals(startNs, world.nowNs());
        assertEquals(1, hedges(client));
    }

    @Test
    void theOtherFirstNodesHaveTheirDelayAfterASlowCoordinator() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        Lease lease = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiting(other);
        // A push and two round trips: each is shorter than the delay of a hedge, both are longer.
        eachNode(node -> node.delay(() -> HEDGE_NS * 3 / 8));
        long before = hedges(other);
        release(lease);
        acquired(get(waiting));
        world.runMs(10);
        assertEquals(before, hedges(other));
        assertEquals(QUORUM, keyCount());
    }

    @Test
    void theFlightRecordNamesTheNodesThatAreAskedLater() {
        VirtualWorld.Client client = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        Lease lease = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiting(other);
        release(lease);
        acquired(get(waiting));
        List<String> lines = other.redlock().flightRecord().lines().toList();
        assertTrue(lines.stream()
                .dropWhile(line -> !line.contains("a push of node-"))
                .anyMatch(line -> line.matches(".* also asks node-\\d:1, node-\\d:1")),
                () -> String.join("\n", lines));
    }

    @Test
    void theFlightRecordNamesTheNodesThatAHedgeAsks() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        node(first.get(0)).pause();
        lease(client);
        List<Integer> others = without(first);
        String asked = "also asks node-" + others.get(0) + ":1, node-" + others.get(1) + ":1";
        List<String> lines = client.redlock().flightRecord().lines().toList();
        assertTrue(lines.stream().anyMatch(line -> line.endsWith(asked)), () -> String.join("\n", lines));
    }

    /** They have no reply to wait for, so the attempt ends with the last vote of the others. */
    @Test
    void nodesThatVoteSinceTheStartCountAsFailed() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        List<Integer> others = without(first);
        first.forEach(i -> node(i).delay(() -> 20_000_000));
        others.forEach(i -> node(i).breakConnections());
        world.runMs(1);
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runMs(30);
        others.forEach(i -> assertEquals(NodeState.READY, status(client, i).state(), "votes again"));
        node(first.get(0)).breakConnections();
        AcquireOutcome outcome = get(acquiring);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertTrue(world.nowNs() - startNs < NODE_TIMEOUT_MS * 1_000_000, "before the node timeout");
        others.forEach(i -> assertTrue(outcome.voteText(i).startsWith("failed: not connected"), outcome.voteText(i)));
    }

    @Test
    void aClientMayCloseBeforeTheHedge() {
        VirtualWorld.Client client = thriftyWorld();
        node(thriftyQuorum(client).get(0)).pause();
        CompletableFuture<AcquireOutcome> acquiring = acquireAsync(client, options());
        world.runUntilNs(world.nowNs() + HEDGE_NS / 2);
        client.engine().close(Duration.ofMillis(100));
        assertEquals(AcquireOutcome.Kind.CLOSED, get(acquiring).kind());
        long before = commands(client);
        world.runMs(10);
        assertEquals(before, commands(client), "the timer of the hedge has stopped");
    }

    /**
     * The first grants of the attempt may be older than the check that has let the new voter vote: a fresh group that
     * did not see them would give two holders.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anAttemptAsksNoNodeThatVotesSinceItsStart(boolean isThrifty) {
        world = new VirtualWorld(NODES);
        VirtualWorld.Client client = client(thrifty().nodeTimeout(LONG_NODE_TIMEOUT));
        List<Integer> first = thriftyQuorum(client, options().fenced());
        VirtualWorld.Client other = client(isThrifty
                ? thrifty().nodeTimeout(LONG_NODE_TIMEOUT)
                : context().nodeTimeout(LONG_NODE_TIMEOUT).commands(CommandMode.SCRIPTS));
        first.forEach(i -> node(i).delay(() -> 100_000_000));
        world.runMs(3_000);
        int newVoter = without(first).get(0);
        int voter = without(first).get(1);
        CompletableFuture<AcquireOutcome> acquiring;
        if (isThrifty) {
            node(newVoter).breakConnections();
            world.runMs(1);
            acquiring = acquireAsync(other, options().fenced());
            node(first.get(0)).pause();
        } else {
            // The waiter asks the coordinator first, 200 ms after the release.
            Lease lease = acquired(acquire(client, options().fenced()));
            acquiring = acquireAsync(other, options().fenced().waitUpTo(Duration.ofSeconds(60)));
            world.runMs(1_000);
            lease.releaseAsync();
            world.runMs(190);
            node(newVoter).breakConnections();
        }
        world.runMs(100);
        assertEquals(NodeState.READY, status(other, newVoter).state(), "votes again before the others are asked");
        assertFalse(acquiring.isDone());
        acquired(get(acquiring));
        world.runMs(1);
        assertNotNull(key(voter), "asked later");
        assertNull(key(newVoter), "not asked");
    }

    // ---- the lease --------------------------------------------------------------------------------------------------

    @Test
    void releasesOfOneTurnGoToTheirOwnNodes() {
        VirtualWorld.Client client = thriftyWorld();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("order-" + i, options()))));
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        world.runMs(1);
        int[] keyCounts = world.nodes().stream().mapToInt(node -> node.redis().keys().size()).toArray();
        world.nodes().forEach(node -> node.redis().startLog());
        List<CompletableFuture<ReleaseOutcome>> releasing = new ArrayList<>();
        client.call(() -> leases.forEach(lease -> releasing.add(lease.releaseAsync().toCompletableFuture())));
        releasing.forEach(one -> assertEquals(ReleaseOutcome.RELEASED, get(one)));
        assertEquals(2 * 40 * QUORUM, commands(client));
        for (int i = 0; i < NODES; i++) {
            assertEquals(0, node(i).redis().keys().size());
            assertEquals(1, node(i).redis().commandCount("release_many"), "one script call for each node");
            assertTrue(keyCounts[i] < 40);
        }
    }

    @Test
    void anExtensionReachesNodesThatWereNeverAsked() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(1);
        assertEquals(NODES, keyCount());
        node(first.get(0)).crash();
        node(first.get(1)).crash();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the new holders count");
        node(first.get(2)).redis().delete("orders");
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "two holders are left");
    }

    @Test
    void nodesThatAreAskedFirstByAnExtensionAreHoldersAlsoIfTheyReplyLate() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        Lease lease = lease(client);
        world.runMs(1);
        without(first).forEach(i -> node(i).delay(() -> 5_000_000));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(20);
        without(first).forEach(i -> node(i).delay(() -> 0));
        node(first.get(0)).redis().clockJump(3_600_000);
        node(first.get(1)).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.HELD, lease.state(), "three holders are left");
    }

    @Test
    void aNodeThatWasNeverAskedReplacesASilentHolderInTheSameExtension() {
        VirtualWorld.Client client = thriftyWorld();
        List<Integer> first = thriftyQuorum(client);
        Lease lease = lease(client);
        world.runMs(1_000);
        node(first.get(0)).crash();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        assertEquals(validityMs(TTL.toMillis()), lease.remainingValidity().toMillis());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    /** Another client may have held the lock in between, in any order of the replies. */
    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "true, 2", "false, 0", "false, 1", "false, 2"})
    void aFormerHolderThatLostTheKeyLosesTheLease(boolean isFirstReply, int place) {
        VirtualWorld.Client client = thriftyWorld();
        int holder = thriftyQuorum(client).get(place);
        Lease lease = lease(client);
        world.runMs(1);
        node(holder).redis().delete("orders");
        for (int i = 0; i < NODES; i++) {
            boolean isLate = isFirstReply != (i == holder);
            node(i).delay(() -> isLate ? 1_000_000 : 0);
        }
        ExtendOutcome outcome = extend(lease, TTL);
        world.runMs(10);
        assertEquals(isFirstReply ? ExtendOutcome.LOST : ExtendOutcome.EXTENDED, outcome);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(0, keyCount());
    }

    /** The key of a holder that stalls may expire with the validity that the extension has replaced. */
    @Test
    void aHolderThatStallsUntilItsKeyHasExpiredDoesNotLoseTheLease() {
        VirtualWorld.Client client = thriftyWorld();
        int stalled = thriftyQuorum(client).get(0);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce()));
        world.runMs(1);
        node(stalled).pause();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(1_500);
        node(stalled).resume();
        world.runMs(100);
        assertEquals(LeaseState.HELD, lease.state());
    }

    @Test
    void anExtensionNeitherAsksNorCountsANodeInQuarantine() {
        VirtualWorld.Client client = thriftyWorld();
        int restarted = thriftyQuorum(client).get(0);
        Lease lease = lease(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "all nodes hold it");
        world.runMs(1);
        node(restarted).crash();
        node(restarted).restart(false);
        world.await("quarantine", 5_000, () -> status(client, restarted).state() == NodeState.QUARANTINED);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(1);
        assertNull(key(restarted));
        assertEquals(NODES - 1, keyCount());
    }

    @Test
    void anUnreachableHolderGetsItsReleaseLater() {
        VirtualWorld.Client client = thriftyWorld();
        int lost = thriftyQuorum(client).get(0);
        Lease lease = lease(client);
        world.runMs(1);
        node(lost).loseRequests(name -> true);
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "two of three holders have replied");
        node(lost).breakConnections();
        node(lost).loseRequests(name -> false);
        world.runMs(5_000);
        assertEquals(0, keyCount());
    }

    @Test
    void aReleaseDoesNotWaitForNodesThatHadNoAcquire() {
        VirtualWorld.Client client = thriftyWorld();
        int former = thriftyQuorum(client).get(0);
        Lease lease = lease(client);
        world.runMs(1);
        node(former).redis().delete("orders");
        long startMs = nowMs();
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "three of five nodes did not hold the key");
        assertTrue(nowMs() - startMs < 5, () -> nowMs() - startMs + " ms");
        List<String> reports = client.redlock()
                .flightRecord()
                .lines()
                .filter(line -> line.endsWith(" did not hold the key"))
                .toList();
        assertEquals(1, reports.size(), reports::toString);
        assertTrue(reports.get(0).contains("node-" + former + ":1"), reports::toString);
    }

    @Test
    void watchedKeysAreThoseOfTheNodesThatWereAsked() {
        VirtualWorld.Client client = thriftyWorld();
        int holder = thriftyQuorum(client).get(0);
        long before = commands(client);
        Lease lease = acquired(acquire(client, options().watchLoss()));
        world.runMs(1);
        assertEquals(2 * QUORUM, commands(client) - before, "an acquire and a check");
        node(holder).redis().delete("orders");
        world.runMs(1);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void fencingTokensRiseWhateverNodesAreAsked() {
        VirtualWorld.Client client = thriftyWorld();
        long last = 0;
        for (int i = 0; i < 4 * NODES; i++) {
            int stalled = i % NODES;
            node(stalled).pause();
            Lease lease = acquired(acquire(client, options().fenced().waitUpTo(Duration.ofSeconds(10))));
            long before = last;
            assertTrue(lease.fencingToken() > before, () -> lease.fencingToken() + " after " + before);
            last = lease.fencingToken();
            lease.releaseAsync();
            node(stalled).resume();
            world.runMs(10);
        }
    }

    @Test
    void aKeptLockIsReleasedOnItsNodes() {
        VirtualWorld.Client client = thriftyWorld();
        Lease lease = acquired(acquire(client, options().holdAtLeast(Duration.ofSeconds(1))));
        assertEquals(ReleaseOutcome.KEPT, release(lease));
        world.runMs(500);
        assertEquals(QUORUM, keyCount());
        world.runMs(600);
        assertEquals(0, keyCount());
        assertEquals(3 * QUORUM, commands(client), "acquire, shorten, release");
    }

    /** The node that searches has the key of each permit in use: else it would name permits that are not free. */
    @Test
    void theLastFreePermitIsFound() {
        VirtualWorld.Client one = thriftyWorld();
        VirtualWorld.Client other = client(thrifty());
        AcquireOptions permit = options().forPermitOf(5);
        for (int round = 0; round < 100; round++) {
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                leases.add(acquired(acquire(i % 2 == 0 ? one : other, permit)));
                world.runUntilNs(world.nowNs() + SLICE_NS / 3);
            }
            leases.forEach(this::release);
            world.runMs(1);
        }
    }

    @Test
    void aWaiterForAPermitWaitsForItsPush() {
        VirtualWorld.Client holder = thriftyWorld();
        AcquireOptions permit = options().forPermitOf(5);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(acquired(acquire(holder, permit)));
            world.runUntilNs(world.nowNs() + SLICE_NS);
        }
        VirtualWorld.Client waiter = client(thrifty());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(waiter, permit.waitUpTo(Duration.ofSeconds(30)));
        world.runMs(200);
        assertTrue(waiter.redlock().counters().contendedAttemptCount() <= 2, waiter.redlock().counters()::toString);
        leases.get(3).releaseAsync();
        world.runMs(5);
        acquired(waiting.join());
    }

    /** Without wake-ups a random node searches: one of those that attempts ask. */
    @Test
    void oneSearchSeesThatNoPermitIsFree() {
        world = new VirtualWorld(NODES);
        VirtualWorld.Client holder = client(thrifty().wakeUpKeysMax(0));
        VirtualWorld.Client other = client(thrifty().wakeUpKeysMax(0));
        AcquireOptions permit = options().forPermitOf(5);
        for (int i = 0; i < 5; i++) {
            acquired(acquire(holder, permit));
        }
        for (int i = 0; i < 30; i++) {
            AcquireOutcome outcome = acquire(other, permit);
            assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind());
            assertEquals(2, outcome.attemptCount(), "one refusal and one search");
        }
    }
}
