package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Mistakes of other lock libraries during releases. */
class ReleaseRegressionTest extends VirtualTest {

    @Test
    void theRollbackIncludesNodesThatDidNotReply() {
        VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "two are silent");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(0, keyCount(), "the late acquires were undone by their releases");
    }

    @Test
    void aReleaseNeverOvertakesItsAcquire() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        node(2).delay(() -> 200_000_000);
        Lease lease = lease(client);
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two replies decide");
        world.runMs(500);
        assertEquals(List.of("acquire orders -> 1", "release orders -> 1"), node(2).redis().log(), "order on node 2");
    }

    /** A release has the same timeout as an acquire. */
    @Test
    void aReleaseWithoutRepliesEndsAtTheNodeTimeout() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        long startMs = nowMs();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "two are silent");
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "the node timeout of this ttl");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(0, keyCount(), "all callbacks ran");
    }

    /** The claim comes from the pool: votes of its earlier release must not count. */
    @Test
    void aSecondReleaseStartsWithoutVotes() {
        VirtualWorld.Client client = world(3);
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)), "the first");
        world.runMs(1);
        Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "one of three deleted it");
        assertEquals(1, status(client, 0).grantedCount() - 1,
                "precondition: the same claim was reused, with two grants");
    }

    /** The caller of an extension does not wait for the replies to the release. */
    @Test
    void aReleaseEndsTheExtensionInProgress() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(ExtendOutcome.NOT_HELD, extended.getNow(null), "immediately");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "after the extension on each connection");
        world.runMs(20);
        assertEquals(0, keyCount(), "no key was set again");
    }

    @Test
    void oneGrantOneRefusalAndOneFailureAreUnknown() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(0).redis().delete("orders");
        node(1).redis().failNext("release", "BUSY Redis is busy running a script.", 1);
        long startMs = nowMs();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "deleted, gone, not known: no majority for either");
        assertEquals(startMs, nowMs(), "all nodes have replied, so the round ends");
    }

    /** Two nodes are disconnected and the third is silent: no reply can still give a quorum. */
    @Test
    void aReleaseEndsAsSoonAsAQuorumIsImpossible() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        Lease lease = lease(client);
        node(2).pause();
        CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        world.settle();
        long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ReleaseOutcome.UNKNOWN, get(outcome), "no node has confirmed it");
        assertEquals(startMs, nowMs(), "immediately");
        node(2).resume();
    }

    /** One key was missing and one node has failed: the reply of the third proves that no quorum held the key. */
    @Test
    void aReleaseWaitsForRepliesThatCanStillDecideIt() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().delete("orders");
        node(1).redis().failNext("release", "BUSY Redis is busy running a script.", 1);
        node(2).redis().delete("orders");
        node(2).delay(() -> 5_000_000);
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "two of three did not have it");
    }

    /** Without batches, a disconnected node fails the send inside the call. */
    @Test
    void aReleaseThatNoNodeReceivesEndsImmediately() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().releaseBatchMax(1));
        Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.crash());
        world.runMs(1);
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "no node is reachable");
        assertEquals(0, client.engine().claimsOut(), "no reply is pending");
    }

    /** The claim comes from the pool: counters of another resource must not count. */
    @Test
    void aPlainReleaseTouchesNoCounter() {
        VirtualWorld.Client client = world(3);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, options().fenced()))),
                "the fenced lease");
        world.runMs(1);
        Lease plain = acquired(get(client.redlock().acquireAsync("plain", options())));
        assertEquals(ReleaseOutcome.RELEASED, release(plain), "the plain lease");
        world.runMs(1);
        for (int i = 0; i < 3; i++) {
            assertEquals(0, node(i).redis().counter("plain"), "counter on node " + i);
        }
    }

    /** A key of another holder proves that this token is not there: the node needs no release. */
    @Test
    void noReleaseIsRetainedForANodeThatRefusedTheAcquire() {
        VirtualWorld.Client client = world(3);
        node(1).redis().set("orders", "foreign", -1);
        Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        world.settle();
        assertEquals(List.of(1L, 0L, 1L),
                List.of(status(client, 0).undeliveredReleaseCount(), status(client, 1).undeliveredReleaseCount(),
                        status(client, 2).undeliveredReleaseCount()),
                "the possible keys of each node");
    }

    /** A second try would most likely get an error again: the release is dropped and counted. */
    @Test
    void anUndeliveredReleaseThatGetsAnErrorIsDroppedAndCounted() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        world.runMs(1);
        release(lease);
        node(2).redis().failNext("release", "NOPERM this user has no permissions to run the 'evalsha' command", 9);
        node(2).start();
        world.await("back", 3_000, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(5_000);
        assertEquals(1, status(client, 2).undeliveredReleaseRefusedCount(), "once, and not again and again");
        assertEquals(0,
                status(client, 2).undeliveredReleaseDeliveredCount() + status(client, 2).undeliveredReleaseCount(),
                "nothing else");
        assertNotNull(key(2), "its key ends with its ttl");
    }

    /** A node that has replied needs no second release after a later reconnect. */
    @Test
    void releasesAreRetainedOnlyForNodesThatDidNotReply() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        Lease lease = lease(client);
        world.runMs(5);
        CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        node(2).delay(() -> 20_000_000);
        assertEquals(ReleaseOutcome.RELEASED, get(outcome), "two replies decide");
        for (int i = 0; i < 3; i++) {
            node(i).breakConnections();
        }
        world.settle();
        assertEquals(0, status(client, 0).undeliveredReleaseCount() + status(client, 1).undeliveredReleaseCount(),
                "they have replied");
        assertEquals(1, status(client, 2).undeliveredReleaseCount(), "it has not replied");
    }

    /** An undelivered release, sent after a reconnect, does not delete the key of the next holder. */
    @Test
    void anUndeliveredReleaseNeverDeletesANewHoldersKey() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        eachNode(node -> node.redis().set("orders", "next holder", 60_000));
        world.runMs(2_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(1, status(client, i).undeliveredReleaseDeliveredCount(), "node " + i + " is notified");
            assertEquals("next holder", key(i), "and kept the new one");
        }
    }

    @Test
    void releaseDeletesOnlyItsOwnToken() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.redis().set("orders", "next holder", -1));
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "the key belongs to the next holder");
        assertEquals("next holder", key(0), "and is unchanged");
    }

    @Test
    void aLeaseThatExpiredLocallyIsStillReleased() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().clockSampleInterval(Duration.ZERO));
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.redis().clockRate(-500_000));
        Lease lease = lease(client);
        world.runMs(9_950);
        assertEquals(LeaseState.EXPIRED, lease.state(), "expired for this client");
        assertTrue(node(0).redis().log().contains("release orders -> 1"), "a slow node still had the key");
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "no exception");
    }

    @Test
    void aReleaseLostWithItsConnectionIsSentAfterTheReconnect() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        world.settle();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ReleaseOutcome.UNKNOWN, get(outcome), "two replies are missing");
        assertNotNull(key(0), "the key still exists");
        world.runMs(500);
        assertEquals(0, keyCount(), "the undelivered release is sent");
        assertEquals(1, status(client, 0).undeliveredReleaseDeliveredCount(), "and counted");
        assertEquals(0, status(client, 0).undeliveredReleaseCount(), "no release is undelivered");
    }

    @Test
    void undeliveredReleasesAreSentBeforeTheNodeVotesAgain() {
        VirtualWorld.Client client = world(1);
        eachNode(node -> node.redis().startLog());
        lease(client);
        node(0).breakConnections();
        world.settle();
        client.redlock().close();
        VirtualWorld.Client other = client();
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind(), "a closed client sends nothing");
    }

    @Test
    void noReleaseIsRetainedForANodeWithoutAnAcquire() {
        VirtualWorld.Client client = world(5);
        for (int i = 0; i < 5; i++) {
            node(i).crash();
        }
        world.runMs(5);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "no node is reachable");
        for (int i = 0; i < 5; i++) {
            assertEquals(0, status(client, i).undeliveredReleaseCount(), "undelivered to node " + i);
        }
    }

    @Test
    void anUndeliveredReleaseOutlivesAShorterExtension() {
        VirtualWorld.Client client = world(3);
        Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce()));
        world.runMs(1);
        node(2).crash();
        world.runMs(1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofMillis(300)), "two replies decide");
        release(lease);
        world.runMs(1_000);
        node(2).start();
        world.runMs(2_000);
        assertNull(key(2), "its key would have lasted for most of a minute");
    }

    @Test
    void aReleaseIsRetainedForAKeyThatAnExtensionSetAgain() {
        VirtualWorld.Client client = world(3);
        node(2).redis().set("orders", "foreign", -1);
        // Node 2 replies late, so its refusal arrives while the extension is in flight.
        node(2).delay(() -> 5_000_000);
        Lease lease = lease(client);
        world.runMs(3);
        CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(3);
        node(2).redis().delete("orders");
        world.runMs(8);
        assertEquals(ExtendOutcome.EXTENDED, get(extended), "by two nodes");
        assertEquals(key(0), key(2), "set again on the third");
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        world.runMs(1_000);
        assertNull(key(2), "a release for a possible key is retained");
    }

    /** The refusal of the acquire has ruled the node out before the extension. */
    @Test
    void aReleaseIsRetainedForAKeyThatALaterExtensionSet() {
        VirtualWorld.Client client = world(3);
        node(2).redis().set("orders", "foreign", -1);
        Lease lease = lease(client);
        world.runMs(1);
        node(2).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, get(lease.extendAsync(TTL).toCompletableFuture()), "by two nodes");
        world.runMs(1);
        assertEquals(key(0), key(2), "set on the third");
        node(2).delay(() -> 1_000_000);
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        world.runMs(1_000);
        assertNull(key(2), "a release for a possible key is retained");
    }

    @Test
    void undeliveredReleasesAreLimited() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().undeliveredReleasesMax(3));
        for (int i = 0; i < 5; i++) {
            get(client.redlock().acquireAsync("orders-" + i, options()));
        }
        node(0).crash();
        world.runMs(1);
        for (Lease held = client.engine().engine().anyHeld(); held != null; held = client.engine().engine().anyHeld()) {
            release(held);
        }
        assertEquals(3, status(client, 0).undeliveredReleaseCount(), "the limit");
        assertEquals(2, status(client, 0).undeliveredReleaseDroppedCount(), "the oldest are dropped and counted");
    }

    @Test
    void anUnknownScriptIsSentAgainInFullOnce() {
        VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().flushScripts());
        Lease lease = lease(client);
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extend recovers");
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "release recovers");
        world.runMs(1);
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void aSecondTryNeverFollowsTheReleaseOfItsToken() {
        VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.redis().flushScripts());
        eachNode(node -> node.delay(() -> 40_000_000));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(),
                "NOSCRIPT came after the timeout");
        world.runMs(1_000);
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("acquire")),
                "an acquire after its release would stay: " + node.redis().log()));
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void cancelRollsBackTheAttempt() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.runMs(7);
        assertEquals(3, keyCount(), "the nodes have granted, the replies are in flight");
        outcome.cancel(true);
        world.runMs(20);
        assertEquals(0, keyCount(), "rolled back although its caller has left");
    }

    @Test
    void closeReleasesAndReportsUnreleasedResources() {
        VirtualWorld.Client client = world(3);
        lease(client);
        node(0).pause();
        node(1).pause();
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.runMs(1_100);
        assertEquals(List.of("orders"), report.join().unreleased(), "no quorum confirmed");
    }
}
