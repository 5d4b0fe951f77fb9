package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Simultaneous releases go to a node as one script call, and each keeps its own outcome. */
class ReleaseBatchTest extends VirtualTest {

    /** A counter ahead of those that start from the clock, but in range. */
    private static final String AHEAD = "1887437000000000";

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

    /** Releases all of them in one turn of the loop. */
    private List<CompletableFuture<ReleaseOutcome>> releaseTogether(VirtualWorld.Client client,
            List<Lease> leases) {
        List<CompletableFuture<ReleaseOutcome>> outcomes = new ArrayList<>();
        client.engine()
                .execute(
                        () -> leases.forEach(lease -> outcomes.add(lease.releaseAsync().toCompletableFuture())));
        world.settle();
        return outcomes;
    }

    /** The counter of node 0 is ahead of the others, so that releases have to raise them. */
    private void countersApart(String... resources) {
        for (String resource : resources) {
            node(0).redis().set(KeyText.counterName(resource), AHEAD, -1);
        }
    }

    private void countersApart(int count) {
        for (int i = 0; i < count; i++) {
            countersApart("orders/" + i);
        }
    }

    private int keysLeft(int nodeIndex) {
        return node(nodeIndex).redis().keys().size();
    }

    private int count(int nodeIndex, String script) {
        return node(nodeIndex).redis().commandCount(script);
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 1", "2, 1, 0", "63, 1, 0", "64, 1, 0", "65, 1, 1", "66, 2, 0", "130, 3, 0"})
    void aBatchHasUpToSixtyFourReleases(int leaseCount, int batches, int singles) {
        VirtualWorld.Client client = world(3);
        releaseTogether(client, leases(client, leaseCount))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        for (int i = 0; i < 3; i++) {
            assertEquals(batches, count(i, "release_many"), "batches");
            assertEquals(singles, count(i, "release"), "single releases");
            assertEquals(0, keysLeft(i));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7})
    void theBatchLimitIsAnOption(int limit) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(limit));
        releaseTogether(client, leases(client, 14))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        assertEquals(limit == 1 ? 0 : 14 / limit, count(0, "release_many"));
        assertEquals(limit == 1 ? 14 : 0, count(0, "release"));
    }

    /** Of five leases, the key of one is gone and another one has the next holder. */
    private void assertEachReleaseHasItsOwnOutcome(VirtualWorld.Client client) {
        List<Lease> leases = leases(client, 5);
        eachNode(node -> {
            node.redis().delete("orders/1");
            node.redis().set("orders/3", "next holder", -1);
        });
        List<CompletableFuture<ReleaseOutcome>> outcomes = releaseTogether(client, leases);
        for (int i = 0; i < 5; i++) {
            assertEquals(i == 1 || i == 3 ? ReleaseOutcome.EXPIRED : ReleaseOutcome.RELEASED, get(outcomes.get(i)),
                    "lease " + i);
        }
        world.runMs(10);
    }

    @Test
    void eachReleaseOfABatchHasItsOwnOutcome() {
        VirtualWorld.Client client = world(3);
        assertEachReleaseHasItsOwnOutcome(client);
        assertEquals("next holder", node(0).redis().get("orders/3"));
        assertEquals(1, keysLeft(0));
    }

    @Test
    void anAcquireOfTheSameResourceDoesNotOvertakeTheRelease() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 8);
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < 8; i++) {
                leases.get(i).releaseAsync();
                if (i % 3 == 2) {
                    again.add(client.redlock().acquireAsync("orders/" + (i - 1), options()).toCompletableFuture());
                }
            }
        });
        world.settle();
        again.forEach(outcome -> acquired(get(outcome)));
        assertEquals(2, again.size());
    }

    /** Callers who lock one name again and again have their releases in one batch all the same. */
    @ParameterizedTest
    @ValueSource(ints = {2, 64, 100})
    void anAcquireOfTheSameResourceDoesNotEndTheBatch(int count) {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, count);
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < count; i++) {
                leases.get(i).releaseAsync();
                again.add(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture());
            }
        });
        world.settle();
        again.forEach(outcome -> acquired(get(outcome)));
        for (int i = 0; i < 3; i++) {
            assertEquals((count + 63) / 64, count(i, "release_many"));
            assertEquals(0, count(i, "release"));
            assertEquals(count, keysLeft(i));
        }
    }

    /** All in one turn: released, asked for again, cancelled, and asked for by another caller. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anAcquireThatFollowsIsRolledBackInItsTurn(boolean isFenced) {
        VirtualWorld.Client client = world(3);
        AcquireOptions options = isFenced ? options().fenced() : options();
        List<Lease> leases = leases(client, 6, options);
        List<CompletableFuture<AcquireOutcome>> cancelled = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < 6; i++) {
                String name = "orders/" + i;
                leases.get(i).releaseAsync();
                cancelled.add(client.redlock().acquireAsync(name, options).toCompletableFuture());
                if (i % 2 == 0) {
                    cancelled.get(i).cancel(true);
                    again.add(client.redlock().acquireAsync(name, options).toCompletableFuture());
                }
            }
        });
        world.settle();
        again.forEach(outcome -> release(acquired(get(outcome))));
        for (int i = 1; i < 6; i += 2) {
            release(acquired(get(cancelled.get(i))));
        }
        world.runMs(10);
        for (int i = 0; i < 3; i++) {
            int node = i;
            assertEquals(0, IntStream.range(0, 6)
                    .filter(n -> node(node).redis().get("orders/" + n) != null)
                    .count(), "no key is left");
        }
    }

    /** The acquires that follow fail at the nodes that are gone, and win at the others. */
    @ParameterizedTest
    @CsvSource({"1, true", "2, false"})
    void acquiresThatFollowMeetNodesThatAreGone(int gone, boolean isAcquired) {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 5);
        for (int i = 0; i < gone; i++) {
            node(i).crash();
        }
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < 5; i++) {
                leases.get(i).releaseAsync();
                again.add(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture());
            }
        });
        world.settle();
        again.forEach(outcome -> assertEquals(isAcquired, get(outcome).isAcquired()));
    }

    /** Commands for other resources do not end the batch. */
    @Test
    void commandsForOtherResourcesDoNotSplitABatch() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 8);
        client.engine().execute(() -> {
            for (int i = 0; i < 8; i++) {
                leases.get(i).releaseAsync();
                client.redlock().acquireAsync("others/" + i, options());
            }
        });
        world.settle();
        assertEquals(1, count(0, "release_many"), "one batch of eight");
        assertEquals(8, keysLeft(0), "the others");
    }

    @Test
    void aLocalWaiterGetsTheHandoffImmediately() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 4);
        AcquireOptions waiting = options().waitUpTo(Duration.ofSeconds(5));
        List<CompletableFuture<AcquireOutcome>> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiters.add(client.redlock().acquireAsync("orders/" + i, waiting).toCompletableFuture());
        }
        // Enough time for a refusal of every head of a queue, which then waits for its next attempt.
        world.runMs(1_000);
        waiters.forEach(waiter -> assertFalse(waiter.isDone()));
        long beforeNs = world.nowNs();
        releaseTogether(client, leases);
        waiters.forEach(waiter -> acquired(get(waiter)));
        assertTrue(world.nowNs() - beforeNs < 5_000_000, "no retry delay in between");
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 1", "2, 1, 0", "64, 1, 0", "65, 1, 1", "130, 3, 0"})
    void fencedReleasesFormABatch(int leaseCount, int batches, int singles) {
        VirtualWorld.Client client = world(3);
        countersApart(leaseCount);
        releaseTogether(client, leases(client, leaseCount, options().fenced()))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(batches, count(0, "release_many_fenced"), "batches");
        assertEquals(singles, count(0, "release_fenced"), "single releases");
        assertEquals(0, keysLeft(0));
    }

    @Test
    void fencedReleasesWithEqualCountersJoinThePlainBatch() {
        VirtualWorld.Client client = world(3);
        countersApart("orders/1");
        List<Lease> leases = leases(client, 4, options().fenced());
        leases.add(lease(client));
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(1, count(0, "release_many"), "three with equal counters, and the plain one");
        assertEquals(1, count(0, "release_fenced"), "the one with different counters");
        assertEquals(0, count(0, "release_many_fenced") + count(0, "release"));
        assertEquals(0, keysLeft(0));
    }

    @Test
    void fencedAndPlainReleasesOfATurnAreTwoBatches() {
        VirtualWorld.Client client = world(3);
        countersApart(6);
        List<Lease> leases = leases(client, 3);
        for (int i = 3; i < 6; i++) {
            leases.add(acquired(get(client.redlock()
                    .acquireAsync("orders/" + i, options().fenced())
                    .toCompletableFuture())));
        }
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(1, count(0, "release_many"));
        assertEquals(1, count(0, "release_many_fenced"));
        assertEquals(0, keysLeft(0));
    }

    @Test
    void aHandoffAfterOneBatchDoesNotOvertakeTheOther() {
        VirtualWorld.Client client = world(3);
        List<Lease> plain = leases(client, 2);
        countersApart("orders");
        Lease fenced = acquired(get(client.redlock()
                .acquireAsync("orders", options().fenced())
                .toCompletableFuture()));
        node(1).crash();
        node(2).crash();
        world.runMs(5);
        node(0).redis().startLog();
        client.engine().execute(() -> {
            plain.get(0).release((lease, outcome) -> client.redlock().acquireAsync("orders", options()));
            plain.get(1).releaseAsync();
            fenced.releaseAsync();
        });
        world.runMs(5);
        List<String> log = node(0).redis().log().stream().filter(line -> line.contains(" orders ->")).toList();
        assertEquals(List.of("release_fenced orders -> 1", "acquire orders -> 1"), log.subList(0, 2));
    }

    @Test
    void aFencedBatchRaisesTheCountersOfAllNodes() {
        VirtualWorld.Client client = world(3);
        node(2).redis().set(KeyText.counterName("orders/1"), AHEAD, -1);
        List<Lease> leases = leases(client, 3, options().fenced());
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals("1887437000000001", node(2).redis().get(KeyText.counterName("orders/1")));
        for (int i = 0; i < 3; i++) {
            String counter = KeyText.counterName("orders/" + i);
            assertEquals(node(0).redis().get(counter), node(1).redis().get(counter));
            assertEquals(node(0).redis().get(counter), node(2).redis().get(counter));
        }
    }

    @Test
    void anUnknownFencedBatchScriptIsSentInFull() {
        VirtualWorld.Client client = world(3);
        countersApart(3);
        List<Lease> leases = leases(client, 3, options().fenced());
        eachNode(node -> node.redis().flushScripts());
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2));
    }

    /** A node gets the second rollback only, and asks for the script when the first one has all its outcomes. */
    @Test
    void anUnknownFencedBatchScriptIsSentAfterTheFirstReleaseHasEnded() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().thriftyQuorums(true));
        String first = "orders/0";
        int late = nodeWithoutKey(client, first);
        String second = IntStream.range(1, 20)
                .mapToObj(i -> "orders/" + i)
                .filter(name -> nodeWithoutKey(client, name) != late)
                .findFirst()
                .orElseThrow();
        for (int i = 0; i < 3; i++) {
            String counter = Long.toString(Long.parseLong(AHEAD) + i);
            node(i).redis().set(KeyText.counterName(first), counter, -1);
            node(i).redis().set(KeyText.counterName(second), counter, -1);
        }
        // Shorter than the delay after which a thrifty attempt asks the other nodes.
        eachNode(node -> node.delay(() -> 400_000));
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine().execute(() -> {
            for (String name : List.of(first, second)) {
                outcomes.add(client.redlock().acquireAsync(name, options().fenced()).toCompletableFuture());
            }
        });
        world.await("both raise their counters", 100, () -> client.redlock().counters().raisedCount() == 2);
        node(late).redis().flushScripts();
        node(late).delay(() -> 50_000_000);
        client.engine().execute(() -> outcomes.forEach(outcome -> outcome.cancel(true)));
        world.runMs(200);
        assertEquals(null, status(client, late).problem());
        assertEquals(0, status(client, late).disconnectCount());
        assertEquals(1, count(late, "release_many_fenced"), "of the second one alone");
        assertEquals(0, keysLeft());
    }

    /** The node that a fenced attempt does not ask. */
    private int nodeWithoutKey(VirtualWorld.Client client, String name) {
        Lease lease = acquired(get(client.redlock().acquireAsync(name, options().fenced())));
        int without = IntStream.range(0, 3).filter(i -> keysLeft(i) == 0).findFirst().orElseThrow();
        release(lease);
        return without;
    }

    @Test
    void anUnknownBatchScriptIsSentInFull() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        node(0).redis().flushScripts();
        node(1).redis().flushScripts();
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2));
    }

    @Test
    void anErrorFailsEachVoteAndRetainsTheReleases() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.redis().failNext("release_many", "BUSY Redis is busy running a script.", 1));
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.UNKNOWN, get(outcome)));
        world.runMs(1_000);
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2), "undelivered releases are sent");
    }

    /** The number of all keys is the short reply; any other number is none. */
    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1, 2, 4})
    void anotherNumberThanThatOfTheKeysIsNoReply(int number) {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.hostility((wire, words, honest) -> wire.send(words.get(0).startsWith("EVAL")
                ? Unpooled.copiedBuffer(":" + number + "\r\n", StandardCharsets.US_ASCII)
                : honest)));
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.UNKNOWN, get(outcome)));
        eachNode(node -> node.hostility(null));
        world.runMs(5_000);
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2), "sent after the reconnect");
    }

    @Test
    void aBrokenConnectionMakesEachVoteUnknownAndRetainsTheReleases() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.loseRequests(name -> true));
        List<CompletableFuture<ReleaseOutcome>> outcomes = releaseTogether(client, leases);
        world.runMs(20);
        eachNode(node -> node.breakConnections());
        outcomes.forEach(outcome -> assertEquals(ReleaseOutcome.UNKNOWN, get(outcome)));
        world.runMs(5_000);
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2), "sent after the reconnect");
    }

    @Test
    void aDisconnectedNodeGetsEachReleaseLater() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        node(2).crash();
        world.runMs(5);
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        assertEquals(3, keysLeft(2), "its keys outlived the crash");
        node(2).restart(true);
        world.runMs(6_000);
        assertEquals(0, keysLeft(2), "and are gone after the restart");
    }

    @Test
    void releasesAreRetainedWhileAllNodesAreDisconnected() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.crash());
        world.runMs(5);
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.UNKNOWN, get(outcome)));
    }

    @Test
    void closeReleasesHeldLocksInBatches() {
        VirtualWorld.Client client = world(3);
        leases(client, 10);
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("closed", 2_000, report::isDone);
        assertEquals(10, report.join().releasedCount());
        assertEquals(1, count(0, "release_many"));
        assertEquals(0, keysLeft(0) + keysLeft(1) + keysLeft(2));
    }

    @Test
    void rollbacksFormABatch() {
        VirtualWorld.Client client = world(3);
        leases(client, 6);
        VirtualWorld.Client other = client(context());
        List<CompletableFuture<AcquireOutcome>> refused = new ArrayList<>();
        other.engine().execute(() -> {
            for (int i = 0; i < 6; i++) {
                refused.add(other.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture());
            }
        });
        world.settle();
        refused.forEach(outcome -> assertEquals(AcquireOutcome.Kind.CONTENDED, get(outcome).kind()));
        world.runMs(10);
        assertEquals(1, count(0, "release_many"));
        assertEquals(6, keysLeft(0), "the holder's");
    }

    /** Two nodes with scripts, one with DELEX, one with DELIFEQ, one that supports only SET IFEQ. */
    private VirtualWorld.Client mixedWorld() {
        world = new VirtualWorld(5);
        node(1).redis().kind(FakeRedis.Kind.REDIS_8_4);
        node(2).redis().kind(FakeRedis.Kind.VALKEY_9);
        node(3).redis().kind(FakeRedis.Kind.VALKEY_8_1);
        return client(context());
    }

    private void assertMixedCounts(int batches, int singles, int natives) {
        for (int scripted : new int[]{0, 3, 4}) {
            assertEquals(batches, count(scripted, "release_many"), "batches on node " + scripted);
            assertEquals(singles, count(scripted, "release"), "single releases on node " + scripted);
        }
        assertEquals(natives, count(1, "DELEX"), "each in its own call");
        assertEquals(natives, count(2, "DELIFEQ"), "each in its own call");
        assertEquals(0, count(1, "release_many") + count(2, "release_many") + count(1, "release")
                + count(2, "release"), "scripts on nodes that have a cheaper command");
    }

    private int keysLeft() {
        int left = 0;
        for (int i = 0; i < world.nodes().size(); i++) {
            left += keysLeft(i);
        }
        return left;
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 1", "2, 1, 0", "64, 1, 0", "65, 1, 1", "66, 2, 0"})
    void eachNodeOfAMixedGroupGetsItsCheapestCommand(int leaseCount, int batches, int singles) {
        VirtualWorld.Client client = mixedWorld();
        releaseTogether(client, leases(client, leaseCount))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertMixedCounts(batches, singles, leaseCount);
        assertEquals(0, keysLeft());
    }

    @Test
    void aMixedGroupIsReused() {
        VirtualWorld.Client client = mixedWorld();
        for (int i = 1; i <= 5; i++) {
            releaseTogether(client, leases(client, 3))
                    .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
            world.runMs(10);
            assertMixedCounts(i, 0, 3 * i);
        }
        assertEquals(0, keysLeft());
    }

    @Test
    void eachReleaseOfAMixedGroupHasItsOwnOutcome() {
        VirtualWorld.Client client = mixedWorld();
        assertEachReleaseHasItsOwnOutcome(client);
        eachNode(node -> assertEquals("next holder", node.redis().get("orders/3")));
        assertEquals(5, keysLeft());
    }

    /** On each node, whatever its command. */
    @Test
    void anAcquireDoesNotOvertakeTheReleaseOnAnyNodeOfAMixedGroup() {
        VirtualWorld.Client client = mixedWorld();
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.redis().startLog());
        List<CompletableFuture<AcquireOutcome>> again = new ArrayList<>();
        client.engine().execute(() -> {
            leases.forEach(Lease::releaseAsync);
            again.add(client.redlock().acquireAsync("orders/1", options()).toCompletableFuture());
            client.redlock().acquireAsync("others", options());
        });
        world.settle();
        acquired(get(again.get(0)));
        world.runMs(10);
        // Commands for other names may precede the batch, or follow it.
        eachNode(node -> {
            List<String> log = new ArrayList<>(node.redis().log());
            assertTrue(log.remove("acquire others -> 1"), log::toString);
            assertEquals(List.of("release orders/0 -> 1", "release orders/1 -> 1", "release orders/2 -> 1",
                    "acquire orders/1 -> 1"), log);
        });
    }

    /** The plain releases are written before the fenced ones, and nothing is lost in between. */
    @Test
    void fencedAndPlainReleasesOfATurnGoToAMixedGroup() {
        VirtualWorld.Client client = mixedWorld();
        countersApart(6);
        List<Lease> leases = leases(client, 3);
        for (int i = 3; i < 6; i++) {
            leases.add(acquired(get(client.redlock()
                    .acquireAsync("orders/" + i, options().fenced())
                    .toCompletableFuture())));
        }
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertMixedCounts(1, 0, 3);
        for (int i = 0; i < 5; i++) {
            assertEquals(1, count(i, "release_many_fenced"), "no server has a native command for it");
        }
        assertEquals(0, keysLeft());
    }

    @Test
    void nodesWithTheNativeCommandGetNoScripts() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client(context());
        releaseTogether(client, leases(client, 3))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        for (int i = 0; i < 3; i++) {
            assertEquals(3, count(i, "DELEX"));
            assertEquals(0, count(i, "release_many") + count(i, "release"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void aDisconnectedNodeOfAMixedGroupGetsEachReleaseLater(int away) {
        VirtualWorld.Client client = mixedWorld();
        List<Lease> leases = leases(client, 3);
        node(away).crash();
        world.runMs(5);
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(3, keysLeft(), "its keys outlived the crash");
        assertEquals(3, status(client, away).undeliveredReleaseCount(), "each of them, once");
        node(away).restart(true);
        world.runMs(6_000);
        assertEquals(0, keysLeft(), "and are gone after the restart");
    }

    @Test
    void aMixedGroupWhoseConnectionsBreakGetsEachReleaseLater() {
        VirtualWorld.Client client = mixedWorld();
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.loseRequests(name -> true));
        List<CompletableFuture<ReleaseOutcome>> outcomes = releaseTogether(client, leases);
        world.runMs(20);
        eachNode(node -> node.breakConnections());
        outcomes.forEach(outcome -> assertEquals(ReleaseOutcome.UNKNOWN, get(outcome)));
        world.runMs(5_000);
        assertEquals(0, keysLeft(), "sent after the reconnect");
    }

    @Test
    void aNodeThatRejectsItsNativeCommandGetsTheScript() {
        VirtualWorld.Client client = mixedWorld();
        List<Lease> leases = leases(client, 3);
        node(1).redis().failNext("DELEX", "NOPERM User app has no permissions to run the 'delex' command", 3);
        releaseTogether(client, leases).forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(0, keysLeft());
        releaseTogether(client, leases(client, 3))
                .forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        world.runMs(10);
        assertEquals(1, count(1, "release_many"), "from then on it gets scripts only");
        assertEquals(6, count(2, "DELIFEQ"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"*2\r\n:1\r\n:1\r\n", ":1\r\n", "+OK\r\n", "*3\r\n:1\r\n+x\r\n:1\r\n", "_\r\n",
        "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "*3\r\n*1\r\n:1\r\n:1\r\n:1\r\n"})
    void aMalformedBatchReplyClosesTheConnection(String answer) {
        VirtualWorld.Client client = world(3);
        // The outcomes of this batch must not count for the next.
        releaseTogether(client, leases(client, 3));
        List<Lease> leases = leases(client, 3);
        node(0).pause();
        List<CompletableFuture<ReleaseOutcome>> outcomes = releaseTogether(client, leases);
        node(0).sendRaw(answer);
        world.runMs(1);
        assertEquals(NodeState.WAITING, status(client, 0).state(), () -> answer);
        outcomes.forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
        node(0).resume();
        world.runMs(5_000);
        assertEquals(0, keysLeft(0));
    }

    @Test
    void aPushIsNotAReply() {
        VirtualWorld.Client client = world(3);
        List<Lease> leases = leases(client, 3);
        eachNode(node -> node.pause());
        List<CompletableFuture<ReleaseOutcome>> outcomes = releaseTogether(client, leases);
        eachNode(node -> node.sendRaw(">3\r\n:1\r\n:0\r\n:1\r\n"));
        world.runMs(1);
        outcomes.forEach(outcome -> assertFalse(outcome.isDone()));
        eachNode(node -> node.resume());
        outcomes.forEach(outcome -> assertEquals(ReleaseOutcome.RELEASED, get(outcome)));
    }
}
