package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.engine.LockKey;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine's part of fencing: trips, raises, what a release carries, and what happens when a raise goes wrong. */
class FencedTest extends VirtualTest {

    private static final long TRIP_NS = 2_000_000;
    private static final String COUNTER = LockKey.counterName("orders");

    private VirtualWorld.Client client;

    private void nodesWithCounters(final long... counters) {
        client = world(counters.length);
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        for (int i = 0; i < counters.length; i++) {
            counter(i, counters[i]);
        }
    }

    private void counter(final int nodeIndex, final long value) {
        node(nodeIndex).redis().set(COUNTER, Long.toString(value), 86_400_000);
    }

    private String counter(final int nodeIndex) {
        return node(nodeIndex).redis().get(COUNTER);
    }

    private static AcquireOptions fenced() {
        return options().fenced();
    }

    private long raisedCount() {
        return client.redlock().counters().raisedCount();
    }

    @Test
    void nodesThatAgreeNeedOneTrip() {
        nodesWithCounters(7, 7, 7, 7, 7);
        final long startNs = world.nowNs();
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "counted on");
        assertEquals(TRIP_NS, world.nowNs() - startNs, "one trip");
        assertEquals(0, raisedCount(), "nothing to raise");
    }

    /** With s = 3 of 5 grants k is 1: three answers that agree decide, the other two are not waited for. */
    @Test
    void aQuorumThatAgreesWaitsForNobody() {
        nodesWithCounters(7, 7, 7, 7, 7);
        node(3).pause();
        node(4).pause();
        final long startNs = world.nowNs();
        assertEquals(8, acquired(acquire(client, fenced())).fencingToken(), "three of five");
        assertEquals(TRIP_NS, world.nowNs() - startNs, "one trip");
    }

    @Test
    void nodesThatDriftedApartNeedASecondTrip() {
        nodesWithCounters(1, 5, 9);
        final long startNs = world.nowNs();
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(10, lease.fencingToken(), "the highest");
        assertEquals(2 * TRIP_NS, world.nowNs() - startNs, "two trips");
        assertEquals(1, raisedCount(), "counted");
        world.runMs(5);
        assertEquals(List.of("10", "10", "10"), List.of(counter(0), counter(1), counter(2)), "they agree again");
        assertEquals((validityMs(10_000) - 5) * 1_000_000 - 2 * TRIP_NS, lease.remainingValidityNs(),
                "both trips and the five milliseconds count against the validity");
    }

    /** Only those below the highest are raised; two of five stand there already, so one answer is enough. */
    @Test
    void onlyWhoLagsIsRaised() {
        nodesWithCounters(9, 9, 5, 4, 3);
        eachNode(node -> node.redis().startLog());
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "the highest");
        world.runMs(5);
        for (int i = 0; i < 5; i++) {
            final boolean isRaised = node(i).redis().log().contains("raise orders -> 1");
            assertEquals(i >= 2, isRaised, "node " + i + ": " + node(i).redis().log());
        }
    }

    @Test
    void whoAnswersLateIsWaitedForOnlyWhereItCanDecide() {
        nodesWithCounters(1, 5, 9);
        node(2).delay(() -> 10_000_000);
        final long startNs = world.nowNs();
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "the late one is the highest");
        assertTrue(world.nowNs() - startNs >= 20_000_000, "it was waited for");
    }

    /** The node timeout ends the waiting; the two that granted are not enough for a token, so they are raised. */
    @Test
    void aSilentNodeIsNotWaitedForForEver() {
        nodesWithCounters(1, 5, 9);
        node(2).pause();
        final long startNs = world.nowNs();
        assertEquals(6, acquired(acquire(client, fenced())).fencingToken(), "of those that answered");
        final long tookNs = world.nowNs() - startNs;
        assertTrue(tookNs >= NODE_TIMEOUT_MS * 1_000_000L && tookNs <= NODE_TIMEOUT_MS * 1_000_000L + 2 * TRIP_NS,
                "the node timeout and a trip: " + tookNs);
    }

    @Test
    void aRaiseThatFailsRollsBack() {
        nodesWithCounters(1, 5, 9);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        node(1).redis().failNext("raise", "OOM command not allowed", 1);
        final long startNs = world.nowNs();
        final AcquireOutcome outcome = acquire(client, fenced());
        assertEquals(2 * TRIP_NS, world.nowNs() - startNs, "at once");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        world.runMs(5);
        assertEquals(0, keyCount(), "rolled back");
        assertEquals(List.of("10", "10", "10"), List.of(counter(0), counter(1), counter(2)),
                "and the release has raised what the raise did not");
        assertEquals(11, acquired(acquire(client, fenced())).fencingToken(), "the next one in one trip");
        assertEquals(1, raisedCount(), "one raise in all");
    }

    @Test
    void oneRaiseOfTwoIsEnough() {
        nodesWithCounters(1, 5, 9);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        assertEquals(10, acquired(acquire(client, fenced())).fencingToken(), "two stand at ten");
    }

    /** Nodes that did not grant count for nothing, whatever they could say to a raise. */
    @Test
    void whoDidNotGrantDoesNotStandAnywhere() {
        nodesWithCounters(1, 5, 9, 9, 9);
        node(3).redis().set("orders", "foreign", -1);
        node(4).redis().set("orders", "foreign", -1);
        node(0).redis().failNext("raise", "OOM command not allowed", 1);
        final AcquireOutcome outcome = acquire(client, fenced());
        assertFalse(outcome.isAcquired(), () -> "two of five stand at ten: " + outcome);
    }

    /** The attempt comes from a pool: what nodes said to its raise before is forgotten. */
    @Test
    void aSecondRaiseStartsFromNothing() {
        nodesWithCounters(1, 5, 9);
        assertEquals(10, acquiredAndReleased(), "raised");
        counter(0, 20);
        counter(1, 25);
        counter(2, 29);
        eachNode(node -> node.redis().failNext("raise", "OOM command not allowed", 1));
        assertFalse(acquire(client, fenced()).isAcquired(), "nobody was raised this time");
        assertEquals(2, raisedCount(), "it was tried");
    }

    /** Somebody else's key stands where ours was: the raise is refused there. */
    @Test
    void aRaiseIsRefusedWhereTheLockIsGone() {
        nodesWithCounters(1, 5, 9);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is on its way");
        node(0).redis().set("orders", "next holder", 60_000);
        node(1).redis().set("orders", "next holder", 60_000);
        assertEquals(AcquireOutcome.Kind.CONTENDED, get(outcome).kind(), () -> outcome.join().toString());
        world.runMs(5);
        assertEquals("next holder", key(0), "theirs is left alone");
        assertNull(key(2), "ours is taken back");
    }

    @Test
    void aRaiseThatNobodyAnswersEndsAtASecondNodeTimeout() {
        nodesWithCounters(1, 5, 9);
        final long startNs = world.nowNs();
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is on its way");
        node(0).pause();
        node(1).pause();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), () -> outcome.join().toString());
        assertEquals(TRIP_NS + NODE_TIMEOUT_MS * 1_000_000L, world.nowNs() - startNs, "a trip and a node timeout");
        node(0).resume();
        node(1).resume();
        world.runMs(10);
        assertEquals(0, keyCount(), "rolled back behind the late raises");
    }

    @Test
    void connectionsThatBreakDuringARaiseEndIt() {
        nodesWithCounters(1, 5, 9);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(2);
        final long startNs = world.nowNs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(), () -> outcome.join().toString());
        assertTrue(world.nowNs() - startNs < TRIP_NS, "at once");
        world.runMs(1_000);
        assertEquals(0, keyCount(), "the debt is paid");
    }

    @Test
    void aClockThatJumpsDuringARaiseTakesItsGrantAway() {
        world = new VirtualWorld(3);
        client = client(context().nodeTimeout(Duration.ofSeconds(5)));
        counter(0, 1);
        counter(2, 9);
        node(1).redis().set("orders", "foreign", -1);
        world.runMs(2_500);
        eachNode(node -> node.delay(() -> 10_000_000));
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(11);
        node(0).delay(() -> 700_000_000);
        node(2).redis().clockJump(20_000);
        world.runMs(1_200);
        assertEquals(1, raisedCount(), "the raise is on its way to node 0");
        assertEquals(NodeState.QUARANTINED, status(client, 2).state(), "node 2 is not trusted any more");
        assertFalse(outcome.isDone(), "not decided");
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind(),
                () -> "two stand at ten, one of them may have forgotten its key: " + outcome.join());
    }

    /**
     * Nodes 0 and 1 granted and are being brought together; node 2 was silent and grants late. Then node 1's clock
     * jumps: the lock still stands on two nodes that can be trusted.
     */
    @Test
    void aGrantThatComesDuringTheRaiseTakesThePlaceOfOneThatIsLost() {
        world = new VirtualWorld(3);
        client = client(context().nodeTimeout(Duration.ofSeconds(1)).clockSampleMs(100));
        counter(0, 1);
        counter(1, 9);
        node(2).delay(() -> 600_000_000);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(900);
        node(0).delay(() -> 400_000_000);
        world.runMs(110);
        assertEquals(1, raisedCount(), "the raise is on its way to node 0, node 2 was given up");
        node(1).redis().clockJump(20_000);
        world.await("the jump is seen", 400, () -> status(client, 1).clockJumpCount() == 1);
        assertFalse(outcome.isDone(), "this test wants the jump to be seen first");
        assertEquals(10, acquired(get(outcome)).fencingToken(), "nodes 0 and 2 hold it");
    }

    /** A node that has forgotten its scripts between the acquire and the raise is sent the raise again in full. */
    @Test
    void aRaiseThatMeetsAnUnknownScriptIsSentAgain() {
        nodesWithCounters(1, 5, 9);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(1);
        eachNode(node -> node.redis().flushScripts());
        assertEquals(10, acquired(get(outcome)).fencingToken(), "raised at the second try");
        assertEquals(1, raisedCount(), "there was one to make");
    }

    /** A raise is not sent again behind the release of its token: it would raise a counter for nobody. */
    @Test
    void aRaiseIsNotSentAgainWhenItsAttemptIsOver() {
        nodesWithCounters(1, 5, 9);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(1);
        eachNode(node -> node.redis().flushScripts());
        world.runMs(1);
        assertEquals(1, raisedCount(), "the raise is on its way");
        eachNode(node -> node.redis().startLog());
        outcome.cancel(false);
        world.runMs(20);
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("raise")),
                node.redis().log()::toString));
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aFencedWaitBudgetIsKeptToWithinTwoNodeTimeouts() {
        nodesWithCounters(1, 5, 9);
        eachNode(node -> node.redis().failNext("raise", "OOM command not allowed", 1_000));
        eachNode(node -> node.redis().failNext("release_fenced", "OOM command not allowed", 1_000));
        final long startMs = nowMs();
        final AcquireOutcome outcome = acquire(client, fenced().waitUpTo(Duration.ofMillis(300)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertTrue(nowMs() - startMs <= 300 + 2 * NODE_TIMEOUT_MS, "it took " + (nowMs() - startMs) + " ms");
    }

    @Test
    void validityThatTheRaiseUsedUpIsTooSlow() {
        nodesWithCounters(1, 5, 9);
        final AcquireOutcome outcome = acquire(client,
                AcquireOptions.ofTtl(Duration.ofSeconds(1))
                        .tryOnce()
                        .fenced()
                        .minValidity(Duration.ofMillis(validityMs(1_000) - 3)));
        assertEquals(AcquireOutcome.Kind.TOO_SLOW, outcome.kind(), outcome::toString);
        world.runMs(5);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void aReleaseBringsNodesTogetherThatTheGrantNeverWaitedFor() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "two agree");
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two answers decide");
        world.runMs(39);
        assertEquals("4", counter(2), "the plain release has gone there, the acquire's answer is not back yet");
        assertNull(key(2), "given back");
        world.runMs(25);
        assertEquals("8", counter(2), "brought up behind the release");
    }

    /** Nothing to bring up, so nothing that looks at counters. */
    @Test
    void aReleaseLooksAtNoCounterWhereAllAgree() {
        nodesWithCounters(7, 7, 7);
        final Lease lease = acquired(acquire(client, fenced()));
        world.runMs(5);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(5);
        eachNode(node -> assertEquals(List.of("release orders -> 1"), node.redis().log()));
    }

    /** After a raise that everybody has heard they agree as well. */
    @Test
    void aReleaseLooksAtNoCounterAfterARaiseOfAll() {
        nodesWithCounters(1, 5, 9);
        node(1).delay(() -> 3_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "the raise of node 1 is not answered yet");
        world.runMs(20);
        eachNode(node -> assertTrue(node.redis().log().contains("release_fenced orders -> 1"),
                node.redis().log()::toString));
        eachNode(node -> node.delay(() -> TRIP_NS / 2));
        counter(0, 1);
        counter(1, 5);
        final Lease next = acquired(acquire(client, fenced()));
        world.runMs(5);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(next));
        world.runMs(5);
        eachNode(node -> assertEquals("release orders -> 1", last(node.redis().log())));
        assertEquals(List.of("11", "11", "11"), List.of(counter(0), counter(1), counter(2)), "they agree");
    }

    private static String last(final List<String> lines) {
        return lines.get(lines.size() - 1);
    }

    /** What a node says after the grant and before the release: it stands below the others. */
    @Test
    void aReleaseBringsUpWhoAnsweredLateFromBelow() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 5_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        world.runMs(20);
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.RELEASED, release(lease));
        world.runMs(20);
        assertEquals(List.of("8", "8", "8"), List.of(counter(0), counter(1), counter(2)), "they agree");
        assertEquals(List.of("release_fenced orders -> 1"), node(2).redis().log(), "by the release itself");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a late refusal", "a late error"})
    void whoTurnsOutNotToHaveCountedIsBroughtUpBehindTheRelease(final String answer) {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        if (answer.equals("a late error")) {
            node(2).redis().failNext("acquire_fenced", "OOM command not allowed", 1);
        } else {
            node(2).redis().set("orders", "next holder", -1);
        }
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two answers decide");
        world.runMs(100);
        assertEquals("8", counter(2), "brought up");
        assertEquals(answer.equals("a late error") ? null : "next holder", key(2), "and nothing else changed");
    }

    /** Nodes 1 and 2 are slow; what node 1 answers to the release decides, not what it answers to the second. */
    @Test
    void theAnswerToTheSecondReleaseIsNoVote() {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        eachNode(node -> node.redis().startLog());
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "two have lost it");
        world.runMs(100);
        assertEquals(List.of("acquire_fenced orders -> 4", "release orders -> 1", "release_fenced orders -> 0"),
                node(2).redis().log());
        assertEquals("8", counter(2), "brought up");
    }

    /** A connection that ends before the second release is sent, or before it is answered, owes nobody anything. */
    @ParameterizedTest
    @ValueSource(ints = {39, 50, 59})
    void aConnectionThatEndsAroundTheSecondReleaseLeavesNothing(final int breakAfterMs) {
        nodesWithCounters(7, 7, 3);
        node(2).delay(() -> 20_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two answers decide");
        world.runMs(breakAfterMs - 4);
        node(2).breakConnections();
        world.runMs(5_000);
        assertEquals(0, keyCount(), "given back everywhere");
        assertEquals(9, acquired(acquire(client, fenced())).fencingToken(), "the next one");
    }

    /** A grant that arrives after the decision counts for the release: its node may stand higher than the rest. */
    @Test
    void aReleaseCarriesWhatALateGrantSaid() {
        nodesWithCounters(7, 7, 30);
        node(2).delay(() -> 5_000_000);
        final Lease lease = acquired(acquire(client, fenced()));
        assertEquals(8, lease.fencingToken(), "two agree");
        world.runMs(20);
        release(lease);
        world.runMs(20);
        assertEquals(List.of("31", "31", "31"), List.of(counter(0), counter(1), counter(2)), "the highest seen");
    }

    @Test
    void aLostCounterJumpsForward() {
        nodesWithCounters(1, 1, 1);
        final long first = acquiredAndReleased();
        eachNode(node -> node.redis().loseCounters());
        final long second = acquiredAndReleased();
        assertTrue(second > first && second >= 1L << 40, "from the clock: " + second);
        eachNode(node -> node.redis().loseCounters());
        world.runMs(1_100);
        final long third = acquiredAndReleased();
        assertTrue(third > second, "a second later: " + third + " after " + second);
    }

    private long acquiredAndReleased() {
        final Lease lease = acquired(acquire(client, fenced()));
        release(lease);
        world.runMs(5);
        return lease.fencingToken();
    }

    @Test
    void aCancelledRaiseLeavesNothing() {
        nodesWithCounters(1, 5, 9);
        final CompletableFuture<AcquireOutcome> outcome = begin(client, fenced());
        world.runMs(2);
        assertEquals(1, raisedCount(), "the raise is on its way");
        assertTrue(outcome.cancel(false), "cancelled");
        world.runMs(10);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void countersLiveForTheTimeThatIsConfigured() {
        world = new VirtualWorld(3);
        client = client(context().fenceCounterTtl(Duration.ofHours(1)));
        counter(0, 1);
        final Lease lease = acquired(acquire(client, fenced()));
        for (int i = 0; i < 3; i++) {
            assertEquals(3_600_000, node(i).redis().pttl(COUNTER), 10, "node " + i);
        }
        release(lease);
    }
}
