package dev.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Await;
import dev.redlock.testing.BlockedCall;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A lease that asks the nodes to report changes of its keys. */
class LossWatchTest extends VirtualTest {

    private final List<LeaseState> lost = new ArrayList<>();

    private Lease watched(VirtualWorld.Client client) {
        return acquired(acquire(client, options().watchLoss().listener((lease, state) -> lost.add(state))));
    }

    @Test
    void deletedKeysEndTheLeaseAfterTwoRoundTrips() {
        Lease lease = watched(slowWorld(3));
        world.runMs(10);
        node(0).redis().delete("orders");
        world.runMs(5);
        assertEquals(LeaseState.HELD, lease.state(), "a quorum has its key");
        node(1).redis().delete("orders");
        world.runUntilNs(world.nowNs() + 4 * LINK_NS);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(List.of(LeaseState.LOST), lost);
    }

    /** Its nodes do not push a change to the connection that has made it. */
    @Test
    void theClientThatBreaksTheLockFindsTheLossAndWakesItsWaiters() throws InterruptedException {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = watched(client);
        CompletionStage<AcquireOutcome> waiting = client.redlock()
                .acquireAsync("orders", options().waitUpTo(Duration.ofSeconds(10)));
        world.runMs(10);
        BlockedCall<ReleaseOutcome> breaking = new BlockedCall<>(
                () -> client.redlock().breakLock("orders", client.redlock().inspect("orders").heldBy()));
        Await.until("broken", () -> {
            world.runMs(1);
            return breaking.isDone();
        });
        assertEquals(ReleaseOutcome.RELEASED, breaking.result());
        world.runMs(5);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(List.of(LeaseState.LOST), lost);
        assertTrue(waiting.toCompletableFuture().isDone(), "woken");
        release(get(waiting).lease());
    }

    /** Its node has pushed, and the read that registers for the next push is rejected. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aCheckThatGetsAnErrorIsSentAgain(int nodeCount) {
        VirtualWorld.Client client = world(nodeCount);
        Lease lease = watched(client);
        world.runMs(10);
        eachNode(node -> {
            node.redis().failNext("EVALSHA", "BUSY a script of another program runs", 3);
            node.redis().set("orders", node.redis().get("orders"), TTL.toMillis());
        });
        world.runMs(2_000);
        assertEquals(LeaseState.HELD, lease.state());
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(10);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(List.of(LeaseState.LOST), lost);
    }

    @Test
    void withoutTheOptionTheNextExtensionFindsTheLoss() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(100);
        assertEquals(LeaseState.HELD, lease.state());
        assertEquals(ExtendOutcome.LOST, extend(lease, TTL));
    }

    @Test
    void aReplacedKeyEndsTheLease() {
        Lease lease = watched(slowWorld(3));
        world.runMs(10);
        node(0).redis().set("orders", "foreign", 10_000);
        node(1).redis().set("orders", "foreign", 10_000);
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void aKeyThatAReaderHasTakenEndsTheLease() {
        Lease lease = watched(slowWorld(3));
        world.runMs(10);
        node(0).redis().setReader("orders", "a reader's token", 10_000);
        node(1).redis().setReader("orders", "a reader's token", 10_000);
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
        assertEquals(List.of(LeaseState.LOST), lost);
    }

    @Test
    void aKeyOfAWriterThatAReaderHasTakenEndsTheLease() {
        Lease lease = acquired(get(slowWorld(3).redlock()
                .acquireAsync("orders", options().forWriting().watchLoss())));
        world.runMs(10);
        node(1).redis().setReader("orders", "a reader's token", 10_000);
        node(2).redis().setReader("orders", "a reader's token", 10_000);
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @ParameterizedTest
    @EnumSource(CommandMode.class)
    void extensionsKeepTheLeaseAndTheWatch(CommandMode mode) {
        world(3);
        VirtualWorld.Client client = client(context().commands(mode));
        Lease lease = watched(client);
        for (int i = 0; i < 5; i++) {
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
            world.runMs(50);
        }
        assertEquals(LeaseState.HELD, lease.state());
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runMs(5);
        assertEquals(mode == CommandMode.NATIVE ? LeaseState.HELD : LeaseState.LOST, lease.state(),
                "NATIVE: no pushes");
    }

    /** The slowest node sets the key by the script that follows its refusal, and reads it for the watch before. */
    @Test
    void aNodeThatAnExtensionIsSentToAgainIsWatched() {
        world(3);
        eachNode(node -> {
            node.redis().kind(FakeRedis.Kind.REDIS_8_4);
            node.delay(() -> LINK_NS);
        });
        VirtualWorld.Client client = client(context().thriftyQuorums(true));
        Lease lease = watched(client);
        world.runMs(10);
        int third = IntStream.range(0, 3).filter(i -> key(i) == null).findFirst().orElseThrow();
        node(third).delay(() -> 2 * LINK_NS);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(10);
        assertEquals(3, keyCount());
        node(third).redis().delete("orders");
        node((third + 1) % 3).redis().delete("orders");
        world.runMs(5);
        assertEquals(LeaseState.LOST, lease.state());
    }

    /** The slowest node executes the second command of the extension, behind the read for the watch. */
    @Test
    void aNodeWithoutTheScriptIsWatchedAfterAnExtension() {
        world(3);
        eachNode(node -> node.delay(() -> LINK_NS));
        VirtualWorld.Client client = client(context().commands(CommandMode.SCRIPTS));
        Lease lease = watched(client);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(10);
        node(2).delay(() -> 2 * LINK_NS);
        node(2).redis().failNext("EVALSHA", "NOSCRIPT No matching script.", 1);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
        world.runMs(10);
        node(1).redis().delete("orders");
        node(2).redis().delete("orders");
        world.runMs(5);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void flushedNodesEndTheLease() {
        Lease lease = watched(slowWorld(3));
        world.runMs(10);
        node(0).redis().flushAll();
        node(2).redis().flushAll();
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void aKeyThatIsDeletedWhileTheNodeIsNotConnectedIsFoundAtTheReconnect() {
        Lease lease = watched(slowWorld(3));
        world.runMs(10);
        node(0).breakConnections();
        node(1).breakConnections();
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runMs(100);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void aDeletedKeyOfASetEndsTheLease() {
        Lease lease = acquired(get(slowWorld(3).redlock()
                .acquireAllAsync(List.of("orders", "stock"), options().watchLoss())));
        world.runMs(10);
        node(0).redis().delete("stock");
        node(1).redis().delete("orders");
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
    }

    /** Acquires the lock again. The pushes of the loss of the earlier lease are lost. */
    private Lease watchedAgain(VirtualWorld.Client client, AcquireOptions options) {
        eachNode(node -> {
            node.pushFault((name, push) -> List.of());
            node.redis().delete("orders");
            node.pushFault(null);
        });
        world.runMs(10);
        return acquired(acquire(client, options.watchLoss()));
    }

    @Test
    void aLockThatIsAcquiredAgainEndsItsEarlierLease() {
        VirtualWorld.Client client = slowWorld(3);
        Lease earlier = watched(client);
        world.runMs(10);
        Lease again = watchedAgain(client, options());
        assertEquals(LeaseState.HELD, earlier.state());
        world.runUntilNs(world.nowNs() + 4 * LINK_NS);
        assertEquals(LeaseState.LOST, earlier.state());
        assertEquals(List.of(LeaseState.LOST), lost);
        assertEquals(LeaseState.HELD, again.state());
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(2);
        assertEquals(LeaseState.LOST, again.state());
    }

    /** Both were not read, and only the earlier one has no key. */
    @Test
    void aLockThatIsAcquiredAgainIsWatchedAlthoughItsCheckGetsAnError() {
        VirtualWorld.Client client = slowWorld(3);
        watched(client);
        world.runMs(10);
        eachNode(node -> node.redis().failNext("EVALSHA", "BUSY a script of another program runs", 8));
        Lease again = watchedAgain(client, options());
        world.runMs(2_500);
        assertEquals(LeaseState.HELD, again.state());
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(10);
        assertEquals(LeaseState.LOST, again.state());
    }

    @Test
    void aResourceThatIsAcquiredAgainEndsTheEarlierLeaseOfItsSet() {
        VirtualWorld.Client client = slowWorld(3);
        Lease earlier = acquired(get(client.redlock()
                .acquireAllAsync(List.of("orders", "stock"), options().watchLoss())));
        world.runMs(10);
        Lease again = watchedAgain(client, options().forWriting());
        world.runUntilNs(world.nowNs() + 4 * LINK_NS);
        assertEquals(LeaseState.LOST, earlier.state());
        assertEquals(LeaseState.HELD, again.state());
    }

    /** The replies to the checks of both leases are lost with the connections. */
    @Test
    void bothLeasesOfALockThatIsAcquiredAgainAreWatched() {
        VirtualWorld.Client client = slowWorld(3);
        Lease earlier = watched(client);
        world.runMs(10);
        Lease again = watchedAgain(client, options());
        eachNode(FakeNode::breakConnections);
        world.runMs(100);
        assertEquals(LeaseState.LOST, earlier.state());
        assertEquals(LeaseState.HELD, again.state());
        node(1).redis().delete("orders");
        node(2).redis().delete("orders");
        world.runMs(2);
        assertEquals(LeaseState.LOST, again.state());
    }

    /** The earlier lease ends first, or the later one does. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLeaseIsWatchedAfterTheOtherLeaseOfItsLockHasEnded(boolean isEarlierFirst) {
        VirtualWorld.Client client = slowWorld(3);
        Lease earlier = watched(client);
        world.runMs(10);
        Lease again = watchedAgain(client, options());
        eachNode(FakeNode::breakConnections);
        (isEarlierFirst ? earlier : again).releaseAsync();
        world.runMs(100);
        assertEquals(isEarlierFirst ? List.of() : List.of(LeaseState.LOST), lost);
        Lease left = isEarlierFirst ? again : earlier;
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(2);
        assertEquals(LeaseState.LOST, left.state());
    }

    /** More checks are due than are sent at once, and local waiters acquire the locks meanwhile. */
    @Test
    void aCheckThatIsDueIsSentAlthoughAWaiterOfTheClientHasTheLock() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("r" + i, options().watchLoss()))));
            waiting.add(client.redlock()
                    .acquireAsync("r" + i, options().watchLoss().waitUpTo(Duration.ofSeconds(60)))
                    .toCompletableFuture());
        }
        world.runMs(10);
        eachNode(node -> leases.forEach(lease -> node.redis().delete(lease.resource())));
        world.runMs(50);
        leases.forEach(lease -> assertEquals(LeaseState.LOST, lease.state(), lease.resource()));
        waiting.forEach(other -> assertEquals(LeaseState.HELD, acquired(other.join()).state()));
    }

    /** With NOLOOP, a change by an own command would end the registration. */
    @ParameterizedTest
    @EnumSource(Watched.class)
    void ownCommandsForTheSameLockLeaveTheWatch(Watched kind) {
        VirtualWorld.Client client = slowWorld(3);
        Lease stale = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        Lease lease = acquired(get(kind.acquire(client)));
        world.runMs(10);
        AcquireOptions patient = options().waitUpTo(Duration.ofSeconds(60));
        List<CompletableFuture<AcquireOutcome>> waiting = List.of(acquireAsync(client, patient),
                acquireAsync(client, patient.forReading()), acquireAsync(client, patient.forWriting()),
                client.redlock().acquireAllAsync(List.of("orders", "b"), patient).toCompletableFuture());
        world.runMs(20);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options().forReading()).kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind());
        waiting.forEach(one -> one.cancel(false));
        assertEquals(ExtendOutcome.LOST, extend(stale, TTL));
        stale.releaseAsync();
        world.runMs(10);
        assertEquals(LeaseState.HELD, lease.state());
        node(0).redis().delete("orders");
        node(1).redis().delete("orders");
        world.runUntilNs(world.nowNs() + 4 * LINK_NS);
        assertEquals(LeaseState.LOST, lease.state());
    }

    /** The kinds of lock that can be watched. */
    private enum Watched {
        PLAIN, FENCED, WRITING, SET;

        private CompletionStage<AcquireOutcome> acquire(VirtualWorld.Client client) {
            AcquireOptions options = options().watchLoss();
            return switch (this) {
                case PLAIN -> client.redlock().acquireAsync("orders", options);
                case FENCED -> client.redlock().acquireAsync("orders", options.fenced());
                case WRITING -> client.redlock().acquireAsync("orders", options.forWriting());
                case SET -> client.redlock().acquireAllAsync(List.of("orders", "stock"), options);
            };
        }
    }

    @Test
    void aReleasedLeaseIsNotWatched() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = watched(client);
        world.runMs(10);
        release(lease);
        int before = checks();
        eachNode(node -> node.redis().set("orders", "foreign", 10_000));
        world.runMs(10);
        assertEquals(before, checks());
        assertTrue(lost.isEmpty());
    }

    @Test
    void aLeaseIsWatchedAgainAfterItsReuse() {
        VirtualWorld.Client client = slowWorld(3);
        for (int i = 0; i < 3; i++) {
            release(watched(client));
        }
        Lease lease = watched(client);
        world.runMs(10);
        eachNode(node -> node.redis().delete("orders"));
        world.runMs(2);
        assertEquals(LeaseState.LOST, lease.state());
    }

    @Test
    void eachNodeReadsTheKeyOnceForAnAcquireAndOnceForAnExtension() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = acquired(acquire(client, options().watchLoss()));
        world.runMs(10);
        assertEquals(3, checks());
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, Duration.ofSeconds(9)));
        world.runMs(10);
        assertTrue(checks() <= 9, () -> "an extension by script pushes, and is read once more: " + checks());
    }

    private int checks() {
        int count = 0;
        for (FakeNode node : world.nodes()) {
            count += node.redis().commandCount("check");
        }
        return count;
    }

    /** A node may have thousands of watched leases. */
    @Test
    void theChecksAfterAReconnectAreSpread() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("r" + i, options().watchLoss()))));
        }
        world.runMs(10);
        node(0).breakConnections();
        world.await("reconnect", 1_000, () -> status(client, 0).state() != NodeState.READY);
        world.await("reconnect", 1_000, () -> status(client, 0).state() == NodeState.READY);
        int before = checks();
        long startNs = world.nowNs();
        world.runUntilNs(startNs + 1_100_000);
        int atOnce = checks() - before;
        assertTrue(atOnce > 0 && atOnce <= 64, () -> atOnce + " checks in the first millisecond");
        release(leases.get(199));
        world.runMs(10);
        assertTrue(checks() - before >= 199, () -> checks() - before + " checks");
        node(0).redis().delete("r150");
        node(1).redis().delete("r150");
        world.runMs(2);
        assertEquals(LeaseState.LOST, leases.get(150).state(), "registered again");
    }

    /** A hostile node may push after each check. */
    @Test
    void aFloodOfPushesCausesFewChecks() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("r" + i, options().watchLoss()))));
        }
        world.runMs(10);
        int before = checks();
        for (int i = 0; i < 50; i++) {
            for (int k = 0; k < 100; k++) {
                node(0).pushInvalidation(any -> true, "r" + k);
            }
            world.runUntilNs(world.nowNs() + 200_000);
        }
        int count = checks() - before;
        assertTrue(count <= 11 * 32, () -> count + " checks in 10 ms");
        leases.forEach(lease -> assertEquals(LeaseState.HELD, lease.state()));
    }

    /** A flush needs no check: the node has lost all keys. */
    @Test
    void aFloodOfFlushesCausesNoChecks() {
        VirtualWorld.Client client = slowWorld(3);
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            leases.add(acquired(get(client.redlock().acquireAsync("r" + i, options().watchLoss()))));
        }
        world.runMs(10);
        int before = checks();
        for (int i = 0; i < 500; i++) {
            node(0).pushInvalidation(any -> true, null);
            world.runUntilNs(world.nowNs() + 1_000_000);
        }
        assertEquals(before, checks());
        leases.forEach(lease -> assertEquals(LeaseState.HELD, lease.state()));
    }

    /** The client reuses the objects of a lease that has ended. */
    @Test
    void aPushForALeaseThatHasEndedSendsNothing() {
        VirtualWorld.Client client = slowWorld(3);
        release(watched(client));
        world.runMs(10);
        Lease next = acquired(get(client.redlock().acquireAsync("next", options().watchLoss())));
        world.runMs(10);
        long before = client.redlock().counters().commandCount();
        eachNode(node -> node.pushInvalidation(any -> true, "orders"));
        world.runMs(10);
        assertEquals(before, client.redlock().counters().commandCount());
        assertEquals(LeaseState.HELD, next.state());
    }
}
