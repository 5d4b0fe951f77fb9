package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The fencing part of the engine: round trips, raises, fenced releases, and failures during a raise. */
class FencedTest extends VirtualTest {

    /** The counters of these tests are small numbers. With a restart guard, they would continue from the clock. */
    @Override
    protected RedlockContext context() {
        return super.context().restartGuard(RestartGuardMode.OFF);
    }

    private static final long TRIP_NS = 2_000_000;
    private static final String COUNTER = KeyText.counterName("orders");

    private VirtualWorld.Client client;

    private void nodesWithCounters(long... counters) {
        client = world(counters.length);
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        for (int i = 0; i < counters.length; i++) {
            counter(i, counters[i]);
        }
    }

    private void counter(int nodeIndex, long value) {
        node(nodeIndex).redis().set(COUNTER, Long.toString(value), 86_400_000);
    }

    private String counter(int nodeIndex) {
        return node(nodeIndex).redis().get(COUNTER);
    }

    private static AcquireOptions fenced() {
        return options().fenced();
    }

    private long raisedCount() {
        return client.redlock().counters().raisedCount();
    }

    @Test
    void equalCountersNeedOneRoundTrip() {
        nodesWithCounters(7, 7, 7, 7, 7);
        long startNs = world.nowNs();
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "incremented");
        assertEquals(TRIP_NS, world.nowNs() - startNs, "one round trip");
        assertEquals(0, raisedCount(), "nothing to raise");
    }

    /** Three equal counters of five nodes decide; the client does not wait for the other two. */
    @Test
    void aQuorumOfEqualCountersDecidesImmediately() {
        nodesWithCounters(7, 7, 7, 7, 7);
        node(3).pause();
        node(4).pause();
        long startNs = world.nowNs();
        assertEquals(8, acquired(acquire(client, fenced())).fencingToken(), "three of five");
        assertEquals(TRIP_NS, world.nowNs() - startNs, "one round trip");
    }

    @Test
    void differentCountersNeedASecondRoundTrip() {
        nodesWithCounters(1, 5, 9);
        long startNs = world.nowNs();
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(10, lease.fencingToken(), "the highest value");
        assertEquals(2 * TRIP_NS, world.nowNs() - startNs, "two round trips");
        assertEquals(1, raisedCount(), "counted");
        world.runMs(5);
        assertEquals(List.of("10", "10", "10"), List.of(counter(0), counter(1), counter(2)),
                "the counters agree again");
        assertEquals((validityMs(10_000) - 5) * 1_000_000 - 2 * TRIP_NS, lease.remainingValidityNs(),
                "both round trips and the five milliseconds reduce the validity");
    }

    /** Only the lower counters are raised; two of five have the highest value already, so one reply is enough. */
    @Test
    void onlyLaggingCountersAreRaised() {
        nodesWithCounters(9, 9, 5, 4, 3);
        eachNode(node -> node.redis().startLog());
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "the highest value");
        world.runMs(5);
        for (int i = 0; i < 5; i++) {
            boolean isRaised = node(i).redis().log().contains("raise orders -> 1");
            assertEquals(i >= 2, isRaised, "node " + i + ": " + node(i).redis().log());
        }
    }

    @Test
    void aLateReplyIsAwaitedOnlyIfItCanDecide() {
        nodesWithCounters(1, 5, 9);
        node(2).delay(() -> 10_000_000);
        long startNs = world.nowNs();
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "the late value is the highest");
        assertTrue(world.nowNs() - startNs >= 20_000_000, "the client waited for it");
    }

    /** The node timeout ends the wait; the two grants do not agree on a token, so the lower counter is raised. */
    @Test
    void aSilentNodeDelaysTheDecisionByOneNodeTimeoutAtMost() {
        nodesWithCounters(1, 5, 9);
        node(2).pause();
        long startNs = world.nowNs();
        assertEquals(6, acquired(acquire(client, fenced())).fencingToken(), "of the nodes that replied");
        long tookNs = world.nowNs() - startNs;
        assertTrue(tookNs >= NODE_TIMEOUT_MS * 1_000_000L && tookNs <= NODE_TIMEOUT_MS * 1_000_000L + 2 * TRIP_NS,
                "the node timeout and a round trip: " + tookNs);
    }

    @Test
    void aRaiseThatFailsRollsBack() {
        nodesWithCounters(1, 5, 9);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        node(1).redis().failNext("raise", "OOM command not allowed", 1);
        long startNs = world.nowNs();
        AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(2 * TRIP_NS, world.nowNs() - startNs, "immediately");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        world.runMs(5);
        assertEquals(0, keyCount(), "rolled back");
        assertEquals(List.of("10", "10", "10"), List.of(counter(0), counter(1), counter(2)),
                "and the release has raised the others");
        assertEquals(11, acquired(acquire(client, fenced())).fencingToken(), "the next one in one round trip");
        assertEquals(1, raisedCount(), "one raise in all");
    }

    @Test
    void oneOfTwoRaisesIsEnoughForAQuorum() {
        nodesWithCounters(1, 5, 9);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "two have the value ten");
    }

    /** Nodes that did not grant do not count, whatever they would reply to a raise. */
    @Test
    void aNodeThatDidNotGrantDoesNotCountInTheRaise() {
        nodesWithCounters(1, 5, 9, 9, 9);
        node(3).redis().set("orders", "foreign", -1);
        node(4).redis().set("orders", "foreign", -1);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        AcquireOutcome outcome = acquire(client, fenced());
        assertFalse(outcome.isAcquired(), () -> "two of five have the value ten: " + outcome);
    }

    /** The claim comes from the pool: votes of its earlier raise must not count. */
    @Test
    void aSecondRaiseStartsWithoutVotes() {
        nodesWithCounters(1, 5, 9);
        assertEquals(10, acquiredAndReleased(), "raised");
        counter(0, 20);
        counter(1, 25);
        counter(2, 29);
        eachNode(node -> node.redis().failNext("raise", "OOM command not allowed", 1));
        assertFalse(acquire(client, fenced()).isAcquired(), "no counter was raised this time");
        assertEquals(2, raisedCount(), "a raise was sent");
    }

    /** Another holder's key has replaced this one, so the raise is refused there. */
    @Test
    void aRaiseIsRefusedIfTheKeyIsGone() {
        nodesWithCounters(1, 5, 9);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is in flight");
        node(0).redis().set("orders", "next holder", 60_000);
        node(1).redis().set("orders", "next holder", 60_000);
        assertEquals(AcquireOutcome.Kind.CONTENDED, get(outcome).kind(), () -> outcome.join().toString());
        world.runMs(5);
        assertEquals("next holder", key(0), "the other key is unchanged");
        assertNull(key(2), "this key is released");
    }

    @Test
    void aRaiseWithoutRepliesEndsAtASecondNodeTimeout() {
        nodesWithCounters(1, 5, 9);
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is in flight");
        node(0).pause();
        node(1).pause();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), () -> outcome.join().toString());
        assertEquals(TRIP_NS + NODE_TIMEOUT_MS * 1_000_000L, world.nowNs() - startNs,
                "a round trip and a node timeout");
        node(0).resume();
        node(1).resume();
        world.runMs(10);
        assertEquals(0, keyCount(), "rolled back after the late raises");
    }

    @Test
    void connectionsThatBreakDuringARaiseEndIt() {
        nodesWithCounters(1, 5, 9);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(2);
        long startNs = world.nowNs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), () -> outcome.join().toString());
        assertTrue(world.nowNs() - startNs < TRIP_NS, "immediately");
        world.runMs(1_000);
        assertEquals(0, keyCount(), "the undelivered release is sent");
    }

    @Test
    void aClockJumpDuringARaiseRevokesTheGrant() {
        world = new VirtualWorld(3);
        client = client(context().nodeTimeout(Duration.ofSeconds(5)));
        counter(0, 1);
        counter(2, 9);
        node(1).redis().set("orders", "foreign", -1);
        world.runMs(2_500);
        eachNode(node -> node.delay(() -> 10_000_000));
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(11);
        node(0).delay(() -> 700_000_000);
        node(2).redis().clockJump(20_000);
        world.runMs(1_200);
        assertEquals(1, raisedCount(), "the raise to node 0 is in flight");
        assertEquals(NodeState.QUARANTINED, status(client, 2).state(), "node 2 is in quarantine");
        assertFalse(outcome.isDone(), "not decided");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(),
                () -> "two have the value ten, one of them may have lost its key: " + outcome.join());
    }

    /**
     * Nodes 0 and 1 have granted and are being raised; node 2 is silent and grants late. Then the clock of node 1
     * jumps: the lock is still on two trusted nodes.
     */
    @Test
    void aLateGrantDuringTheRaiseReplacesARevokedOne() {
        world = new VirtualWorld(3);
        client = client(context().nodeTimeout(Duration.ofSeconds(1)).clockSampleInterval(Duration.ofMillis(100)));
        counter(0, 1);
        counter(1, 9);
        node(2).delay(() -> 600_000_000);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(900);
        node(0).delay(() -> 400_000_000);
        world.runMs(110);
        assertEquals(1, raisedCount(), "the raise to node 0 is in flight, node 2 has timed out");
        node(1).redis().clockJump(20_000);
        world.await("the jump is detected", 400, () -> status(client, 1).clockJumpCount() == 1);
        assertFalse(outcome.isDone(), "precondition: the jump is detected first");
        assertEquals(10, acquired(get(outcome)).fencingToken(), "nodes 0 and 2 hold it");
    }

    /** A node whose scripts were flushed between the acquire and the raise gets the raise again in full. */
    @Test
    void aRaiseIsSentAgainAfterNoscript() {
        nodesWithCounters(1, 5, 9);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(1);
        eachNode(node -> node.redis().flushScripts());
        assertEquals(10, acquired(get(outcome)).fencingToken(), "raised at the second try");
        assertEquals(1, raisedCount(), "one raise was necessary");
    }

    /** A raise is not sent again after the release of its token, because it would raise a counter without a holder. */
    @Test
    void aRaiseIsNotSentAgainAfterItsAttempt() {
        nodesWithCounters(1, 5, 9);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(1);
        eachNode(node -> node.redis().flushScripts());
        world.runMs(1);
        assertEquals(1, raisedCount(), "the raise is in flight");
        eachNode(node -> node.redis().startLog());
        outcome.cancel(false);
        world.runMs(20);
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("raise")),
                node.redis().log()::toString));
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aFencedWaitBudgetEndsWithinTwoNodeTimeouts() {
        nodesWithCounters(1, 5, 9);
        eachNode(node -> node.redis().failNext("raise", "OOM command not allowed", 1_000));
        eachNode(node -> node.redis().failNext("release_fenced", "OOM command not allowed", 1_000));
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, fenced().waitUpTo(Duration.ofMillis(300)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertTrue(nowMs() - startMs <= 300 + 2 * NODE_TIMEOUT_MS, "it took " + (nowMs() - startMs) + " ms");
    }

    @Test
    void aRaiseThatUsesUpTheValidityIsTooSlow() {
        nodesWithCounters(1, 5, 9);
        AcquireOutcome outcome = acquire(client,
                AcquireOptions.ofTtl(Duration.ofSeconds(1))
                        .tryOnce()
                        .fenced()
                        .minValidity(Duration.ofMillis(validityMs(1_000) - 3)));
        assertEquals(AcquireOutcome.Kind.TOO_SLOW, outcome.kind(), outcome::toString);
        world.runMs(5);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aReleaseRaisesCountersOfNodesThatRepliedLate() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "two agree");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two replies decide");
        world.runMs(39);
        assertEquals("4", counter(2), "the plain release is sent, the reply to the acquire is pending");
        assertNull(key(2), "released");
        world.runMs(25);
        assertEquals("8", counter(2), "raised after the release");
    }

    /** No counter differs, so the plain release is used. */
    @Test
    void aReleaseTouchesNoCounterIfAllAgree() {
        nodesWithCounters(7, 7, 7);
        Lease lease = acquired(acquire(client, fenced()));
        world.runMs(5);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(5);
        eachNode(node -> assertEquals(List.of("release orders -> 1"), node.redis().log()));
    }

    /** After a raise with the replies of all nodes, no counter differs either. */
    @Test
    void aReleaseTouchesNoCounterAfterARaiseOfAll() {
        nodesWithCounters(1, 5, 9);
        node(1).delay(() -> 3_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the reply of node 1 to the raise is pending");
        world.runMs(20);
        eachNode(node -> assertTrue(node.redis().log().contains("release_fenced orders -> 1"),
                node.redis().log()::toString));
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        counter(0, 1);
        counter(1, 5);
        Lease next = acquired(acquire(client, fenced()));
        world.runMs(5);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(next));
        world.runMs(5);
        eachNode(node -> assertEquals("release orders -> 1", last(node.redis().log())));
        assertEquals(List.of("11", "11", "11"), List.of(counter(0), counter(1), counter(2)), "the counters agree");
    }

    private static String last(List<String> lines) {
        return lines.get(lines.size() - 1);
    }

    /** A node replies after the grant and before the release, with a lower counter. */
    @Test
    void aReleaseRaisesALowerCounterOfALateReply() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 5_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        world.runMs(20);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(20);
        assertEquals(List.of("8", "8", "8"), List.of(counter(0), counter(1), counter(2)), "the counters agree");
        assertEquals(List.of("release_fenced orders -> 1"), node(2).redis().log(), "by the release itself");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a late refusal", "a late error"})
    void aCounterThatALateReplyShowsLaggingIsRaisedAfterTheRelease(String answer) {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        if (answer.equals("a late error")) {
            node(2).redis().failNext("acquire_fenced", "OOM command not allowed", 1);
        } else {
            node(2).redis().set("orders", "next holder", -1);
        }
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two replies decide");
        world.runMs(100);
        assertEquals("8", counter(2), "raised");
        assertEquals(answer.equals("a late error") ? null : "next holder", key(2), "and nothing else changed");
    }

    /** Nodes 1 and 2 are slow; the reply of node 1 to the release decides, not that to the second release. */
    @Test
    void theReplyToTheSecondReleaseIsNotAVote() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "two have lost it");
        world.runMs(100);
        assertEquals(List.of("acquire_fenced orders -> 4", "release orders -> 1", "release_fenced orders -> 0"),
                node(2).redis().log());
        assertEquals("8", counter(2), "raised");
    }

    /** A disconnect before the second release is sent or answered leaves no undelivered release. */
    @ParameterizedTest
    @ValueSource(ints = {39, 50, 59})
    void aDisconnectAroundTheSecondReleaseLeavesNothing(int breakAfterMs) {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two replies decide");
        world.runMs(breakAfterMs - 4);
        node(2).breakConnections();
        world.runMs(5_000);
        assertEquals(0, keyCount(), "released everywhere");
        assertEquals(9, acquired(acquire(client, fenced())).fencingToken(), "the next one");
    }

    /** A grant after the decision matters to the release: the counter of its node may be higher than the others. */
    @Test
    void aReleaseRaisesToTheValueOfALateGrant() {
        nodesWithCounters(7, 7, 30);
        node(2).delay(() -> 5_000_000);
        Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "two agree");
        world.runMs(20);
        release(lease);
        world.runMs(20);
        assertEquals(List.of("31", "31", "31"), List.of(counter(0), counter(1), counter(2)),
                "the highest value of all replies");
    }

    @Test
    void aLostCounterRestartsAboveItsLastValue() {
        nodesWithCounters(1, 1, 1);
        long first = acquiredAndReleased();
        eachNode(node -> node.redis().loseCounters());
        long second = acquiredAndReleased();
        assertTrue(second > first && second >= 1L << 40, "from the clock: " + second);
        eachNode(node -> node.redis().loseCounters());
        world.runMs(1_100);
        long third = acquiredAndReleased();
        assertTrue(third > second, "a second later: " + third + " after " + second);
    }

    private long acquiredAndReleased() {
        Lease lease = acquired(acquire(client, fenced()));
        release(lease);
        world.runMs(5);
        return lease.fencingToken();
    }

    @Test
    void aCancelledRaiseLeavesNothing() {
        nodesWithCounters(1, 5, 9);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is in flight");
        assertTrue(outcome.cancel(false), "cancelled");
        world.runMs(10);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void countersExpireAfterFenceCounterTtl() {
        world = new VirtualWorld(3);
        client = client(context().fenceCounterTtl(Duration.ofHours(1)));
        counter(0, 1);
        Lease lease = acquired(acquire(client, fenced()));
        for (int i = 0; i < 3; i++) {
            assertEquals(3_600_000, node(i).redis().pttl(COUNTER), 10, "node " + i);
        }
        release(lease);
    }

    /** The counter of a node without a grant lags, so the release raises it: else the next lock takes longer. */
    private void aReleaseRaisesTheCounterOf(Consumer<FakeRedis> nodeThatDoesNotGrant) {
        VirtualWorld.Client client = world(3);
        release(acquired(acquire(client, fenced())));
        world.runMs(1);
        FakeRedis redis = node(2).redis();
        nodeThatDoesNotGrant.accept(redis);
        Lease lease = acquired(acquire(client, fenced()));
        world.runMs(1);
        assertTrue(redis.counter("orders") < lease.fencingToken());
        release(lease);
        world.runMs(1);
        assertEquals(lease.fencingToken(), redis.counter("orders"));
    }

    @Test
    void aReleaseRaisesTheCounterOfANodeThatRefused() {
        aReleaseRaisesTheCounterOf(redis -> redis.set("orders", "foreign", 60_000));
    }

    @Test
    void aReleaseRaisesTheCounterOfANodeThatFailed() {
        aReleaseRaisesTheCounterOf(redis -> redis.failNext("acquire_fenced",
                "OOM command not allowed when used memory > 'maxmemory'.", 1));
    }
}
