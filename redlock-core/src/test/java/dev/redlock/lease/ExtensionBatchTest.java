package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Simultaneous extensions go to a node as one script call, and each keeps its own outcome. */
class ExtensionBatchTest extends VirtualTest {

    private List<Lease> leases(VirtualWorld.Client client, int count) {
        return leases(client, count, options());
    }

    private List<Lease> leases(VirtualWorld.Client client, int count, AcquireOptions options) {
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            outcomes.add(client.redlock().acquireAsync("orders/" + i, options).toCompletableFuture());
        }
        return new ArrayList<>(outcomes.stream().map(outcome -> acquired(get(outcome))).toList());
    }

    /** Starts the extensions of all of them in one turn of the loop. */
    private List<CompletableFuture<ExtendOutcome>> startTogether(VirtualWorld.Client client, List<Lease> leases) {
        List<CompletableFuture<ExtendOutcome>> outcomes = new ArrayList<>();
        client.engine()
                .execute(() -> leases.forEach(lease -> outcomes.add(lease.extendAsync(TTL).toCompletableFuture())));
        world.settle();
        return outcomes;
    }

    private void extendTogether(VirtualWorld.Client client, List<Lease> leases) {
        startTogether(client, leases).forEach(outcome -> assertEquals(ExtendOutcome.EXTENDED, get(outcome)));
        world.runMs(10);
    }

    private int count(int nodeIndex, String script) {
        return node(nodeIndex).redis().commandCount(script);
    }

    private void assertCounts(int nodeIndex, int batches, int singles) {
        assertEquals(batches, count(nodeIndex, "extend_many"), "batches on node " + nodeIndex);
        assertEquals(singles, count(nodeIndex, "extend"), "single extensions on node " + nodeIndex);
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 1", "2, 1, 0", "31, 1, 0", "32, 1, 0", "33, 1, 1", "34, 2, 0", "66, 3, 0"})
    void aBatchHasUpToThirtyTwoExtensions(int leaseCount, int batches, int singles) {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, leaseCount);
        world.runMs(5_000);
        extendTogether(client, leases);
        for (int i = 0; i < 3; i++) {
            assertCounts(i, batches, singles);
            for (String key : node(i).redis().keys()) {
                assertTrue(node(i).redis().pttl(key) > 9_000, "extended");
            }
        }
        leases.forEach(lease -> assertTrue(lease.remainingValidity().toMillis() > 9_000, lease::toString));
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 14", "2, 7, 0", "7, 2, 0"})
    void theBatchLimitIsAnOption(int limit, int batches, int singles) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(limit));
        extendTogether(client, leases(client, 14));
        assertCounts(0, batches, singles);
    }

    @Test
    void fencedLeasesAndPermitsAreInTheSameBatch() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        leases.add(acquired(acquire(client, options().fenced())));
        leases.add(acquired(get(client.redlock().acquireAsync("semaphore", options().forPermitOf(2)))));
        extendTogether(client, leases);
        assertCounts(0, 1, 0);
    }

    @Test
    void otherKindsOfLockAreExtendedAlone() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        leases.add(acquired(get(client.redlock().acquireAsync("r", options().forReading()))));
        leases.add(acquired(get(client.redlock().acquireAsync("w", options().forWriting()))));
        extendTogether(client, leases);
        assertCounts(0, 1, 1);
        assertEquals(1, count(0, "extend_read"));
    }

    @Test
    void automaticExtensionsOfOneTimeAreABatch() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 2_000, options().autoExtend());
        world.runMs(20_000);
        leases.forEach(lease -> assertTrue(lease.isHeld(), lease::toString));
        int batches = count(0, "extend_many");
        int singles = count(0, "extend");
        assertTrue(batches > 500, () -> "batches: " + batches);
        assertTrue(batches + singles < 11_000, () -> batches + " batches, and single ones: " + singles);
    }

    /** Of five leases, each node has lost the key of one, has another holder for one, and fails for one. */
    @Test
    void eachExtensionOfABatchHasItsOwnOutcome() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 5);
        world.runMs(1);
        eachNode(node -> {
            node.redis().delete("orders/1");
            node.redis().set("orders/2", "next holder", 60_000);
            node.redis().failNext("extend orders/3", "OOM command not allowed when used memory > 'maxmemory'.", 1);
        });
        List<ExtendOutcome> outcomes = startTogether(client, leases).stream().map(outcome -> get(outcome)).toList();
        assertEquals(List.of(ExtendOutcome.EXTENDED, ExtendOutcome.LOST, ExtendOutcome.LOST,
                ExtendOutcome.NOT_EXTENDED, ExtendOutcome.EXTENDED), outcomes);
        world.runMs(10);
        assertCounts(0, 1, 0);
        assertTrue(leases.get(3).isHeld(), "its keys are as before");
        assertEquals("next holder", key(0, "orders/2"));
        assertNull(key(0, "orders/1"), "the key that was set again is released");
        assertEquals(1, status(client, 0).errorCount());
    }

    private String key(int nodeIndex, String name) {
        return node(nodeIndex).redis().get(name);
    }

    @Test
    void aKeyOfAnotherTypeProvesTheLoss() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.redis().failNext("extend orders/1", "WRONGTYPE Operation against a key", 1));
        List<ExtendOutcome> outcomes = startTogether(client, leases).stream().map(outcome -> get(outcome)).toList();
        assertEquals(List.of(ExtendOutcome.EXTENDED, ExtendOutcome.LOST, ExtendOutcome.EXTENDED), outcomes);
    }

    @Test
    void aKeyThatIsSetAgainDoesNotCount() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        world.runMs(1);
        node(0).redis().delete("orders/1");
        extendTogether(client, leases);
        assertNotNull(key(0, "orders/1"), "set again");
        node(1).crash();
        List<CompletableFuture<ExtendOutcome>> second = startTogether(client, leases);
        second.forEach(outcome -> assertEquals(ExtendOutcome.EXTENDED, get(outcome), "it counts from then on"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theOrderOfTheCommandsOfALockIsKept(boolean isReleaseFull) {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().releaseBatchMax(isReleaseFull ? 2 : 64));
        List<Lease> leases = leases(client, 2);
        List<Lease> others = new ArrayList<>();
        others.add(lease(client));
        world.runMs(1);
        node(0).redis().startLog();
        client.engine().execute(() -> {
            others.get(0).releaseAsync();
            leases.forEach(lease -> lease.extendAsync(TTL));
            // Both change their mind at once: the extension ends, and the release follows it.
            leases.forEach(Lease::releaseAsync);
            client.redlock().acquireAsync("orders/1", options());
        });
        world.runMs(10);
        List<String> log = node(0).redis().log();
        for (int i = 0; i < 2; i++) {
            int extended = log.indexOf("extend orders/" + i + " -> 1");
            int released = log.indexOf("release orders/" + i + " -> 1");
            assertTrue(extended >= 0 && extended < released, log::toString);
        }
        assertTrue(log.indexOf("acquire orders/1 -> 1") > log.indexOf("release orders/1 -> 1"), log::toString);
        assertEquals(1, node(0).redis().keys().size(), "only the new lock: " + node(0).redis().keys());
    }

    /** The key belongs to the lease again: its extension must not find the token of the one that is released. */
    @Test
    void anExtensionFollowsAReleaseOfItsKeyInTheSameTurn() {
        VirtualWorld.Client client = world(3);
        Lease lost = leases(client, 1).get(0);
        String lostToken = key(0, "orders/0");
        eachNode(node -> node.redis().delete("orders/0"));
        Lease lease = leases(client, 1).get(0);
        node(0).redis().set("orders/0", lostToken, 60_000);
        String token = key(1, "orders/0");
        client.engine().execute(() -> {
            lost.releaseAsync();
            lease.extendAsync(TTL);
        });
        world.runMs(10);
        assertEquals(token, key(0, "orders/0"), "set again after the release");
    }

    @Test
    void anUnknownScriptIsSentInFull() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 5);
        eachNode(node -> node.redis().flushScripts());
        extendTogether(client, leases);
        assertCounts(0, 1, 0);
        assertEquals(0, status(client, 0).errorCount());
    }

    /** Its extension would set the key again after the release. */
    @Test
    void aReleasedLeaseIsNotExtendedBySentAgainScripts() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        world.runMs(1);
        eachNode(node -> {
            node.redis().failNext("extend_many", "NOSCRIPT No matching script. Please use EVAL.", 1);
            node.delay(() -> 2_000_000);
        });
        List<CompletableFuture<ExtendOutcome>> extending = startTogether(client, leases);
        leases.get(1).releaseAsync();
        world.runMs(20);
        assertEquals(ExtendOutcome.EXTENDED, get(extending.get(0)));
        assertEquals(ExtendOutcome.EXTENDED, get(extending.get(2)));
        eachNode(node -> assertEquals(2, node.redis().keys().size(), () -> "keys: " + node.redis().keys()));
        assertCounts(0, 1, 0);
    }

    @Test
    void anUnknownScriptOfReleasedLeasesIsNotSent() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        world.runMs(1);
        eachNode(node -> {
            node.redis().failNext("extend_many", "NOSCRIPT No matching script. Please use EVAL.", 1);
            node.delay(() -> 2_000_000);
        });
        startTogether(client, leases);
        leases.forEach(Lease::releaseAsync);
        world.runMs(20);
        eachNode(node -> assertEquals(0, node.redis().keys().size()));
        assertCounts(0, 0, 0);
    }

    /** A server refuses a call if its user may not use one of the keys. */
    @Test
    void aForbiddenKeyDoesNotKeepTheOthersFromTheirExtensions() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> {
            node.redis().failNext("extend_many", "NOPERM No permissions to access a key", 1);
            node.redis().failNext("extend", "NOPERM No permissions to access a key", 1);
        });
        List<ExtendOutcome> outcomes = startTogether(client, leases).stream().map(outcome -> get(outcome)).toList();
        assertEquals(List.of(ExtendOutcome.NOT_EXTENDED, ExtendOutcome.EXTENDED, ExtendOutcome.EXTENDED), outcomes);
        assertCounts(0, 0, 2);
    }

    @Test
    void anErrorFailsEachVote() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.redis().failNext("extend_many", "BUSY Redis is busy running a script.", 1));
        startTogether(client, leases).forEach(outcome -> assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome)));
        leases.forEach(lease -> assertTrue(lease.isHeld(), lease::toString));
        extendTogether(client, leases);
    }

    @Test
    void aBrokenConnectionMakesEachVoteUnknown() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.loseRequests(name -> true));
        List<CompletableFuture<ExtendOutcome>> outcomes = startTogether(client, leases);
        eachNode(node -> node.breakConnections());
        outcomes.forEach(outcome -> assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome)));
        eachNode(node -> node.loseRequests(name -> false));
        world.runMs(3_000);
        extendTogether(client, leases);
    }

    @Test
    void theOtherNodesExtendWhileOneIsDisconnected() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        node(2).crash();
        world.runMs(5);
        extendTogether(client, leases);
        node(1).crash();
        world.runMs(5);
        startTogether(client, leases).forEach(outcome -> assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome)));
    }

    /** A restarted node does not vote for a while: it gets releases, and no extensions. */
    @Test
    void aNodeInQuarantineGetsNoBatch() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        node(2).crash();
        node(2).restart(true);
        world.runMs(3_000);
        assertEquals(NodeState.QUARANTINED, status(client, 2).state());
        extendTogether(client, leases);
        assertCounts(0, 1, 0);
        assertCounts(2, 0, 0);
    }

    @Test
    void eachNodeOfAMixedGroupGetsItsCheapestCommand() {
        world = new VirtualWorld(5);
        node(1).redis().kind(FakeRedis.Kind.REDIS_8_4);
        node(2).redis().kind(FakeRedis.Kind.VALKEY_9);
        node(3).redis().kind(FakeRedis.Kind.VALKEY_8_1);
        VirtualWorld.Client client = client(context());
        List<Lease> leases = leases(client, 5);
        world.runMs(1);
        node(1).redis().delete("orders/2");
        extendTogether(client, leases);
        assertCounts(0, 1, 0);
        assertCounts(4, 1, 0);
        for (int i = 1; i <= 3; i++) {
            assertEquals(5, count(i, "SET IFEQ"), "a command of its own each");
            assertCounts(i, 0, i == 1 ? 1 : 0);
        }
        assertNotNull(key(1, "orders/2"), "the script has set it again");
    }

    /** A batch does not report its nodes, and the first extension asks nodes that the attempt did not ask. */
    @Test
    void theFirstExtensionOfAThriftyLeaseIsAlone() {
        world = new VirtualWorld(5);
        VirtualWorld.Client client = client(context().thriftyQuorums(true));
        List<Lease> leases = leases(client, 3);
        world.runMs(10);
        extendTogether(client, leases);
        assertCounts(0, 0, 3);
        extendTogether(client, leases);
        assertCounts(0, 1, 3);
    }

    @Test
    void validityStartsBeforeABatchIsSent() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 2);
        world.runMs(1_000);
        long startNs = world.nowNs();
        client.engine().execute(() -> leases.forEach(lease -> {
            lease.extendAsync(TTL);
            client.stall(5_000_000);
        }));
        world.runMs(20);
        assertCounts(0, 1, 0);
        for (int i = 0; i < 2; i++) {
            long sinceStartMs = (world.nowNs() - startNs) / 1_000_000 - 5 * i;
            assertEquals(validityMs(TTL.toMillis()) - sinceStartMs, leases.get(i).remainingValidity().toMillis(),
                    "from its own start");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"*2\r\n:1\r\n:1\r\n", ":1\r\n", "+OK\r\n", "*3\r\n:1\r\n+x\r\n:1\r\n", "_\r\n",
        "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "*3\r\n*1\r\n-ERR x\r\n:1\r\n:1\r\n", "-ERR x\r\n-ERR x\r\n"})
    void aMalformedReplyClosesTheConnection(String answer) {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        // The outcomes of this batch must not count for the next.
        extendTogether(client, leases);
        node(0).pause();
        List<CompletableFuture<ExtendOutcome>> outcomes = startTogether(client, leases);
        node(0).sendRaw(answer);
        world.runMs(1);
        assertEquals(NodeState.WAITING, status(client, 0).state(), () -> answer);
        outcomes.forEach(outcome -> assertEquals(ExtendOutcome.EXTENDED, get(outcome)));
        node(0).resume();
    }
}
