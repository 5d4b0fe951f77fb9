package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Traps that other lock libraries fell into while releasing. */
class ReleaseRegressionTest extends VirtualTest {

    @Test
    void theRollBackGoesToNodesThatDidNotAnswerToo() {
        final VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "two are silent");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(0, keyCount(), "the late acquires were undone behind themselves");
    }

    @Test
    void aReleaseNeverOvertakesItsAcquire() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        node(2).delay(() -> 200_000_000);
        final Lease lease = lease(client);
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "two answers decide");
        world.runMs(500);
        assertEquals(List.of("acquire orders -> 1", "release orders -> 1"), node(2).redis().log(), "order on node 2");
    }

    /** Nobody waits longer for a release than for an acquire. */
    @Test
    void aReleaseThatNobodyAnswersEndsAtTheNodeTimeout() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        final long startMs = nowMs();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "two are silent");
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "the node timeout of this ttl");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(0, keyCount(), "they were told all the same");
    }

    /** The attempt comes from a pool: what nodes said to its release before is forgotten. */
    @Test
    void aSecondReleaseStartsFromNothing() {
        final VirtualWorld.Client client = world(3);
        assertEquals(ReleaseOutcome.RELEASED, release(lease(client)), "the first");
        world.runMs(1);
        final Lease lease = lease(client);
        node(0).pause();
        node(1).pause();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "one of three deleted it");
        assertEquals(1, status(client, 0).grantedCount() - 1, "and the same attempt was used: two acquires granted");
    }

    /** Whoever waits for an extension does not wait for the answers to what has been given back meanwhile. */
    @Test
    void aReleaseEndsTheExtensionThatIsUnderWay() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        final CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        final CompletableFuture<ReleaseOutcome> released = lease.releaseAsync().toCompletableFuture();
        assertEquals(ExtendOutcome.NOT_HELD, extended.getNow(null), "at once");
        assertEquals(ReleaseOutcome.RELEASED, get(released), "behind the extension on each connection");
        world.runMs(20);
        assertEquals(0, keyCount(), "nothing was put back");
    }

    @Test
    void oneOfEachIsNeitherReleasedNorExpired() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        node(0).redis().delete("orders");
        node(1).redis().failNext("release", "BUSY Redis is busy running a script.", 1);
        final long startMs = nowMs();
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "deleted, gone, not known: no majority for either");
        assertEquals(startMs, nowMs(), "all answered, so nothing is waited for");
    }

    /** Two are lost and the third is silent: no answer of its can help, so it is not waited for. */
    @Test
    void aReleaseWithoutAQuorumIsNotWaitedFor() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        final Lease lease = lease(client);
        node(2).pause();
        final CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        world.settle();
        final long startMs = nowMs();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ReleaseOutcome.UNKNOWN, get(outcome), "nobody has confirmed it");
        assertEquals(startMs, nowMs(), "at once");
        node(2).resume();
    }

    /** One was gone and one has failed; the third makes it certain that nobody held it any more. */
    @Test
    void aReleaseIsNotDecidedWhileAnAnswerCanTellMore() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        world.runMs(1);
        node(0).redis().delete("orders");
        node(1).redis().failNext("release", "BUSY Redis is busy running a script.", 1);
        node(2).redis().delete("orders");
        node(2).delay(() -> 5_000_000);
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "two of three did not have it");
    }

    /** Where each release is sent by itself, nodes that are away answer inside of the call. */
    @Test
    void aReleaseThatNobodyTakesIsOver() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().releaseBatchMax(1));
        final Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.crash());
        world.runMs(1);
        assertEquals(ReleaseOutcome.UNKNOWN, release(lease), "nobody is there");
        assertEquals(0, client.engine().claimsOut(), "nothing is waited for any more");
    }

    /** The attempt comes from a pool: what counters stood at for another resource is forgotten. */
    @Test
    void aPlainReleaseTouchesNoCounter() {
        final VirtualWorld.Client client = world(3);
        assertEquals(ReleaseOutcome.RELEASED, release(acquired(acquire(client, options().fenced()))), "the fenced one");
        world.runMs(1);
        final Lease plain = acquired(get(client.redlock().acquireAsync("plain", options())));
        assertEquals(ReleaseOutcome.RELEASED, release(plain), "the plain one");
        world.runMs(1);
        for (int i = 0; i < 3; i++) {
            assertEquals(0, node(i).redis().counter("plain"), "counter on node " + i);
        }
    }

    /** Where somebody else's key stands ours does not: nothing is owed there, and all the more elsewhere. */
    @Test
    void aNodeThatRefusedTheAcquireIsOwedNothing() {
        final VirtualWorld.Client client = world(3);
        node(1).redis().set("orders", "foreign", -1);
        final Lease lease = lease(client);
        world.runMs(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        world.settle();
        assertEquals(List.of(1L, 0L, 1L),
                List.of(status(client, 0).undeliveredReleaseCount(), status(client, 1).undeliveredReleaseCount(),
                        status(client, 2).undeliveredReleaseCount()),
                "what each node may hold");
    }

    /** An error will most likely be one again: the debt is given up, and somebody has to see that. */
    @Test
    void aDebtThatIsAnsweredWithAnErrorIsGivenUpAndCounted() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
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

    /** What was answered is not owed: a connection that breaks later has nothing to pay for this token. */
    @Test
    void onlyNodesThatDidNotAnswerAreOwed() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        final Lease lease = lease(client);
        world.runMs(5);
        final CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        node(2).delay(() -> 20_000_000);
        assertEquals(ReleaseOutcome.RELEASED, get(outcome), "two answers decide");
        for (int i = 0; i < 3; i++) {
            node(i).breakConnections();
        }
        world.settle();
        assertEquals(0, status(client, 0).undeliveredReleaseCount() + status(client, 1).undeliveredReleaseCount(),
                "they have answered");
        assertEquals(1, status(client, 2).undeliveredReleaseCount(), "it has not");
    }

    /** A stale release, kept through a reconnect, meets the next holder and leaves it alone. */
    @Test
    void paidDebtNeverTakesANewHoldersLock() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        eachNode(node -> node.redis().set("orders", "next holder", 60_000));
        world.runMs(2_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(1, status(client, i).undeliveredReleaseDeliveredCount(), "node " + i + " was told");
            assertEquals("next holder", key(i), "and kept the new one");
        }
    }

    @Test
    void releaseDeletesOnlyItsOwnToken() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.redis().set("orders", "next holder", -1));
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "it was not ours any more");
        assertEquals("next holder", key(0), "and is left alone");
    }

    @Test
    void aLeaseThatExpiredLocallyIsGivenBackAllTheSame() {
        world = new VirtualWorld(3);
        final VirtualWorld.Client client = client(context().clockSampleMs(0));
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.redis().clockRate(-500_000));
        final Lease lease = lease(client);
        world.runMs(9_950);
        assertEquals(LeaseState.EXPIRED, lease.state(), "over for us");
        assertTrue(node(0).redis().log().contains("release orders -> 1"), "a slow node still had it");
        assertEquals(ReleaseOutcome.EXPIRED, release(lease), "no exception");
    }

    @Test
    void aReleaseLostWithItsConnectionIsPaidAfterTheReconnect() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = lease(client);
        eachNode(node -> node.delay(() -> 1_000_000));
        final CompletableFuture<ReleaseOutcome> outcome = lease.releaseAsync().toCompletableFuture();
        world.settle();
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(ReleaseOutcome.UNKNOWN, get(outcome), "two answers are missing");
        assertNotNull(key(0), "it still stands");
        world.runMs(500);
        assertEquals(0, keyCount(), "the debt is paid");
        assertEquals(1, status(client, 0).undeliveredReleaseDeliveredCount(), "and counted");
        assertEquals(0, status(client, 0).undeliveredReleaseCount(), "nothing is owed any more");
    }

    @Test
    void debtGoesOutBeforeTheNodeVotesAgain() {
        final VirtualWorld.Client client = world(1);
        eachNode(node -> node.redis().startLog());
        lease(client);
        node(0).breakConnections();
        world.settle();
        client.redlock().close();
        final VirtualWorld.Client other = client();
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(other, options()).kind(), "a closed client pays nothing");
    }

    @Test
    void nothingIsOwedToANodeThatWasNeverAsked() {
        final VirtualWorld.Client client = world(5);
        for (int i = 0; i < 5; i++) {
            node(i).crash();
        }
        world.runMs(5);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "nobody is there");
        for (int i = 0; i < 5; i++) {
            assertEquals(0, status(client, i).undeliveredReleaseCount(), "owed to node " + i);
        }
    }

    @Test
    void debtOutlivesAShorterExtension() {
        final VirtualWorld.Client client = world(3);
        final Lease lease = acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce()));
        world.runMs(1);
        node(2).crash();
        world.runMs(1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofMillis(300)), "two answers decide");
        release(lease);
        world.runMs(1_000);
        node(2).start();
        world.runMs(2_000);
        assertNull(key(2), "its key would have stood for most of a minute");
    }

    @Test
    void debtIsOwedForAKeyThatAnExtensionPutBack() {
        final VirtualWorld.Client client = world(3);
        node(2).redis().set("orders", "foreign", -1);
        // Node 2 answers late, so its refusal arrives when the extension is on its way.
        node(2).delay(() -> 5_000_000);
        final Lease lease = lease(client);
        world.runMs(3);
        final CompletableFuture<ExtendOutcome> extended = lease.extendAsync(TTL).toCompletableFuture();
        world.runMs(3);
        node(2).redis().delete("orders");
        world.runMs(8);
        assertEquals(ExtendOutcome.EXTENDED, get(extended), "by two nodes");
        assertEquals(key(0), key(2), "put back on the third");
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        world.runMs(1_000);
        assertNull(key(2), "what may stand is owed");
    }

    @Test
    void debtIsBounded() {
        world = new VirtualWorld(1);
        final VirtualWorld.Client client = client(context().undeliveredReleasesMax(3));
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
        final VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().flushScripts());
        final Lease lease = lease(client);
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "extend recovers");
        eachNode(node -> node.redis().flushScripts());
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "release recovers");
        world.runMs(1);
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void aSecondTryNeverFollowsTheReleaseOfItsToken() {
        final VirtualWorld.Client client = scriptedWorld(3);
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.redis().flushScripts());
        eachNode(node -> node.delay(() -> 40_000_000));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(),
                "NOSCRIPT came after the timeout");
        world.runMs(1_000);
        eachNode(node -> assertTrue(node.redis().log().stream().noneMatch(line -> line.startsWith("acquire")),
                "an acquire behind its release would stay: " + node.redis().log()));
        assertEquals(0, keyCount(), "nothing is left");
    }

    @Test
    void cancellingRollsBackWithTheClientsOwnMeans() {
        final VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 5_000_000));
        final CompletableFuture<AcquireOutcome> outcome = begin(client, options());
        world.runMs(7);
        assertEquals(3, keyCount(), "the nodes have granted, the answers are on their way");
        outcome.cancel(true);
        world.runMs(20);
        assertEquals(0, keyCount(), "rolled back although its caller has gone");
    }

    @Test
    void closingTheClientReleasesAndSaysWhatItCouldNot() {
        final VirtualWorld.Client client = world(3);
        lease(client);
        node(0).pause();
        node(1).pause();
        final CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.runMs(1_100);
        assertEquals(List.of("orders"), report.join().unreleased(), "no quorum confirmed");
    }
}
