package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Manual and automatic extensions: which replies decide, and how long the lease is held. */
class ExtendTest extends VirtualTest {

    private static final Duration SHORT = Duration.ofSeconds(3);

    @Test
    void aMissingKeyIsSetAgainButDoesNotCount() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "one of three nodes still held it");
        assertEquals(LeaseState.LOST, lease.state(), "so the lock is lost");
        world.runMs(1);
        assertEquals(0, keyCount(), "the key that was set again is released");
    }

    @Test
    void aKeyWithAnotherTokenNeitherCountsNorChanges() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().set("orders", "next", 1_000);
        node(1).redis().set("orders", "next", 1_000);
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "a mismatch is not a success");
        assertTrue(node(0).redis().pttl("orders") <= 1_000, "the expiry of the other key is unchanged");
    }

    @Test
    void silentNodesLeaveThePreviousValidity() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        long before = lease.remainingValidityNs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "no quorum answered");
        assertTrue(lease.isHeld() && lease.remainingValidityNs() < before, "the previous validity continues: " + lease);
    }

    /** Nodes 0 and 1 are the known holders; node 2 has the key, but its reply was lost. */
    private Lease leaseWithALostReply() {
        VirtualWorld.Client client = world(3);
        world.runMs(1_000);
        node(2).loseReplies(any -> true);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()));
        world.runMs(1);
        node(2).loseReplies(any -> false);
        node(2).breakConnections();
        world.await("reconnect", 5_000, () -> status(client, 2).state() == NodeState.READY);
        assertEquals(3, keyCount());
        return lease;
    }

    @Test
    void aNodeWhoseGrantWasLostReplacesAHolder() {
        Lease lease = leaseWithALostReply();
        node(0).redis().delete("orders");
        node(0).delay(() -> 500_000);
        node(1).delay(() -> 1_000_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(60)), "nodes 1 and 2 never lost the key");
        assertEquals(LeaseState.HELD, lease.state());
    }

    @Test
    void anExtensionWithoutAQuorumFindsAHolder() {
        Lease lease = leaseWithALostReply();
        node(0).pause();
        node(1).pause();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, Duration.ofSeconds(60)));
        node(1).resume();
        world.runMs(3_000);
        node(1).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.HELD, lease.state(), "nodes 0 and 2 hold it");
    }

    @Test
    void anExtensionWithoutAQuorumFindsAHolderThatLostTheKey() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(60)).tryOnce()));
        world.runMs(1_000);
        node(0).redis().delete("orders");
        node(1).pause();
        node(2).pause();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, Duration.ofSeconds(60)));
        node(1).resume();
        node(2).resume();
        world.runMs(3_000);
        assertEquals(LeaseState.HELD, lease.state(), "nodes 1 and 2 hold it");
        node(1).redis().clockJump(3_600_000);
        world.runMs(2_000);
        assertEquals(LeaseState.LOST, lease.state(), "only node 2 holds it");
    }

    /** They prove the keys of the earlier extension, and not that the nodes have executed the later one. */
    @Test
    void repliesToAnEarlierExtensionDoNotDecideALaterOne() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).delay(() -> 50_000_000);
        node(1).delay(() -> 50_000_000);
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "two replies are pending");
        node(0).delay(() -> 200_000_000);
        node(1).delay(() -> 200_000_000);
        CompletableFuture<ExtendOutcome> second = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        assertFalse(second.isDone(), "precondition: the second extension is in flight");
        node(0).delay(() -> 0);
        node(1).delay(() -> 0);
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(second), "although three replies have arrived");
    }

    @Test
    void anExtensionThatEndsAfterTheValidityFails() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(9_880);
        eachNode(node -> node.delay(() -> 20_000_000));
        assertEquals(ExtendOutcome.EXPIRED, extend(lease, TTL), "the replies came too late");
        assertEquals(LeaseState.EXPIRED, lease.state(), "over");
    }

    /** After a pause of the process, the loop reads replies before it runs timers. */
    @Test
    void repliesReadAfterTheValidityDoNotExtend() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        long endNs = world.nowNs() + lease.remainingValidityNs();
        eachNode(node -> node.delay(() -> 5_000_000));
        world.runUntilNs(endNs - 15_000_000);
        CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        client.pause();
        world.runUntilNs(endNs);
        client.resume();
        assertEquals(ExtendOutcome.EXPIRED, get(outcome), "not even in the last nanosecond");
        assertEquals(LeaseState.EXPIRED, lease.state(), "it has ended");
        assertEquals(0, client.redlock().counters().extendedCount(), "and not extended");
    }

    /** The previous validity would still last, but the nodes have set the shorter ttl, which has ended. */
    @Test
    void repliesReadAfterAShorterTtlDoNotExtend() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(Duration.ofMillis(300))
                .toCompletableFuture();
        long endNs = world.nowNs() + lease.remainingValidityNs();
        world.settle();
        client.pause();
        world.runUntilNs(endNs);
        client.resume();
        assertEquals(ExtendOutcome.EXPIRED, get(outcome), "not even in the last nanosecond");
        assertEquals(0, client.redlock().counters().extendedCount(), "and not extended");
    }

    /** An extension of an ended lease could set the key again under the next holder. */
    @Test
    void anExtensionOfAnEndedLeaseIsNotSent() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.redis().startLog());
        client.pause();
        world.runUntilNs(world.nowNs() + lease.remainingValidityNs());
        // The timer that ends the lease has not fired yet: the client is paused.
        assertEquals(LeaseState.EXPIRED, lease.state(), "by the time alone");
        CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        client.resume();
        world.runMs(5);
        assertEquals(ExtendOutcome.EXPIRED, outcome.getNow(null), "in the next turn");
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("extend")),
                node.redis().log()::toString));
    }

    /** Two nodes have lost the key and the third is silent: no reply can still give a quorum. */
    @Test
    void anExtensionFailsAsSoonAsAQuorumIsImpossible() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        node(2).pause();
        CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL).toCompletableFuture();
        world.settle();
        long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome), "a quorum is impossible");
        assertEquals(startMs, nowMs(), "immediately");
    }

    /** One node has lost the key and one has failed: a refusal of the third proves the loss. */
    @Test
    void anExtensionWaitsForRepliesThatCanStillDecideIt() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().set("orders", "foreign", 60_000);
        node(1).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        node(2).redis().set("orders", "foreign", 60_000);
        node(2).delay(() -> 5_000_000);
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL), "two of three do not hold it");
    }

    @Test
    void anExtensionWithoutRepliesEndsAtTheNodeTimeout() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        long startMs = nowMs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "two are silent");
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "the node timeout of this ttl");
        assertTrue(lease.isHeld(), "the previous validity remains");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the next extension, with its own replies");
    }

    @Test
    void anExtensionEndsWhenItsConnectionsBreak() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        java.util.concurrent.CompletableFuture<ExtendOutcome> outcome = lease.extendAsync(TTL)
                .toCompletableFuture();
        world.settle();
        long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ExtendOutcome.NOT_EXTENDED, get(outcome), "two replies will not come");
        assertTrue(nowMs() - startMs < NODE_TIMEOUT_MS, "immediately");
    }

    /** One grant, one key of another holder, one error: neither a quorum nor a proof of loss. */
    @Test
    void oneGrantOneRefusalAndOneFailureNeitherExtendNorLose() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).redis().set("orders", "foreign", 60_000);
        node(1).redis().failNext("extend", "BUSY Redis is busy running a script.", 1);
        long startMs = nowMs();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL), "one of three");
        assertEquals(startMs, nowMs(), "all nodes have replied, so the round ends");
        assertTrue(lease.isHeld(), "the previous validity remains");
    }

    /** Without replies, the nodes may still have set the shorter ttl, so the lease ends with it. */
    @Test
    void aShorterTtlEndsTheLeaseWithoutReplies() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.pause());
        lease.extendAsync(Duration.ofMillis(300));
        world.runMs(validityMs(300) - 1);
        assertTrue(lease.isHeld(), "300 ms less the clock allowance");
        world.runMs(2);
        assertEquals(LeaseState.EXPIRED, lease.state(), "and not a moment longer");
        assertEquals(1, client.redlock().counters().expiredCount(), "counted");
        assertEquals(0, client.engine().heldCount(), "nothing is held");
    }

    /** The node timeout is longer than the new ttl: the lease still ends with the ttl. */
    @Test
    void aShorterTtlEndsTheLeaseBeforeTheNodeTimeout() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(2)));
        List<String> received = new ArrayList<>();
        Lease lease = acquired(acquire(client, options().listener(recordTo(received))));
        eachNode(node -> node.pause());
        lease.extendAsync(Duration.ofMillis(300));
        world.runMs(validityMs(300) + 1);
        assertEquals(List.of("EXPIRED"), received, "300 ms less the clock allowance");
        assertEquals(LeaseState.EXPIRED, lease.state(), "over");
    }

    @Test
    void onlyHeldAutoExtendedLeasesCountAgainstTheirLimit() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(1));
        for (int i = 0; i < 3; i++) {
            Lease lease = acquired(acquire(client, options().autoExtend()));
            assertEquals(1, client.engine().heldCount(), "held");
            assertEquals(AcquireOutcome.Kind.OVERLOADED,
                    get(client.redlock().acquireAsync("other", options().autoExtend())).kind(), "a second lease");
            release(lease);
        }
    }

    @Test
    void automaticExtensionHasACountLimit() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        long startMs = nowMs();
        acquired(
                acquire(client,
                        AcquireOptions.ofTtl(SHORT)
                                .tryOnce()
                                .autoExtend(4, Duration.ofMinutes(5))
                                .listener(recordTo(received))));
        world.runMs(20_000);
        assertEquals(List.of("extended 1", "extended 2", "extended 3", "extended 4", "EXPIRED"), received,
                "then it ends");
        assertEquals(4, client.redlock().counters().extendedCount(), "counted");
        assertTrue(nowMs() - startMs > 6_000, "it was held for longer than its ttl");
    }

    @Test
    void automaticExtensionStopsAtTheLongestHold() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        acquired(acquire(client, AcquireOptions.ofTtl(SHORT)
                .tryOnce()
                .autoExtend(99, Duration.ofMillis(2_500))
                .listener(recordTo(received))));
        world.runMs(10_000);
        assertEquals(List.of("extended 1", "extended 2", "extended 3", "EXPIRED"), received,
                "after 1 s, 2 s, and just before 2.5 s");
    }

    /**
     * The longest hold starts at the acquisition, whatever the value of the clock. The last extension starts just
     * before its end, unless the one before has started less than a hundredth of the ttl earlier.
     */
    @ParameterizedTest
    @CsvSource({"0, 0", "30, 0", "40, 1", "999, 1", "1000, 1", "1030, 1", "1040, 2", "2000, 2", "2040, 3"})
    void theLongestHoldStartsAtTheAcquisition(long holdMsMax, int extensions) {
        VirtualWorld.Client client = world(3);
        world.runMs(7_000);
        acquired(acquire(client, AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(99, Duration.ofMillis(holdMsMax))));
        world.runMs(10_000);
        assertEquals(extensions, client.redlock().counters().extendedCount(), "one after each second");
        assertEquals(0, client.engine().heldCount(), "then it ends");
    }

    @ParameterizedTest
    @CsvSource({"300, 100", "300, 50", "3000, 999", "3000, 1000", "3000, 3700"})
    void aLeaseIsHeldForItsTtlAfterTheLongestHold(long ttlMs, long holdMsMax) {
        VirtualWorld.Client client = world(3);
        long startNs = world.nowNs();
        acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofMillis(ttlMs))
                .tryOnce()
                .autoExtend(Duration.ofMillis(holdMsMax))));
        long untilNs = startNs + Duration.ofMillis(holdMsMax).toNanos();
        long validityNs = Duration.ofMillis(validityMs(ttlMs)).toNanos();
        world.runUntilNs(untilNs - 3_000_000 + validityNs);
        assertEquals(1, client.engine().heldCount());
        world.runUntilNs(untilNs + validityNs + 3_000_000);
        assertEquals(0, client.engine().heldCount(), "no extension starts after the longest hold");
    }

    /** By its caller, for longer than the last extension would give it. */
    @Test
    void aLeaseThatIsExtendedByHandGetsNoLastExtension() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(SHORT)));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(8)));
        long untilNs = world.nowNs() + lease.remainingValidityNs();
        world.runMs(7_000);
        assertEquals(untilNs, world.nowNs() + lease.remainingValidityNs());
        assertEquals(1, client.redlock().counters().extendedCount());
    }

    /** The caller has extended to a minute: an automatic extension by ten seconds must not shorten that. */
    @Test
    void automaticExtensionNeverShortensALease() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        Lease lease = acquired(acquire(client, options().autoExtend(1, Duration.ofHours(1))
                .listener(recordTo(received))));
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofMinutes(1)), "by the caller");
        long endNs = world.nowNs() + lease.remainingValidityNs();
        world.runMs(50_000);
        assertEquals(endNs, world.nowNs() + lease.remainingValidityNs(), "the validity of the minute");
        assertEquals(List.of(), received, "no automatic extension");
        world.runMs(5_000);
        assertEquals(List.of("extended 1"), received, "when two thirds of its ttl were left");
        assertTrue(world.nowNs() + lease.remainingValidityNs() > endNs, "and longer than before: " + lease);
    }

    /** The client renews in time what its caller has shortened, and does so with some time to spare. */
    @ParameterizedTest
    @CsvSource({"30", "6", "3", "2"})
    void automaticExtensionContinuesAfterAShorterOneOfTheCaller(int divisor) {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        Lease lease = acquired(acquire(client, options().autoExtend().listener(recordTo(received))));
        Duration shorter = TTL.dividedBy(divisor);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, shorter));
        world.runMs(validityMs(shorter.toMillis()) / 2);
        assertEquals(List.of("extended 1"), received, "in the first half of the shorter ttl");
        world.runMs(2 * TTL.toMillis());
        assertTrue(lease.isHeld(), lease::toString);
        assertTrue(received.size() <= 8, () -> "each third of the ttl: " + received);
    }

    /** The retry after a tenth of the ttl would come after the end of the shorter validity. */
    @Test
    void aFailedExtensionOfAShortenedLeaseIsTriedAgain() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, options().autoExtend()));
        node(0).pause();
        node(1).pause();
        assertEquals(ExtendOutcome.NOT_EXTENDED, extend(lease, TTL.dividedBy(15)), "silent nodes");
        node(0).resume();
        node(1).resume();
        world.runMs(2 * TTL.toMillis());
        assertTrue(lease.isHeld(), lease::toString);
    }

    /** An outage does not meet a storm of retries at the end of the validity. */
    @Test
    void retriesAreFewAtTheEndOfTheValidity() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        acquired(acquire(client, options().autoExtend()));
        world.runMs(5);
        node(1).crash();
        node(2).crash();
        world.runMs(TTL.toMillis());
        long tries = node(0).redis().log().stream().filter(line -> line.startsWith("extend")).count();
        assertTrue(tries >= 6 && tries <= 14, tries + " tries");
        assertEquals(1, client.redlock().counters().expiredCount());
    }

    /** The first callback of a lost lease may reuse it; the other callbacks still run. */
    @Test
    void theListenerOfALostLeaseIsNotifiedEvenIfTheLeaseIsReused() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        List<String> receivedLater = new ArrayList<>();
        Lease reused = client.redlock().newLease();
        client.redlock()
                .acquire(client.redlock().key("orders"), options().listener(recordTo(received)), reused, outcome -> {
                });
        world.runMs(1);
        eachNode(node -> node.redis().delete("orders"));
        reused.extend(10_000, (lease, outcome) -> client.redlock()
                .acquire(client.redlock().key("other"), options().listener(recordTo(receivedLater)), lease, again -> {
                }));
        world.runMs(1);
        assertEquals("other", reused.resource(), "reused");
        assertTrue(reused.isHeld(), reused::toString);
        assertEquals(List.of("LOST"), received, "the listener of the lost lease is notified");
        assertEquals(List.of(), receivedLater, "the listener of the new lease is not");
    }

    @Test
    void automaticExtensionStopsAtTheRelease() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        List<String> received = new ArrayList<>();
        Lease lease = acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT)
                        .tryOnce()
                        .autoExtend(99, Duration.ofMinutes(5))
                        .listener(recordTo(received))));
        eachNode(node -> node.delay(() -> 10_000_000));
        world.runMs(1_005);
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(ReleaseOutcome.RELEASED, get(released), "released while an extension was in flight");
        world.runMs(10_000);
        assertEquals(List.of(), received, "no notification after the release");
        assertEquals("release orders -> 1", node(0).redis().log().get(node(0).redis().log().size() - 1),
                "last command");
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void failedAutomaticExtensionsEndWithANotification() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1)).listener(recordTo(received))));
        node(0).pause();
        node(1).pause();
        world.runMs(4_000);
        assertEquals(List.of("EXPIRED"), received, "the listener is notified");
    }

    @Test
    void automaticExtensionRetriesWhileValidityRemains() {
        VirtualWorld.Client client = world(3);
        List<String> received = new ArrayList<>();
        acquired(acquire(client,
                AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1)).listener(recordTo(received))));
        node(0).pause();
        node(1).pause();
        world.runMs(1_500);
        node(0).resume();
        world.runMs(600);
        assertEquals(List.of("extended 1"), received, "one failure is not the end");
    }

    @Test
    void simultaneousExtensionsRunOneAfterTheOther() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        Lease lease = acquired(
                acquire(client, AcquireOptions.ofTtl(SHORT).tryOnce().autoExtend(3, Duration.ofDays(1))));
        world.runMs(1_005);
        long startNs = world.nowNs();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "the automatic extension ends first");
        assertEquals(35_000_000, world.nowNs() - startNs, "the rest of its round trip, and one more");
        assertEquals(2, client.redlock().counters().extendedCount(), "both were made");
        assertTrue(lease.remainingValidityNs() > 9_000_000_000L, "the caller's ttl counts: " + lease);
    }

    @Test
    void aShorterTtlAppliesFromTheSend() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 10_000_000));
        Lease lease = lease(client);
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(Duration.ofMillis(500))
                .toCompletableFuture();
        assertTrue(lease.remainingValidityNs() <= 500_000_000, "immediately: " + lease);
        assertFalse(extended.isDone(), "without a reply");
        assertEquals(ExtendOutcome.EXTENDED, get(extended), "answered");
    }

    private static LeaseListener recordTo(List<String> received) {
        return new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                received.add(state.name());
            }

            @Override
            public void onExtended(Lease lease, int extensionCount) {
                received.add("extended " + extensionCount);
            }
        };
    }
}
