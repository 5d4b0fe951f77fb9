package dev.redlock.failover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.FakeCluster;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A cluster as one voter of three: nodes 0 and 1 are masters of their own, nodes 2 to 4 the masters of the cluster. */
class ClusterTest extends VirtualTest {

    private static final String CLUSTER = "redis-cluster://node-2:1";
    private static final int SLOT = FakeCluster.slotOf("orders");
    private static final long MAX_TTL_MS = 60_000;
    private static final long SILENCE_MS = silenceMs(15_000);

    private FakeCluster cluster;
    private FakeCluster.Member first;
    private FakeCluster.Member second;
    private FakeCluster.Member third;
    private FakeCluster.Member spare;

    /**
     * A deposed master serves for 1.5 times the node timeout and 2.5 s, and a paused one answers a request of 3 s ago.
     * With the drift of one percent and 2 ms, and a second for the rounding.
     */
    static long silenceMs(long nodeTimeoutMs) {
        return (MAX_TTL_MS + nodeTimeoutMs * 3 / 2 + 2_500 + 3_000) * 101 / 100 + 2 + 1_000;
    }

    private VirtualWorld.Client clusterWorld() {
        startCluster();
        return client(context());
    }

    private void startCluster() {
        world = new VirtualWorld(6);
        cluster = new FakeCluster();
        first = join(2).own(0, 5_460);
        second = join(3).own(5_461, 10_922);
        third = join(4).own(10_923, 16_383);
        spare = join(5);
    }

    private FakeCluster.Member join(int index) {
        return cluster.add(node(index).redis(), "node-" + index, 1);
    }

    @Override
    protected RedlockContext context() {
        return new RedlockContext().nodes("node-0:1", "node-1:1", CLUSTER);
    }

    private RedlockContext clusterAlone() {
        return new RedlockContext().nodes(CLUSTER);
    }

    private Lease lease(VirtualWorld.Client client, String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options())));
    }

    private String resourceOf(FakeCluster.Member owner, int number) {
        int first = owner == this.first ? 0 : owner == second ? 5_461 : 10_923;
        for (int i = number * 1_000;; i++) {
            int slot = FakeCluster.slotOf("r" + i);
            if (slot >= first && slot <= first + 5_000) {
                return "r" + i;
            }
        }
    }

    /** The vote of the cluster on a new lock, or the reason why there is none. The other nodes vote later. */
    private String voteOfCluster(VirtualWorld.Client client) {
        List.of(0, 1).forEach(i -> node(i).delay(() -> 1_000_000));
        AcquireOutcome outcome = acquire(client, options());
        if (outcome.isAcquired()) {
            release(outcome.lease());
        }
        world.runMs(10);
        List.of(0, 1).forEach(i -> node(i).delay(() -> 0));
        return outcome.voteText(2);
    }

    // ---- routing ----------------------------------------------------------------------------------------------------

    @Test
    void eachKeyIsOnTheMasterThatOwnsItsSlot() {
        VirtualWorld.Client client = clusterWorld();
        for (FakeCluster.Member owner : List.of(first, second, third)) {
            for (int i = 0; i < 3; i++) {
                String resource = resourceOf(owner, i);
                Lease lease = lease(client, resource);
                world.runMs(1);
                for (FakeCluster.Member member : List.of(first, second, third, spare)) {
                    assertEquals(member == owner, member.redis().get(resource) != null,
                            resource + " on " + member.redis());
                }
                assertNotNull(node(0).redis().get(resource));
                assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
                assertEquals(ReleaseOutcome.RELEASED, release(lease));
                world.runMs(1);
                assertNull(owner.redis().get(resource));
            }
        }
    }

    @Test
    void aSetNeedsOneHashTag() {
        VirtualWorld.Client client = clusterWorld();
        for (String tag : List.of("a", "b", "c")) {
            List<String> resources = List.of("{" + tag + "}/1", "{" + tag + "}/2", "{" + tag + "}/3");
            for (AcquireOptions options : List.of(options(), options().fenced())) {
                Lease lease = acquired(get(client.redlock().acquireAllAsync(resources, options)));
                assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
                assertEquals(ReleaseOutcome.RELEASED, release(lease));
            }
        }
        List<String> sorted = List.of(resourceOf(first, 1), resourceOf(second, 1)).stream().sorted().toList();
        String one = sorted.get(0);
        String other = sorted.get(1);
        Refusal.ofArgument("resources [" + one + ", " + other + "] are in different slots of a cluster: \"" + one
                + "\" in " + FakeCluster.slotOf(one) + ", \"" + other + "\" in " + FakeCluster.slotOf(other)
                + "; give all resources of a set one hash tag, such as {tag}",
                () -> client.redlock().acquireAllAsync(List.of(one, other), options()));
    }

    @Test
    void thePermitsOfASemaphoreAreOnOneMaster() {
        VirtualWorld.Client client = clusterWorld();
        for (FakeCluster.Member owner : List.of(first, second, third)) {
            String resource = resourceOf(owner, 3);
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                leases.add(acquired(get(client.redlock().acquireAsync(resource, options().forPermitOf(4)))));
            }
            world.runMs(5);
            assertEquals(4, owner.redis().keys().size(), () -> owner.redis().keys().toString());
            var waiting = client().redlock().acquireAsync(resource, options().forPermitOf(4).waitUpTo(TTL));
            world.runMs(50);
            leases.forEach(this::release);
            assertEquals(ReleaseOutcome.RELEASED, release(acquired(get(waiting))));
            world.runMs(5);
        }
        Refusal.ofArgument("resource \"{a\" has a brace but no hash tag, so its permits are in different slots of a"
                + " cluster: remove the brace, or write a complete {tag}",
                () -> client.redlock().acquireAsync("{a", options().forPermitOf(4)));
    }

    @Test
    void readersAndWritersFollowTheirSlot() {
        VirtualWorld.Client client = clusterWorld();
        for (FakeCluster.Member owner : List.of(first, second, third)) {
            String resource = resourceOf(owner, 2);
            Lease read = acquired(get(client.redlock().acquireAsync(resource, options().forReading())));
            // The master may have loaded the script after the decision: the extension adds the entry.
            assertEquals(ExtendOutcome.EXTENDED, extend(read, TTL));
            world.runMs(5);
            assertNotNull(owner.redis().get(resource));
            var writing = client.redlock().acquireAsync(resource, options().forWriting().waitUpTo(TTL));
            world.runMs(50);
            release(read);
            Lease written = acquired(get(writing));
            assertEquals(ExtendOutcome.EXTENDED, extend(written, TTL));
            assertEquals(ReleaseOutcome.RELEASED, release(written));
        }
    }

    @Test
    void aClusterAloneGivesTheLock() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone().restartGuard(RestartGuardMode.OFF));
        Lease lease = lease(client, "orders");
        assertNotNull(first.redis().get("orders"));
        VirtualWorld.Client other = client(clusterAlone());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        lease(other, "orders");
    }

    /** The promoted replica may lack locks, whatever the nodes keep in a restart. */
    @ParameterizedTest
    @EnumSource(RestartGuardMode.class)
    void noModeOfTheRestartGuardEndsTheSilence(RestartGuardMode mode) {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone().restartGuard(mode));
        Lease held = lease(client, "orders");
        node(2).crash();
        cluster.failOver(first, spare, false);
        try (LogLines log = new LogLines()) {
            long startMs = nowMs();
            world.await("the line", 20_000, () -> !log.with(Level.WARNING, "no quorum votes").isEmpty());
            world.await("the new master", 20_000, () -> client.redlock()
                    .nodes()
                    .stream()
                    .anyMatch(node -> node.address().equals("node-5:1") && node.state() == NodeState.QUARANTINED));
            world.runMs(SILENCE_MS - (nowMs() - startMs) - 1_000);
            assertFalse(held.isHeld());
            assertFalse(acquire(client, options()).isAcquired());
            world.runMs(25_000);
            lease(client, "orders");
            assertEquals(List.of(), log.with(Level.WARNING, "which is OFF"), "no advice to change it");
        }
    }

    /** A cluster sends no messages to clients that wait. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aWaiterThatDiesLeavesTheLockToTheNextOne(boolean isAlone) {
        startCluster();
        VirtualWorld.Client owner = client(isAlone ? clusterAlone() : context());
        VirtualWorld.Client dead = client(isAlone ? clusterAlone() : context());
        VirtualWorld.Client next = client(isAlone ? clusterAlone() : context());
        world.nodes().forEach(node -> node.delay(() -> LINK_NS));
        world.runMs(2_000);
        Lease lease = lease(owner, "orders");
        acquireAsync(dead, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(5);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(next, options().waitUpTo(Duration.ofSeconds(60)));
        world.runMs(300);
        dead.kill();
        world.runMs(10);
        lease.releaseAsync();
        world.await("the lock", 200, waiting::isDone);
        acquired(waiting.join());
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void fencingCountersAreInTheSlotOfTheLock(FakeRedis.Kind kind) {
        startCluster();
        world.nodes().forEach(node -> node.redis().kind(kind));
        VirtualWorld.Client client = client(context());
        long last = 0;
        for (String resource : List.of("orders", "orders", "{a}b", "x{a}", "a{}b")) {
            if (resource.equals("a{}b")) {
                IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                        () -> client.redlock().acquireAsync(resource, options().fenced()));
                assertTrue(e.getMessage().contains("another slot"), e.getMessage());
                continue;
            }
            Lease lease = acquired(get(client.redlock().acquireAsync(resource, options().fenced())));
            assertTrue(lease.fencingToken() > (resource.equals("orders") ? last : 0));
            last = lease.fencingToken();
            release(lease);
            world.runMs(1);
        }
        assertTrue(first.redis().counter("orders") > 0);
        eachNode(node -> assertEquals(0, node.redis().commandCount("CROSSSLOT")));
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void releasesGoTogetherForEachSlotOnly(FakeRedis.Kind kind) {
        startCluster();
        world.nodes().forEach(node -> node.redis().kind(kind));
        VirtualWorld.Client client = client(context());
        List<Lease> leases = new ArrayList<>();
        List<String> resources = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            resources.add("{orders}" + i);
            resources.add(resourceOf(first, i));
            resources.add(resourceOf(third, i));
        }
        resources.forEach(resource -> leases.add(lease(client, resource)));
        world.runMs(1);
        List<CompletableFuture<ReleaseOutcome>> released = new ArrayList<>();
        client.call(() -> leases.forEach(lease -> released.add(lease.releaseAsync().toCompletableFuture())));
        world.runMs(10);
        released.forEach(future -> assertEquals(ReleaseOutcome.RELEASED, future.getNow(null)));
        eachNode(node -> assertTrue(node.redis().keys().isEmpty(), () -> node + ": " + node.redis().keys()));
        eachNode(node -> assertEquals(0, node.redis().commandCount("CROSSSLOT")));
        boolean isNative = kind == FakeRedis.Kind.REDIS_8_4 || kind == FakeRedis.Kind.VALKEY_9;
        assertEquals(isNative ? 0 : 1, first.redis().commandCount("release_many"), "one call for the keys of one slot");
        assertEquals(isNative ? 0 : 10, first.redis().commandCount("release"));
        assertEquals(isNative ? 0 : 1, node(0).redis().commandCount("release_many"), "one call for all keys");
    }

    private List<CompletableFuture<ExtendOutcome>> extendTogether(VirtualWorld.Client client, List<Lease> leases) {
        List<CompletableFuture<ExtendOutcome>> extending = new ArrayList<>();
        client.call(() -> leases.forEach(lease -> extending.add(lease.extendAsync(TTL).toCompletableFuture())));
        world.runMs(10);
        return extending;
    }

    @Test
    void extensionsAreBatchedForEachSlot() {
        VirtualWorld.Client client = clusterWorld();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            leases.add(lease(client, "{orders}" + i));
            leases.add(lease(client, resourceOf(third, i)));
        }
        world.runMs(1);
        extendTogether(client, leases).forEach(one -> assertEquals(ExtendOutcome.EXTENDED, one.getNow(null)));
        eachNode(node -> assertEquals(0, node.redis().commandCount("CROSSSLOT")));
        assertEquals(1, first.redis().commandCount("extend_many"), "one call for the keys of one slot");
        assertEquals(0, first.redis().commandCount("extend"));
        assertEquals(10, third.redis().commandCount("extend"), "a slot each");
        assertEquals(1, node(0).redis().commandCount("extend_many"), "one call for all keys");
    }

    @Test
    void aBatchOfExtensionsMeetsAMovedSlot() {
        VirtualWorld.Client client = clusterWorld();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            leases.add(lease(client, "{orders}" + i));
        }
        world.runMs(1);
        cluster.move(SLOT, first, second);
        int[] movedCounts = {1, 1};
        for (int movedCount : movedCounts) {
            extendTogether(client, leases).forEach(one -> assertEquals(ExtendOutcome.EXTENDED, one.getNow(null)));
            assertEquals(movedCount, first.redis().commandCount("MOVED"), "once: then the slot is silent");
            assertEquals(0, second.redis().commandCount("extend") + second.redis().commandCount("extend_many"));
        }
        assertEquals(2, node(0).redis().commandCount("extend_many"), "the other voters get batches");
        world.runMs(10);
        assertEquals(0, client.redlock().counters().lostCount());
    }

    @Test
    void statusListsTheMastersOfTheCluster() {
        VirtualWorld.Client client = clusterWorld();
        List<NodeStatus> nodes = client.redlock().nodes();
        assertEquals(List.of("node-0:1", "node-1:1", "node-2:1", "node-3:1", "node-4:1"),
                nodes.stream().map(NodeStatus::address).toList());
        assertEquals(List.of(0, 1, 2, 2, 2), nodes.stream().map(NodeStatus::index).toList());
        nodes.forEach(node -> assertEquals(NodeState.READY, node.state(), node::toString));
    }

    @Test
    void anySeedNamesTheMasters() {
        startCluster();
        node(2).crash();
        spare.demote();
        VirtualWorld.Client client = client(
                new RedlockContext().nodes("node-0:1", "node-1:1", "redis-cluster://node-2:1,node-5:1"));
        Lease lease = lease(client, resourceOf(second, 0));
        world.runMs(1);
        assertFalse(second.redis().keys().isEmpty());
        release(lease);
        assertEquals(4, client.redlock().nodes().stream().filter(node -> node.state() == NodeState.READY).count());
    }

    @Test
    void aClusterWithoutAnyServerIsConnectedLater() {
        startCluster();
        List.of(2, 3, 4).forEach(i -> node(i).crash());
        VirtualWorld.Client client = client(context());
        assertTrue(voteOfCluster(client).contains("not connected"));
        List.of(2, 3, 4).forEach(i -> node(i).restart(true));
        world.runMs(3 * 60_000);
        assertFalse(voteOfCluster(client).contains("not connected"));
        assertTrue(first.redis().commandCount("SET NX") > 0);
    }

    // ---- slots that move --------------------------------------------------------------------------------------------

    @Test
    void aReleaseFollowsItsSlot() {
        VirtualWorld.Client client = clusterWorld();
        Lease lease = lease(client);
        world.runMs(1);
        cluster.move(SLOT, first, second);
        assertNotNull(second.redis().get("orders"));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(1);
        assertNull(second.redis().get("orders"));
        assertEquals(1, first.redis().commandCount("MOVED"));
    }

    @Test
    void aBatchOfReleasesFollowsItsSlot() {
        VirtualWorld.Client client = clusterWorld();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            leases.add(lease(client, "{orders}" + i));
        }
        world.runMs(1);
        cluster.move(SLOT, first, second);
        client.call(() -> leases.forEach(Lease::releaseAsync));
        world.runMs(1);
        assertTrue(second.redis().keys().isEmpty(), () -> "left " + second.redis().keys());
        assertEquals(1, first.redis().commandCount("MOVED"));
    }

    @Test
    void aSlotWithANewOwnerIsSilentUntilEachOldLockHasExpired() {
        VirtualWorld.Client client = clusterWorld();
        cluster.move(SLOT, first, second);
        assertTrue(voteOfCluster(client).contains("MOVED"), "the first acquire finds the change");
        long startMs = nowMs();
        assertTrue(voteOfCluster(client).contains("silent"));
        String other = resourceOf(first, 0);
        lease(client, other);
        world.runMs(1);
        assertNotNull(first.redis().get(other), "other slots vote");
        world.runMs(SILENCE_MS - (nowMs() - startMs) - 100);
        assertTrue(voteOfCluster(client).contains("silent"));
        world.runMs(200);
        assertFalse(voteOfCluster(client).contains("silent"));
        assertEquals(0, second.redis().commandCount("MOVED"));
    }

    @Test
    void aVoteDoesNotFollowAsk() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL));
        AcquireOutcome outcome = acquire(client(clusterAlone()), options());
        assertTrue(outcome.voteText(0).contains("ASK"), outcome.voteText(0));
        world.runMs(1);
        assertEquals(1, second.redis().commandCount("ASKING"), "the rollback");
        assertTrue(get(client.redlock().acquireAsync("{orders}1", options())).voteText(0).contains("silent"));
    }

    @Test
    void aGrantOfTheFormerOwnerThatArrivesInTheSilenceDoesNotCount() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        first.redis().failNext("SET", "MOVED " + SLOT + " node-3:1", 1);
        List<CompletableFuture<AcquireOutcome>> acquiring = new ArrayList<>();
        client.call(() -> {
            for (String resource : List.of("{orders}1", "{orders}2")) {
                acquiring.add(client.redlock().acquireAsync(resource, options()).toCompletableFuture());
            }
        });
        world.runMs(1);
        AcquireOutcome outcome = acquiring.get(1).getNow(null);
        assertFalse(outcome.isAcquired());
        assertTrue(outcome.voteText(0).contains("silent"), outcome.voteText(0));
        assertEquals(1, first.redis().commandCount("SET NX"), "the second one is granted");
        world.runMs(10);
        assertTrue(first.redis().keys().isEmpty(), "the rollback has followed the redirection");
    }

    @Test
    void aClockJumpOfTheFormerOwnerRevokesItsVotes() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        Lease untouched = lease(client, resourceOf(third, 0));
        first.redis().clockJump(20_000);
        cluster.move(SLOT, first, second);
        first.redis().failNext("SET", "MOVED " + SLOT + " node-3:1", 1);
        assertFalse(get(client.redlock().acquireAsync("{orders}1", options())).isAcquired());
        assertTrue(lease.isHeld());
        world.runMs(1_500);
        assertEquals(LeaseState.LOST, lease.state());
        assertTrue(untouched.isHeld());
    }

    @Test
    void aReleaseIsSentAgainWhenTheClusterIsUp() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        cluster.down(true);
        release(lease);
        world.runMs(3_000);
        cluster.down(false);
        assertNotNull(first.redis().get("orders"));
        world.runMs(1_100);
        assertNull(first.redis().get("orders"), "deleted before it expires");
    }

    @Test
    void aChangeIsFoundWithoutACommand() {
        VirtualWorld.Client client = clusterWorld();
        cluster.move(SLOT, first, second);
        world.runMs(6_000);
        assertTrue(voteOfCluster(client).contains("silent"));
        assertEquals(0, first.redis().commandCount("MOVED"), "no command met the former owner");
    }

    /** A redirection starts the silence before a map shows a change. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSilenceThatARedirectionStartsIsReported(boolean isMigration) {
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = clusterWorld();
            if (isMigration) {
                cluster.startMigration(SLOT, first, second);
            } else {
                cluster.move(SLOT, first, second);
            }
            String vote = voteOfCluster(client);
            assertTrue(vote.contains(isMigration ? "ASK" : "MOVED"), vote);
            voteOfCluster(client);
            world.runMs(6_000);
            List<String> lines = log.with("new owner");
            assertEquals(1, lines.size(), log.with("")::toString);
            String text = "1 slots have a new owner or are being moved";
            assertTrue(lines.get(0).contains(text), lines::toString);
            String problem = String.valueOf(status(client, 3).problem());
            assertTrue(problem.startsWith(text), problem);
            assertNull(status(client, 0).problem());
            node(4).crash();
            world.runMs(1_000);
            vote = get(client.redlock().acquireAsync(resourceOf(third, 0), options())).voteText(2);
            assertTrue(vote.startsWith("failed: not connected: connection "), vote);
            world.runMs(SILENCE_MS);
            assertNull(status(client, 3).problem());
            assertEquals(1, log.with("new owner").size(), log.with("")::toString);
        }
    }

    @Test
    void theSilenceIncludesTheNodeTimeoutOfTheCluster() {
        startCluster();
        cluster.nodeTimeoutMs(100_000);
        VirtualWorld.Client client = client(context());
        cluster.move(SLOT, first, second);
        voteOfCluster(client);
        world.runMs(silenceMs(100_000) - 1_000);
        assertTrue(voteOfCluster(client).contains("silent"));
        world.runMs(2_000);
        assertFalse(voteOfCluster(client).contains("silent"));
    }

    @Test
    void theLongestNodeTimeoutOfAllServersCounts() {
        startCluster();
        third.nodeTimeoutMs(100_000);
        VirtualWorld.Client client = client(context());
        world.runMs(10_000);
        cluster.move(SLOT, first, second);
        voteOfCluster(client);
        world.runMs(silenceMs(100_000) - 1_000);
        assertTrue(voteOfCluster(client).contains("silent"));
    }

    @Test
    void aNodeTimeoutThatIsFoundInTheSilenceProlongsIt() {
        VirtualWorld.Client client = clusterWorld();
        cluster.move(SLOT, first, second);
        voteOfCluster(client);
        world.runMs(SILENCE_MS - 5_000);
        third.nodeTimeoutMs(100_000);
        world.runMs(silenceMs(100_000) - SILENCE_MS + 4_000);
        assertTrue(voteOfCluster(client).contains("silent"));
        world.runMs(2_000);
        assertFalse(voteOfCluster(client).contains("silent"));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 99})
    void anImpossibleNodeTimeoutDoesNotCount(long nodeTimeoutMs) {
        startCluster();
        cluster.nodeTimeoutMs(nodeTimeoutMs);
        VirtualWorld.Client client = client(context());
        world.runMs(1_000);
        int[] asked = {0};
        List.of(2, 3, 4).forEach(i -> node(i).hostility((wire, words, honest) -> {
            asked[0] += words.contains("SLOTS") ? 1 : 0;
            wire.send(honest);
        }));
        world.runMs(15_000);
        assertTrue(asked[0] >= 3 && asked[0] <= 5, () -> "questions for the map: " + asked[0]);
        cluster.move(SLOT, first, second);
        voteOfCluster(client);
        world.runMs(SILENCE_MS - 1_000);
        assertTrue(voteOfCluster(client).contains("silent"));
    }

    @Test
    void theConfiguredNodeTimeoutCountsIfConfigIsForbidden() {
        startCluster();
        world.nodes().forEach(node -> node.redis().failNext("CONFIG", "NOPERM no", 1_000_000));
        VirtualWorld.Client client = client(context().clusterNodeTimeout(Duration.ofSeconds(100)));
        cluster.move(SLOT, first, second);
        voteOfCluster(client);
        world.runMs(silenceMs(100_000) - 1_000);
        assertTrue(voteOfCluster(client).contains("silent"));
    }

    @ParameterizedTest
    @EnumSource(FakeRedis.Kind.class)
    void aReleaseFollowsASlotOnItsWay(FakeRedis.Kind kind) {
        startCluster();
        world.nodes().forEach(node -> node.redis().kind(kind));
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        assertNotNull(second.redis().get("orders"));
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(1);
        assertNull(second.redis().get("orders"));
        assertEquals(1, second.redis().commandCount("ASKING"));
        assertEquals(0, first.redis().commandCount("MOVED"));
    }

    /** It would need {@code ASKING} and the registration for a push, and each concerns the next command only. */
    @Test
    void aCheckOfAWatchedLeaseDoesNotFollowAsk() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = acquired(acquire(client, options().watchLoss()));
        world.runMs(1);
        int before = first.redis().commandCount("check");
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        world.runMs(1);
        assertEquals(1, first.redis().commandCount("ASK"), "the push is followed by a check");
        assertEquals(before, first.redis().commandCount("check"));
        assertEquals(0, second.redis().commandCount("ASKING") + second.redis().commandCount("MOVED"));
        assertTrue(lease.isHeld(), "nothing is known about its key");
    }

    @Test
    void aLockIsHeldWhileItsKeyMoves() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        VirtualWorld.Client other = client(clusterAlone());
        Lease lease = lease(client, "orders");
        cluster.startMigration(SLOT, first, second);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind());
        cluster.moveKeys(SLOT);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(other, options()).kind());
        cluster.endMigration(SLOT);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(other, options()).kind());
        assertTrue(lease.isHeld());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
    }

    @Test
    void anAbortedMigrationGivesNoSecondHolderToAClientThatHasMetIt() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        VirtualWorld.Client other = client(clusterAlone());
        Lease lease = acquired(get(client.redlock()
                .acquireAsync("orders", AcquireOptions.ofTtl(Duration.ofMillis(MAX_TTL_MS)).tryOnce())));
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        assertTrue(acquire(other, options()).voteText(0).contains("ASK"));
        cluster.abortMigration(SLOT);
        while (lease.isHeld()) {
            assertFalse(acquire(other, options()).isAcquired());
            world.runMs(1_000);
        }
        world.runMs(SILENCE_MS - MAX_TTL_MS);
        lease(other, "orders");
    }

    @Test
    void aSlotIsSilentFromTheLastAskOn() {
        VirtualWorld.Client client = clusterWorld();
        cluster.startMigration(SLOT, first, second);
        for (int i = 0; i < 2; i++) {
            assertTrue(voteOfCluster(client).contains("ASK"));
            world.runMs(SILENCE_MS + 100);
        }
        assertTrue(voteOfCluster(client).contains("ASK"), "the migration continues");
        cluster.abortMigration(SLOT);
        world.runMs(SILENCE_MS - 1_000);
        assertTrue(voteOfCluster(client).contains("silent"));
        world.runMs(1_000);
        assertFalse(voteOfCluster(client).contains("silent"));
    }

    @Test
    void tryAgainIsAMigrationToo() {
        VirtualWorld.Client client = clusterWorld();
        release(acquired(acquire(client, options().fenced())));
        cluster.startMigration(SLOT, first, second);
        List.of(0, 1).forEach(i -> node(i).delay(() -> 1_000_000));
        AcquireOutcome outcome = acquire(client, options().fenced());
        assertTrue(outcome.voteText(2).contains("TRYAGAIN"), "the counter is at the source: " + outcome.voteText(2));
        release(outcome.lease());
        cluster.abortMigration(SLOT);
        assertTrue(voteOfCluster(client).contains("silent"));
    }

    /** The key is at the target of the migration, whose clock decides when it expires. */
    @Test
    void aClockJumpOfTheMasterThatGotTheKeyRevokesTheVote() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        Lease untouched = lease(client, resourceOf(third, 0));
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL));
        assertTrue(lease.isHeld());
        second.redis().clockJump(20_000);
        world.runMs(1_500);
        assertEquals(LeaseState.LOST, lease.state());
        assertTrue(untouched.isHeld());
    }

    @Test
    void aPromotionOfTheMasterThatGotTheKeyRevokesTheVote() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        Lease lease = lease(client, "orders");
        cluster.startMigration(SLOT, first, second);
        cluster.moveKeys(SLOT);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL));
        second.demote();
        second.redis().loseData();
        second.promote();
        world.runMs(1_500);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void aBatchOfReleasesMeetsASlotOnItsWay() {
        VirtualWorld.Client client = clusterWorld();
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            leases.add(lease(client, "{orders}" + i));
        }
        world.runMs(1);
        cluster.startMigration(SLOT, first, second);
        for (int i = 0; i < 3; i++) {
            String key = "{orders}" + i;
            second.redis().set(key, first.redis().get(key), 9_000);
            first.redis().delete(key);
        }
        client.call(() -> leases.forEach(Lease::releaseAsync));
        world.runMs(1);
        assertTrue(first.redis().keys().isEmpty(), () -> "left " + first.redis().keys());
        assertTrue(second.redis().keys().isEmpty(), () -> "left " + second.redis().keys());
        assertEquals(1, first.redis().commandCount("TRYAGAIN"));
        assertEquals(3, first.redis().commandCount("ASK"));
    }

    @Test
    void redirectionsThatLoopEnd() {
        VirtualWorld.Client client = clusterWorld();
        Lease lease = lease(client);
        first.believe(SLOT, second);
        second.believe(SLOT, first);
        third.believe(SLOT, second);
        spare.believe(SLOT, second);
        release(lease);
        world.runMs(5_000);
        int redirectedCount = first.redis().commandCount("MOVED") + second.redis().commandCount("MOVED");
        assertTrue(redirectedCount < 100, redirectedCount + " redirections");
        assertTrue(voteOfCluster(client).contains("silent"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"MOVED 99999 node-3:1", "MOVED 1 node-3:1", "MOVED", "MOVED 105 a b:1", "ASK 1 node-3:1",
        "ASK 105 node-9:1", "MOVED 105 node-2:1", "ASK 105 :1", "TRYAGAIN later", "CLUSTERDOWN The cluster is down",
        "CROSSSLOT no"})
    void otherRedirectionsAreFailedVotes(String error) {
        VirtualWorld.Client client = clusterWorld();
        first.redis().failNext("SET", error, 1);
        String votes = voteOfCluster(client);
        assertTrue(votes.contains(error.split(" ")[0]), votes);
        assertTrue(first.redis().keys().isEmpty());
    }

    @Test
    void aClusterThatIsDownGivesFailedVotes() {
        VirtualWorld.Client client = clusterWorld();
        cluster.down(true);
        String votes = voteOfCluster(client);
        assertTrue(votes.contains("CLUSTERDOWN"), votes);
        cluster.down(false);
        assertFalse(voteOfCluster(client).contains("CLUSTERDOWN"));
    }

    // ---- failover ---------------------------------------------------------------------------------------------------

    @Test
    void aFailoverThatLosesALockGivesNoSecondHolder() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        VirtualWorld.Client other = client(clusterAlone());
        Lease lease = acquired(get(client.redlock()
                .acquireAsync("orders", AcquireOptions.ofTtl(Duration.ofMillis(MAX_TTL_MS)).tryOnce())));
        node(2).crash();
        cluster.failOver(first, spare, false);
        assertNull(spare.redis().get("orders"));
        VirtualWorld.Client late = client(new RedlockContext().nodes("redis-cluster://node-3:1"));
        while (lease.isHeld()) {
            assertFalse(acquire(other, options()).isAcquired());
            assertFalse(acquire(late, options()).isAcquired());
            world.runMs(1_000);
        }
        world.runMs(SILENCE_MS);
        lease(other, "orders");
    }

    @Test
    void aClientThatStartsAfterAPromotionWaits() {
        startCluster();
        cluster.failOver(first, spare, true);
        cluster.heal(first, spare);
        VirtualWorld.Client client = client(
                new RedlockContext().nodes("node-0:1", "node-1:1", "redis-cluster://node-3:1"));
        assertTrue(voteOfCluster(client).contains("in quarantine"));
        NodeStatus promoted = client.redlock()
                .nodes()
                .stream()
                .filter(node -> node.address().equals("node-5:1"))
                .findAny()
                .orElseThrow();
        assertTrue(promoted.problem().contains("promoted"), promoted.problem());
        world.runMs(SILENCE_MS - 1_000);
        assertTrue(voteOfCluster(client).contains("in quarantine"));
        world.runMs(2_000);
        assertFalse(voteOfCluster(client).contains("in quarantine"));
        assertNull(promoted.problem());
    }

    /** The client reads the node timeout after the handshake in which it finds the promotion. */
    @Test
    void aPromotedSeedIsSilentForTheNodeTimeoutOfTheCluster() {
        startCluster();
        cluster.nodeTimeoutMs(100_000);
        cluster.failOver(first, spare, true);
        VirtualWorld.Client client = client(
                new RedlockContext().nodes("node-0:1", "node-1:1", "redis-cluster://node-5:1"));
        assertTrue(voteOfCluster(client).contains("in quarantine"));
        long leftNs = client.redlock().nodes().stream().mapToLong(NodeStatus::votesAgainInNs).max().orElseThrow();
        assertEquals(silenceMs(100_000) * 1e6, leftNs, 1.1e9, "the status shows the longer time");
        world.runMs(silenceMs(100_000) - 1_100);
        assertTrue(voteOfCluster(client).contains("in quarantine"));
        world.runMs(2_000);
        assertFalse(voteOfCluster(client).contains("in quarantine"));
    }

    @Test
    void aMasterThatWasAReplicaForAMomentLosesItsVotes() {
        startCluster();
        VirtualWorld.Client client = client(clusterAlone());
        VirtualWorld.Client other = client(clusterAlone());
        Lease lease = lease(client, "orders");
        String inOtherShard = resourceOf(second, 0);
        Lease untouched = lease(client, inOtherShard);
        first.demote();
        first.redis().loseData();
        first.promote();
        world.runMs(1_500);
        assertEquals(LeaseState.LOST, lease.state());
        assertTrue(untouched.isHeld(), "the votes of other masters count");
        assertFalse(acquire(other, options()).isAcquired());
        world.runMs(SILENCE_MS);
        lease(other, "orders");
    }

    @Test
    void aPromotionRevokesAGrantOfAnUndecidedRound() {
        VirtualWorld.Client client = clusterWorld();
        node(0).crash();
        node(1).delay(() -> 20_000_000);
        first.demote();
        first.redis().loseData();
        first.promote();
        // One attempt after the other, until the client notices the promotion during one.
        AcquireOutcome outcome = acquire(client, options());
        for (int i = 1; outcome.isAcquired() && i < 100; i++) {
            outcome = get(client.redlock().acquireAsync("orders{orders}" + i, options().tryOnce()));
        }
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertTrue(outcome.voteText(2).startsWith("unknown: granted, but"), outcome.voteText(2));
    }

    @Test
    void theFormerOwnerOfAllSlotsIsClosed() {
        VirtualWorld.Client client = clusterWorld();
        spare.own(0, 5_460);
        world.runMs(20_000);
        assertEquals(List.of("node-0:1", "node-1:1", "node-3:1", "node-4:1", "node-5:1"),
                client.redlock().nodes().stream().map(NodeStatus::address).sorted().toList());
        assertEquals(0, node(2).connectionCount());
    }

    @Test
    void aMasterThatRestartsAtAnotherAddressVotesAgain() {
        VirtualWorld.Client client = clusterWorld();
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        release(lease);
        spare.takeIdentityOf(first);
        spare.redis().set("orders", first.redis().get("orders"), 9_000);
        world.runMs(6_000);
        assertEquals(List.of("node-0:1", "node-1:1", "node-3:1", "node-4:1", "node-5:1"),
                client.redlock().nodes().stream().map(NodeStatus::address).sorted().toList());
        assertNull(spare.redis().get("orders"), "the release is sent to the new address");
        assertTrue(voteOfCluster(client).contains("silent"), "it may be another process, and lack keys");
        world.runMs(SILENCE_MS);
        assertFalse(voteOfCluster(client).contains("silent"));
        assertTrue(spare.redis().commandCount("SET NX") > 0);
    }

    /** The seed is a name of node 5 at first, and of node 2 later. Nothing listens at node 6. */
    private VirtualWorld.Client clientOfAnotherSeed() {
        world = new VirtualWorld(10);
        cluster = new FakeCluster();
        first = join(2).own(0, 5_460);
        second = join(3).own(5_461, 10_922);
        third = join(4).own(10_923, 16_383);
        spare = join(5);
        spare.demote();
        node(6).crash();
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis-cluster://node-5:1"));
        release(lease(client, "orders"));
        world.runMs(20_000);
        assertEquals(0, node(5).connectionCount(), "precondition: the client has connections to the masters only");
        world.moveName(5, 2);
        List.of(2, 3, 4).forEach(i -> world.moveName(i, 6));
        return client;
    }

    @Test
    void aClusterWhoseMastersAllMoveIsFoundBySeedsAgain() {
        VirtualWorld.Client client = clientOfAnotherSeed();
        List<FakeCluster.Member> masters = List.of(first, second, third);
        for (int i = 0; i < masters.size(); i++) {
            world.moveName(7 + i, 2 + i);
            masters.get(i).announce("node-" + (7 + i));
        }
        List.of(2, 3, 4).forEach(i -> node(i).breakConnections());
        world.runMs(5_000);
        AcquireOutcome outcome = acquire(client, options());
        assertTrue(outcome.voteText(0).contains("silent"), outcome.voteText(0));
        world.runMs(SILENCE_MS);
        for (FakeCluster.Member master : masters) {
            release(lease(client, resourceOf(master, 1)));
        }
        assertEquals(3, client.redlock().nodes().size(), () -> client.redlock().nodes().toString());
    }

    /** Until then the seed is used for the map only: another connection to a master makes its slots silent. */
    @Test
    void aMasterThatReconnectsAfterASeedHasLedToItVotesAtOnce() {
        VirtualWorld.Client client = clientOfAnotherSeed();
        List.of(2, 3, 4).forEach(i -> node(i).breakConnections());
        world.await("the seed is connected", 5_000, () -> node(2).connectionCount() > 0);
        world.runMs(500);
        List.of(2, 3, 4).forEach(i -> world.moveName(i, i));
        world.runMs(5_000);
        release(lease(client, "orders"));
        assertEquals(1, node(2).connectionCount());
        assertEquals(List.of("node-2:1", "node-3:1", "node-4:1"),
                client.redlock().nodes().stream().map(NodeStatus::address).toList());
    }

    /** The client has reached it at a seed from the start, under a name that leads nowhere now. */
    @Test
    void aMasterWhoseSeedIsGoneIsReachedAtAnotherSeed() {
        startCluster();
        node(5).crash();
        world.moveName(4, 2);
        first.own(0, 16_383).announce("node-9");
        VirtualWorld.Client client = client(new RedlockContext().nodes("redis-cluster://node-4:1,node-5:1"));
        lease(client, "orders");
        world.moveName(4, 5);
        world.moveName(5, 2);
        node(2).breakConnections();
        world.runMs(30_000 + SILENCE_MS);
        lease(client, resourceOf(first, 1));
    }

    /** Another server has the address now, which the client finds out when the release is on its way there. */
    @Test
    void aReleaseReturnsFromAServerThatIsAnotherOne() {
        VirtualWorld.Client client = clusterWorld();
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        release(lease);
        spare.takeIdentityOf(first);
        spare.redis().set("orders", first.redis().get("orders"), 9_000);
        first.takeNewIdentity();
        node(2).restart(true);
        world.runMs(6_000);
        assertNull(spare.redis().get("orders"), "the release is sent to the new address");
    }

    @Test
    void aServerThatIsConnectedKeepsItsAddressWhateverTheMapCallsIt() {
        VirtualWorld.Client client = clusterWorld();
        int connectedCount = node(2).openedCount();
        for (String name : List.of("first", "node-2", "first")) {
            first.announce(name);
            world.runMs(10_000);
        }
        assertEquals(connectedCount, node(2).openedCount());
        assertFalse(voteOfCluster(client).contains("silent"));
    }

    @Test
    void aSeedThatTheMapCallsByAnotherNameReconnectsAtItsOwn() {
        startCluster();
        first.announce("first");
        VirtualWorld.Client client = client(context());
        node(2).crash();
        world.runMs(10_000);
        node(2).restart(true);
        world.runMs(SILENCE_MS);
        lease(client, "orders");
        world.runMs(1);
        assertNotNull(first.redis().get("orders"));
    }

    @Test
    void aReleaseFollowsItsSlotToASeedThatTheMapCallsByAnotherName() {
        startCluster();
        first.announce("first");
        VirtualWorld.Client client = client(context());
        String resource = resourceOf(second, 0);
        Lease lease = lease(client, resource);
        world.runMs(1);
        cluster.move(FakeCluster.slotOf(resource), second, first);
        release(lease);
        world.runMs(1);
        assertNull(first.redis().get(resource));
    }

    @Test
    void aReleaseForALostMasterGoesToTheNextOwner() {
        VirtualWorld.Client client = clusterWorld();
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        release(lease);
        assertNotNull(first.redis().get("orders"));
        cluster.failOver(first, spare, true);
        assertNotNull(spare.redis().get("orders"), "the replica has the key");
        world.runMs(6_000);
        assertNull(spare.redis().get("orders"), "deleted before it expires");
    }

    // ---- one vote for each cluster ----------------------------------------------------------------------------------

    @Test
    void oneClusterHasOneVote() {
        startCluster();
        VirtualWorld.Client client = client(
                new RedlockContext().nodes("node-0:1", "redis-cluster://node-2:1", "redis-cluster://node-3:1"));
        world.runMs(10_000);
        AcquireOutcome outcome = acquire(client, options());
        assertTrue(outcome.isAcquired());
        release(outcome.lease());
        assertTrue(status(client, 1).problem().contains("identity of node 2 (redis-cluster://node-3:1)"),
                status(client, 1)::toString);
        node(0).crash();
        assertFalse(acquire(client, options()).isAcquired(), "a cluster and itself are no quorum");
    }

    /** The cluster at node 0 names the servers of the two others as its replicas. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aClusterThatCopiesTheIdsOfOthersHasNoVoteBesideThem(boolean isCopyFirst) {
        world = new VirtualWorld(3);
        List<FakeCluster.Member> masters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            masters.add(new FakeCluster().add(node(i).redis(), "node-" + i, 1).own(0, 16_383));
        }
        List<RespValue> range = new ArrayList<>(List.of(RespValue.integer(0), RespValue.integer(16_383)));
        masters.forEach(master -> range.add(master.entry()));
        node(0).redis().answer("CLUSTER SLOTS", RespValue.array(RespValue.array(range.toArray(RespValue[]::new))));
        List<Integer> late = isCopyFirst ? List.of(1, 2) : List.of(0);
        late.forEach(i -> node(i).crash());
        VirtualWorld.Client client = client(new RedlockContext()
                .nodes("redis-cluster://node-0:1", "redis-cluster://node-1:1", "redis-cluster://node-2:1"));
        world.runMs(6_000);
        late.forEach(i -> node(i).start());
        world.runMs(6_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(NodeState.READY, status(client, i).state(), status(client, i)::toString);
            assertTrue(status(client, i).problem().contains("identity of node " + (i == 0 ? 1 : 0)),
                    status(client, i)::toString);
        }
        node(0).redis().failNext("SET", "ERR no", 100);
        Lease lease = lease(client);
        node(0).redis().clearErrors();
        VirtualWorld.Client other = client(new RedlockContext()
                .nodes("redis-cluster://node-0:1", "redis-cluster://node-1:1", "redis-cluster://node-2:1"));
        world.runMs(100);
        node(0).redis().loseData();
        assertFalse(acquire(other, options()).isAcquired(), "only the copy grants");
        release(lease);
        node(1).crash();
        assertFalse(acquire(client, options()).isAcquired(), "a copy beside the original of one of its ids");
    }

    @Test
    void addressesAreOfTheRightKind() {
        startCluster();
        VirtualWorld.Client client = client(
                new RedlockContext().nodes("node-2:1", "redis-cluster://node-0:1", "node-1:1"));
        assertTrue(status(client, 0).problem().contains("write redis-cluster://"), status(client, 0).problem());
        assertTrue(status(client, 1).problem().contains("without redis-cluster://"), status(client, 1).problem());
        RedlockContext context = new RedlockContext();
        assertThrows(IllegalArgumentException.class, () -> context.nodes("redis-cluster://a:1,b:1", "b:1"));
        assertThrows(IllegalArgumentException.class, () -> context.clusterNodeTimeout(Duration.ofMillis(99)));
    }

    // ---- servers that a map may name --------------------------------------------------------------------------------

    @Test
    void aServerThatNoRuleAllowsGetsNoConnection() {
        startCluster();
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(new RedlockContext().clusterServers("node-3")
                    .nodes("node-0:1", "node-1:1", "redis-cluster://app:secret@node-2:1"));
            List.of(2, 3, 4).forEach(i -> node(i).redis().password("app", "secret"));
            List.of(2, 3).forEach(i -> node(i).breakConnections());
            world.runMs(20_000);
            assertEquals(0, node(4).openedCount());
            NodeStatus refused = client.redlock()
                    .nodes()
                    .stream()
                    .filter(node -> node.address().equals("node-4:1"))
                    .findFirst()
                    .orElseThrow();
            assertEquals(NodeState.WAITING, refused.state());
            assertTrue(refused.problem().contains("no rule of [node-3] allows"), refused.problem());
            assertEquals(1, log.with("names new hosts: node-3:1, node-4:1").size());
            assertTrue(log.with("secret").isEmpty());
            for (FakeCluster.Member owner : List.of(first, second)) {
                assertTrue(lease(client, resourceOf(owner, 4)).isHeld());
            }
        }
        assertThrows(IllegalArgumentException.class, () -> new RedlockContext().clusterServers("10.0.0.0/99"));
    }

    @Test
    void aHostThatComesBackIsNotLoggedAgain() {
        startCluster();
        try (LogLines log = new LogLines()) {
            client(context());
            for (int i = 0; i < 3; i++) {
                (i % 2 == 0 ? spare : second).own(5_461, 10_922);
                world.runMs(30_000);
                assertEquals(i % 2 == 0, node(3).connectionCount() == 0);
            }
            assertEquals(List.of(1, 1, 1), Stream.of("node-3:1", "node-4:1", "node-5:1")
                    .map(host -> (int) log.with("names new hosts").stream().filter(line -> line.contains(host)).count())
                    .toList());
        }
    }

    // ---- hostile servers --------------------------------------------------------------------------------------------

    @Test
    void aWrongMapIsReportedAndAskedForAgain() {
        startCluster();
        for (RespValue reply : List.of(RespValue.integer(1), RespValue.array(),
                RespValue.text(RespType.SIMPLE_ERROR, "NOPERM no"),
                RespValue.array(RespValue.array(RespValue.integer(0), RespValue.integer(99_999), RespValue.array())))) {
            first.redis().answer("CLUSTER SLOTS", reply);
            VirtualWorld.Client client = client(context());
            assertTrue(voteOfCluster(client).contains("not connected"));
            VirtualWorld.Client alone = client(clusterAlone());
            world.runMs(6_000);
            assertFalse(alone.redlock().isQuorumAvailable());
            String problem = String.valueOf(status(alone, 0).problem());
            assertTrue(problem.startsWith("CLUSTER SLOTS "), problem);
            assertTrue(acquire(alone, options()).voteText(0).contains(problem), "the vote shows it too");
            first.redis().answer("CLUSTER SLOTS", null);
            world.runMs(6_000);
            assertTrue(alone.redlock().isQuorumAvailable());
            assertNull(status(alone, 0).problem());
        }
    }

    @Test
    void aClientThatNeverGetsAMapLogsTheReason() {
        startCluster();
        first.redis().answer("CLUSTER SLOTS", RespValue.array());
        try (LogLines log = new LogLines()) {
            client(clusterAlone());
            world.runMs(60_000);
            List<String> lines = log.with(Level.WARNING, "no quorum votes");
            assertEquals(1, lines.size(), log.with("")::toString);
            assertTrue(lines.get(0).contains("no slot has a master"), lines::toString);
        }
    }

    @Test
    void slotsWithoutAMasterAreReported() {
        world = new VirtualWorld(5);
        cluster = new FakeCluster();
        first = join(2).own(0, 5_460);
        second = join(3);
        third = join(4).own(10_923, 16_383);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client(clusterAlone());
            world.runMs(20_000);
            String text = "5462 slots have no master";
            assertEquals(1, log.with(Level.WARNING, text).size(), log.with("")::toString);
            for (NodeStatus node : client.redlock().nodes()) {
                assertTrue(String.valueOf(node.problem()).startsWith(text), node::toString);
            }
            assertTrue(client.redlock().isQuorumAvailable(), "it votes for the other slots");
            release(lease(client, resourceOf(third, 0)));
            String vote = get(client.redlock().acquireAsync(resourceOf(second, 0), options())).voteText(0);
            assertTrue(vote.contains(text), vote);
            second.own(5_461, 10_922);
            world.runMs(6_000);
            for (NodeStatus node : client.redlock().nodes()) {
                assertTrue(String.valueOf(node.problem()).startsWith("5462 slots have a new owner"), node::toString);
            }
        }
    }
}
