package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Releases that a node has not confirmed: the client retains them, and sends them after the reconnect. */
class ResentReleasesTest extends VirtualTest {

    private static final long MS = 1_000_000;

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

    /** A key of another holder proves that this token is gone: the node needs no release. */
    @Test
    void noReleaseIsRetainedForANodeThatRefusedTheExtension() {
        VirtualWorld.Client client = world(3);
        Lease lease = lease(client);
        node(2).redis().set("orders", "foreign", 60_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "two of three");
        world.runMs(1);
        eachNode(node -> node.delay(() -> 1_000_000));
        lease.releaseAsync();
        world.settle();
        eachNode(node -> node.breakConnections());
        world.settle();
        assertEquals(1, status(client, 0).undeliveredReleaseCount(), "it may have this token");
        assertEquals(1, status(client, 1).undeliveredReleaseCount(), "it may have this token");
        assertEquals(0, status(client, 2).undeliveredReleaseCount(), "it cannot have this token");
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

    /** Node 2 refuses the first extension late, after the second one has set the key. */
    @Test
    void aLateRefusalOfAnOlderExtensionKeepsTheUndeliveredRelease() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeTimeout(Duration.ofSeconds(1)));
        node(2).redis().set("orders", "foreign", -1);
        Lease lease = lease(client);
        world.runMs(1);
        node(2).delay(() -> 20 * MS);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two nodes");
        world.runMs(25);
        node(2).redis().delete("orders");
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL), "by the other two nodes again");
        world.runMs(30);
        assertEquals(key(0), key(2), "set by the second extension");
        lease.releaseAsync();
        world.settle();
        node(2).breakConnections();
        node(2).delay(() -> 0);
        world.runMs(1_000);
        assertNull(key(2), "a release for a possible key is retained");
    }

    /** A key lasts for its ttl from the last moment at which the node can have set it. */
    @ParameterizedTest
    @ValueSource(longs = {9_200, 9_900})
    void anUndeliveredReleaseIsRetainedWhileTheNodeIsAway(long awayMs) {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().reconnectDelay(Duration.ofMillis(5), Duration.ofMillis(10)));
        Lease lease = lease(client);
        world.runMs(1);
        node(2).crash();
        assertEquals(ReleaseOutcome.RELEASED, release(lease), "by the other two nodes");
        world.runMs(awayMs);
        assertNotNull(key(2), "the key still exists");
        node(2).start();
        world.await("back", 50, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(1);
        assertNull(key(2), "it was released, and has not expired");
        assertEquals(1, status(client, 2).undeliveredReleaseDeliveredCount(), "by the undelivered release");
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

    /** The application acquires in the turn in which the node's handshake ends. */
    @Test
    void undeliveredReleasesAreSentBeforeTheNodeVotes() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().restartGuard(RestartGuardMode.OFF));
        Lease lease = lease(client);
        eachNode(node -> node.delay(() -> MS));
        lease.releaseAsync();
        world.settle();
        node(0).breakConnections();
        world.settle();
        assertNotNull(key(0), "the release was lost");
        List<CompletableFuture<AcquireOutcome>> next = new ArrayList<>();
        // After each reply of the handshake, in the turn that reads it.
        node(0).deliveryListener(() -> client.engine().execute(() -> {
            if (next.isEmpty() && status(client, 0).state() == NodeState.READY) {
                next.add(acquireAsync(client, options()));
            }
        }));
        world.await("acquired in the turn of the handshake", 1_000, () -> next.size() == 1);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, get(next.get(0)).kind(), "the first acquire finds the lock free");
        assertEquals(1, status(client, 0).undeliveredReleaseDeliveredCount(), "by the undelivered release");
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

    /** The connection accepts 16 requests at a time; the others go as replies make room, and not with the next ping. */
    @Test
    void manyUndeliveredReleasesFollowEachOther() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().nodeBackPressure(16, 1 << 20));
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            leases.add(get(client.redlock().acquireAsync("orders/" + i, options()).toCompletableFuture()).lease());
        }
        world.runMs(1);
        node(2).crash();
        leases.forEach(lease -> assertEquals(ReleaseOutcome.RELEASED, release(lease), "by the other two nodes"));
        node(2).start();
        world.await("back", 3_000, () -> status(client, 2).state() == NodeState.READY);
        world.runMs(5);
        assertEquals(60, status(client, 2).undeliveredReleaseDeliveredCount(), "delivered");
        assertEquals(0, status(client, 2).undeliveredReleaseCount(), "left");
    }
}
