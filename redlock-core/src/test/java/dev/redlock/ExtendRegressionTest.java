package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Traps that other lock libraries fell into with extensions and watchdogs. */
class ExtendRegressionTest extends VirtualTest {

    private static final Duration SHORT = Duration.ofSeconds(3);

    @Test
    void aMissingKeyIsPutBackAndNotCounted() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "one of three still held it");
        assertEquals(LeaseState.LOST, lease.state(), "so the lock is lost");
        world.runMs(1);
        assertEquals(0, keyCount(), "what was put back is taken away again");
    }

    @Test
    void somebodyElsesTokenIsNotCountedAndNotTouched() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().set("orders", "next", 1_000);
        node(1).redis().set("orders", "next", 1_000);
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "a mismatch is no success");
        assertTrue(node(0).redis().pttl("orders") <= 1_000, "the other's expiry is left alone");
    }

    @Test
    void silentNodesLeaveTheOldValidity() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        final long before = lease.remainingValidityNs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "no quorum answered");
        assertTrue(lease.isHeld() && lease.remainingValidityNs() < before, "the old validity goes on: " + lease);
    }

    @Test
    void anExtensionThatComesAfterTheValidityIsNoSuccess() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(9_880);
        eachNode(node -> node.delay(() -> 20_000_000));
        assertEquals(ExtendOutcome.EXPIRED, extend(lease, TTL), "the answers came too late");
        assertEquals(LeaseState.EXPIRED, lease.state(), "over");
    }

    /** After a pause of the process what has arrived is read before any timer runs. */
    @Test
    void answersThatAreReadAfterTheValidityAreNoSuccess() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        final long endNs = world.nowNs() + lease.remainingValidityNs();
        eachNode(node -> node.delay(() -> 5_000_000));
        world.runUntilNs(endNs - 15_000_000);
        final CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        client.pause();
        world.runUntilNs(endNs);
        client.resume();
        assertEquals(ExtendOutcome.EXPIRED, get(outcome), "not even in the last nanosecond");
        assertEquals(LeaseState.EXPIRED, lease.state(), "it is over");
        assertEquals(0, client.redlock().counters().extendedCount(), "and not extended");
    }

    /** The old validity would have lasted, but the keys have got the shorter ttl, and that has ended. */
    @Test
    void answersThatAreReadAfterAShorterTtlAreNoSuccess() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        final CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(Duration.ofMillis(300))
                .toCompletableFuture();
        final long endNs = world.nowNs() + lease.remainingValidityNs();
        world.settle();
        client.pause();
        world.runUntilNs(endNs);
        client.resume();
        assertEquals(ExtendOutcome.EXPIRED, get(outcome), "not even in the last nanosecond");
        assertEquals(0, client.redlock().counters().extendedCount(), "and not extended");
    }

    /** Nothing may be sent for a lease that is over: an extension would put the keys back under the next holder. */
    @Test
    void anExtensionOfALeaseThatIsOverIsNotSent() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.redis().startLog());
        client.pause();
        world.runUntilNs(world.nowNs() + lease.remainingValidityNs());
        // The timer that ends the lease has not run yet.
        assertEquals(LeaseState.HELD, lease.state(), "this test wants the extension to be first");
        final CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        client.resume();
        world.runMs(5);
        assertEquals(ExtendOutcome.EXPIRED, outcome.getNow(null), "in the next turn");
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("extend")),
                node.redis().log()::toString));
    }

    /** Two are lost and the third is silent: no answer of its can help, so it is not waited for. */
    @Test
    void anExtensionWithoutAQuorumIsNotWaitedFor() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        node(2).pause();
        final CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        final long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome), "a quorum is out of reach");
        assertEquals(startMs, nowMs(), "at once");
    }

    /** One has lost it and one has failed: the third makes it certain that the lock is lost. */
    @Test
    void anExtensionIsNotDecidedWhileAnAnswerCanTellMore() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().set("orders", "foreign", 60_000);
        node(1).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        node(2).redis().set("orders", "foreign", 60_000);
        node(2).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "two of three do not hold it");
    }

    @Test
    void anExtensionThatNobodyAnswersEndsAtTheNodeTimeout() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        final long startMs = nowMs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "two are silent");
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "the node timeout of this ttl");
        assertTrue(lease.isHeld(), "the old validity stands");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the next one, with its own answers");
    }

    @Test
    void anExtensionWhoseConnectionsBreakEndsAtOnce() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        final java.util.concurrent.CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL)
                .toCompletableFuture();
        world.settle();
        final long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome), "two answers will not come");
        assertTrue(nowMs() - startMs < NODE_TIMEOUT_MS, "at once");
    }

    /** One renewed, one gone to somebody else, one in error: no majority, and no majority is certain to be lost. */
    @Test
    void oneOfEachIsNoExtensionAndNoLoss() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(0).redis().set("orders", "foreign", 60_000);
        node(1).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        final long startMs = nowMs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "one of three");
        assertEquals(startMs, nowMs(), "all have answered, so nothing is waited for");
        assertTrue(lease.isHeld(), "the old validity stands");
    }

    /** Where somebody else's key stands ours does not: nothing is owed there. */
    @Test
    void aNodeThatRefusedAnExtensionIsOwedNothing() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(2).redis().set("orders", "foreign", 60_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "two of three");
        world.runMs(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        world.settle();
        assertEquals(1, status(client, 0).undeliveredReleaseCount(), "it may hold ours");
        assertEquals(1, status(client, 1).undeliveredReleaseCount(), "it may hold ours");
        assertEquals(0, status(client, 2).undeliveredReleaseCount(), "it cannot");
    }

    /** Nobody answers, but the keys may have got the shorter ttl: the lease ends with that. */
    @Test
    void aShorterTtlEndsTheLeaseAlthoughNobodyAnswers() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.pause());
        lease.extendAsync(Duration.ofMillis(300));
        world.runMs(validityMs(300) - 1);
        assertTrue(lease.isHeld(), "300 ms less the clock allowance");
        world.runMs(2);
        assertEquals(LeaseState.EXPIRED, lease.state(), "and not one moment longer");
        assertEquals(1, client.redlock().counters().expiredCount(), "counted");
        assertEquals(0, client.engine().heldCount(), "nothing is held");
    }

    /** The node timeout is longer than the new ttl: the holder is told when the ttl has passed all the same. */
    @Test
    void aShorterTtlEndsTheLeaseBeforeTheNodeTimeout() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(2)));
        final List<String> told = new ArrayList<>();
        final Lease lease = acquired(acquire(client, options().listener(tell(told))));
        eachNode(node -> node.pause());
        lease.extendAsync(Duration.ofMillis(300));
        world.runMs(validityMs(300) + 1);
        assertEquals(List.of("EXPIRED"), told, "300 ms less the clock allowance");
        assertEquals(LeaseState.EXPIRED, lease.state(), "over");
    }

    @Test
    void automaticExtensionsCountAgainstTheirLimitOnlyWhileTheyAreHeld() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().autoExtendedLeasesMax(1));
        for (int i = 0; i < 3; i++) {
            final Lease lease = acquired(acquire(client, options().autoExtend()));
            assertEquals(1, client.engine().heldCount(), "held");
            assertEquals(AcquireOutcome.Kind.OVERLOADED,
                    get(client.redlock().acquireAsync("other", options().autoExtend())).kind(), "a second one");
            release(lease);
        }
    }

    @Test
    void theWatchdogHasALimit() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        final long startMs = nowMs();
        acquired(
                acquire(client,
                        AcquireOptions.ofTtl(SHORT)
                                .tryOnce()
                                .autoExtend(4, Duration.ofMinutes(5))
                                .listener(tell(told))));
        world.runMs(20_000);
        assertEquals(List.of("extended 1", "extended 2", "extended 3", "extended 4", "EXPIRED"), told, "then it ends");
        assertEquals(4, client.redlock().counters().extendedCount(), "counted");
        assertTrue(nowMs() - startMs > 6_000, "it was held beyond its ttl");
    }

    @Test
    void theWatchdogStopsAtTheLongestHold() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        acquired(acquire(client, AcquireOptions.ofTtl(SHORT)
                .tryOnce()
                .autoExtend(99, Duration.ofMillis(2_500))
                .listener(tell(told))));
        world.runMs(10_000);
        assertEquals(List.of("extended 1", "extended 2", "EXPIRED"), told, "no extension is begun after 2.5 s");
    }

    /** The longest hold counts from the acquisition, whatever the clock said then; at its end none is begun. */
    @ParameterizedTest
    @CsvSource({"0, 0", "999, 0", "1000, 0", "1001, 1", "2000, 1", "2001, 2"})
    void theLongestHoldCountsFromTheAcquisition(final long holdMsMax, final int extensions) {
        final VirtualWorld.Client client = world(3);
        world.runMs(7_000);
        acquired(acquire(client, AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(99, Duration.ofMillis(holdMsMax))));
        world.runMs(10_000);
        assertEquals(extensions, client.redlock().counters().extendedCount(), "one after each second");
        assertEquals(0, client.engine().heldCount(), "then it ends");
    }

    /** A caller knows that the work takes a minute: the watchdog, which knows ten seconds, must not cut it short. */
    @Test
    void theWatchdogNeverShortensALease() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        final Lease lease = acquired(acquire(client, options().autoExtend(1, Duration.ofHours(1))
                .listener(tell(told))));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofMinutes(1)), "by hand");
        final long endNs = world.nowNs() + lease.remainingValidityNs();
        world.runMs(50_000);
        assertEquals(endNs, world.nowNs() + lease.remainingValidityNs(), "the validity of the minute");
        assertEquals(List.of(), told, "nothing was extended");
        world.runMs(5_000);
        assertEquals(List.of("extended 1"), told, "when two thirds of its ttl were left");
        assertTrue(world.nowNs() + lease.remainingValidityNs() > endNs, "and longer than before: " + lease);
    }

    /** A lease that was lost may be used again by whoever is told first; the others are told all the same. */
    @Test
    void theListenerOfTheLostLeaseIsToldAlthoughTheLeaseIsUsedAgain() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        final List<String> toldLater = new ArrayList<>();
        final Lease reused = client.redlock().newLease();
        client.redlock().acquire(client.redlock().key("orders"), options().listener(tell(told)), reused, outcome -> {
        });
        world.runMs(1);
        eachNode(node -> node.redis().delete("orders"));
        reused.extend(10_000, (lease, outcome) -> client.redlock()
                .acquire(client.redlock().key("other"), options().listener(tell(toldLater)), lease, again -> {
                }));
        world.runMs(1);
        assertEquals("other", reused.resource(), "used again");
        assertTrue(reused.isHeld(), reused::toString);
        assertEquals(List.of("LOST"), told, "who held the lost one is told");
        assertEquals(List.of(), toldLater, "who holds the new one is not");
    }

    @Test
    void theWatchdogEndsWithTheRelease() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        final List<String> told = new ArrayList<>();
        final Lease lease = acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(99, Duration.ofMinutes(5)).listener(tell(told))));
        eachNode(node -> node.delay(() -> 10_000_000));
        world.runMs(1_005);
        final CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(ReleaseOutcome.RELEASED, get(released), "released while an extension was on its way");
        world.runMs(10_000);
        assertEquals(List.of(), told, "nothing is told after the release");
        assertEquals("release orders -> 1", node(0).redis().log().get(node(0).redis().log().size() - 1),
                "last command");
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void aFailingWatchdogIsNotSilent() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1)).listener(tell(told))));
        node(0).pause();
        node(1).pause();
        world.runMs(4_000);
        assertEquals(List.of("EXPIRED"), told, "the holder is told");
    }

    @Test
    void theWatchdogTriesAgainWhileValidityRemains() {
        final VirtualWorld.Client client = world(3);
        final List<String> told = new ArrayList<>();
        acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1)).listener(tell(told))));
        node(0).pause();
        node(1).pause();
        world.runMs(1_500);
        node(0).resume();
        world.runMs(600);
        assertEquals(List.of("extended 1"), told, "one failure is not the end");
    }

    @Test
    void twoExtensionsAtOnceAreOneAfterTheOther() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        final Lease lease = acquired(
                acquire(client, AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1))));
        world.runMs(1_005);
        final long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the automatic one is waited for");
        assertEquals(35_000_000, world.nowNs() - startNs, "the rest of its round trip, and one more");
        assertEquals(2, client.redlock().counters().extendedCount(), "both were made");
        assertTrue(lease.remainingValidityNs() > 9_000_000_000L, "the caller's ttl counts: " + lease);
    }

    @Test
    void aShorterTtlCountsFromTheMomentItIsSent() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        final Lease lease = lease(client);
        final CompletableFuture<ExtendOutcome> extended = lease.extendAsync(Duration.ofMillis(500))
                .toCompletableFuture();
        assertTrue(lease.remainingValidityNs() <= 500_000_000, "at once: " + lease);
        assertFalse(extended.isDone(), "though nothing has been answered");
        assertEquals(ExtendOutcome.EXTENDED, get(extended), "answered");
    }

    private static LeaseListener tell(final List<String> told) {
        return new LeaseListener() {
            @Override
            public void onLost(final Lease lease, final LeaseState state) {
                told.add(state.name());
            }

            @Override
            public void onExtended(final Lease lease, final int extensionCount) {
                told.add("extended " + extensionCount);
            }
        };
    }
}
