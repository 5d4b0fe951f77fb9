package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Releases: which replies decide, what they delete, and what they end. */
class ReleaseTest extends VirtualTest {

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

    /** A callback releases the lock, and then a NOSCRIPT reply makes the client send the next acquire again. */
    @Test
    void aResentCommandFollowsTheReleasesOfItsTurn() {
        VirtualWorld.Client client = scriptedWorld(1);
        Lease holder = lease(client);
        world.runMs(1);
        node(0).redis().startLog();
        node(0).redis().failNext("acquire", "NOSCRIPT No matching script. Please use EVAL.", 1);
        List<CompletionStage<?>> started = new ArrayList<>();
        client.engine().execute(() -> {
            // Both replies arrive together, and this callback runs between them.
            holder.extend(10_000, (lease, outcome) -> started.add(lease.releaseAsync()));
            started.add(acquireAsync(client, options()));
        });
        world.runMs(1);
        assertEquals(List.of("extend orders -> 1", "release orders -> 1", "acquire orders -> 1"),
                node(0).redis().log(), "in the order of the requests");
        assertEquals(2, started.stream().filter(stage -> stage.toCompletableFuture().isDone()).count(), "outcomes");
    }
}
