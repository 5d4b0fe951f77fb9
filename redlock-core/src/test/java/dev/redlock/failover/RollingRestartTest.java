package dev.redlock.failover;

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
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A node that votes again gets the keys of automatically extended leases at once, so the next one may restart. */
class RollingRestartTest extends VirtualTest {

    private static final Duration MAX_TTL = Duration.ofSeconds(30);
    private static final long QUARANTINE_MS_MAX = 40_000;

    private final List<LeaseState> losses = new ArrayList<>();
    private final List<Integer> counts = new ArrayList<>();
    private VirtualWorld.Client client;

    private final LeaseListener listener = new LeaseListener() {
        @Override
        public void onLost(Lease lease, LeaseState state) {
            losses.add(state);
        }

        @Override
        public void onExtended(Lease lease, int extensionCount) {
            counts.add(extensionCount);
        }
    };

    private void guardedWorld(int nodeCount) {
        world = new VirtualWorld(nodeCount);
        client = client(context().maxTtl(MAX_TTL).restartGuard(RestartGuardMode.UPTIME));
    }

    private AcquireOptions extended(Duration ttl) {
        return AcquireOptions.ofTtl(ttl).tryOnce().autoExtend().listener(listener);
    }

    private List<Lease> hold(int count, AcquireOptions options) {
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        client.engine().execute(() -> {
            for (int i = 0; i < count; i++) {
                outcomes.add(client.redlock().acquireAsync("orders/" + i, options).toCompletableFuture());
            }
        });
        world.settle();
        return outcomes.stream().map(outcome -> acquired(get(outcome))).toList();
    }

    private void restart(int index) {
        node(index).crash();
        node(index).restart(false);
        // The client has to notice the end of the connection first.
        world.await("down", 100, () -> status(client, index).state() != NodeState.READY);
    }

    private void awaitReady(int index) {
        world.await("votes", QUARANTINE_MS_MAX, () -> status(client, index).state() == NodeState.READY);
    }

    private void restartAll() {
        for (int i = 0; i < world.nodes().size(); i++) {
            restart(i);
            awaitReady(i);
        }
    }

    private int keys(int nodeIndex, int count) {
        int found = 0;
        for (int i = 0; i < count; i++) {
            found += node(nodeIndex).redis().get("orders/" + i) == null ? 0 : 1;
        }
        return found;
    }

    // ---- rolling restarts -------------------------------------------------------------------------------------------

    /** The ttl is that of the client at most, so the schedule extends the lease a third of it later. */
    @ParameterizedTest
    @CsvSource({"3, 30", "3, 10", "5, 30", "2, 10"})
    void aLeaseOutlivesARestartOfEachNodeAsSoonAsTheLastOneVotes(int nodeCount, int ttlSeconds) {
        guardedWorld(nodeCount);
        if (nodeCount == 2) {
            // Both are needed: the lease is lost with the first one, whatever follows.
            Lease lease = hold(1, extended(Duration.ofSeconds(ttlSeconds))).get(0);
            restartAll();
            assertFalse(lease.isHeld());
            return;
        }
        Lease lease = hold(1, extended(Duration.ofSeconds(ttlSeconds))).get(0);
        for (int i = 0; i < 3; i++) {
            restartAll();
        }
        assertEquals(List.of(), losses);
        assertTrue(lease.isHeld());
        world.runMs(10);
        assertEquals(nodeCount, java.util.stream.IntStream.range(0, nodeCount).map(i -> keys(i, 1)).sum());
    }

    /** A node with {@code SET IFEQ} answers twice before the key is set, and the other nodes have decided by then. */
    @ParameterizedTest
    @EnumSource
    void aLeaseOutlivesItWithAnyKindOfServerAndOneSlowerNode(FakeRedis.Kind kind) {
        for (long delayUs : new long[]{0, 500, 5_000, 20_000}) {
            world = new VirtualWorld(3);
            eachNode(node -> {
                node.redis().kind(kind);
                node.delay(() -> 100_000);
            });
            node(2).delay(() -> 100_000 + delayUs * 1_000);
            client = client(context().maxTtl(MAX_TTL).restartGuard(RestartGuardMode.UPTIME));
            Lease lease = hold(1, extended(MAX_TTL)).get(0);
            for (int i = 2; i >= 0; i--) {
                restart(i);
                awaitReady(i);
                world.runMs(500);
            }
            assertEquals(List.of(), losses, () -> "a delay of " + delayUs + " us");
            assertTrue(lease.isHeld());
            nothingIsLeft();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void otherKindsOutliveItToo(boolean isFenced) {
        guardedWorld(3);
        AcquireOptions options = isFenced ? extended(MAX_TTL).fenced() : extended(MAX_TTL).forWriting();
        Lease lease = hold(1, options).get(0);
        restartAll();
        restartAll();
        assertEquals(List.of(), losses);
        assertTrue(lease.isHeld());
    }

    /** With the caller's own extensions, the caller decides when. */
    @Test
    void aLeaseWithoutAutomaticExtensionIsNotRepaired() {
        guardedWorld(3);
        Lease lease = hold(1, AcquireOptions.ofTtl(MAX_TTL).tryOnce().listener(listener)).get(0);
        restart(0);
        while (status(client, 0).state() != NodeState.READY) {
            world.runMs(5_000);
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, MAX_TTL));
        }
        world.runMs(10);
        node(0).redis().delete("orders/0");
        world.runMs(100);
        assertEquals(0, keys(0, 1));
        restart(1);
        world.runMs(1_000);
        assertEquals(List.of(LeaseState.LOST), losses);
    }

    /** The next node restarts after the time that the page for operators states. */
    @Test
    void thousandsOfLeasesAreRepairedWithinASecondButNotAtOnce() {
        guardedWorld(3);
        int count = 5_000;
        hold(count, extended(MAX_TTL));
        for (int i = 0; i < 3; i++) {
            restart(i);
            awaitReady(i);
            world.runMs(5);
            int early = keys(i, count);
            assertTrue(early > 0 && early < 200, () -> early + " keys after 5 ms");
            world.runMs(995);
            assertEquals(count, keys(i, count));
        }
        assertEquals(List.of(), losses);
    }

    // ---- the schedule -----------------------------------------------------------------------------------------------

    @Test
    void repairsChangeNeitherTheCountNorTheTimesOfTheSchedule() {
        guardedWorld(3);
        hold(1, extended(MAX_TTL).autoExtend(6, Duration.ofMinutes(10)));
        restart(0);
        awaitReady(0);
        List<Integer> before = List.copyOf(counts);
        long extendedBefore = client.redlock().counters().extendedCount();
        world.runMs(10);
        assertEquals(before, counts);
        assertTrue(client.redlock().counters().extendedCount() - extendedBefore <= 2);
        world.await("end", 120_000, () -> !losses.isEmpty());
        assertEquals(List.of(1, 2, 3, 4, 5, 6), counts);
        assertEquals(List.of(LeaseState.EXPIRED), losses);
        // Six intervals of a third, and the last ttl: no repair has prolonged it.
        assertTrue(nowMs() < 10 + 6 * 10_010 + 30_000, () -> "ended after " + nowMs() + " ms");
    }

    @Test
    void aLeaseWithoutAnExtensionLeftIsNotRepaired() {
        guardedWorld(3);
        hold(1, extended(MAX_TTL).autoExtend(1, Duration.ofMinutes(10)));
        world.runMs(10_100);
        node(0).breakConnections();
        node(0).redis().delete("orders/0");
        awaitReady(0);
        world.runMs(1_000);
        assertEquals(0, keys(0, 1));
    }

    @Test
    void aRepairNeverShortensWhatTheCallerHasExtended() {
        guardedWorld(3);
        Lease lease = hold(1, extended(Duration.ofSeconds(10))).get(0);
        restart(0);
        world.runMs(25_000);
        assertEquals(ExtendOutcome.EXTENDED, extend(lease, MAX_TTL));
        awaitReady(0);
        long leftNs = lease.remainingValidityNs();
        world.runMs(100);
        assertTrue(lease.remainingValidityNs() >= leftNs - 100_000_000);
    }

    // ---- keys that are lost again -----------------------------------------------------------------------------------

    /** One extension sets the key again, the next one finds it. Then any other node may lose its own. */
    @Test
    void aNodeThatHasSetTheKeyAgainCountsAtOnce() {
        client = world(3);
        Lease lease = hold(1, extended(TTL)).get(0);
        node(0).redis().delete("orders/0");
        world.runMs(TTL.toMillis() / 3 + 10);
        node(1).redis().delete("orders/0");
        world.runMs(TTL.toMillis());
        assertEquals(List.of(), losses);
        assertTrue(lease.isHeld());
    }

    /** A server that evicts the key again and again must not be asked all the time. */
    @Test
    void aNodeThatLosesTheKeyAgainAndAgainIsAskedTwicePerInterval() {
        client = world(3);
        hold(1, extended(TTL));
        long before = client.redlock().counters().extendedCount();
        for (int ms = 0; ms < 10_000; ms++) {
            world.runMs(1);
            node(2).redis().delete("orders/0");
        }
        long extensions = client.redlock().counters().extendedCount() - before;
        assertTrue(extensions <= 6, () -> extensions + " extensions in three intervals");
        assertEquals(List.of(), losses);
    }

    @Test
    void aReleaseEndsTheRepairOfALease() {
        guardedWorld(3);
        Lease lease = hold(1, extended(MAX_TTL)).get(0);
        node(0).delay(() -> 1_000_000);
        restart(0);
        awaitReady(0);
        release(lease);
        Lease next = hold(1, AcquireOptions.ofTtl(MAX_TTL).tryOnce()).get(0);
        long before = client.redlock().counters().extendedCount();
        world.runMs(15_000);
        assertEquals(before, client.redlock().counters().extendedCount());
        assertTrue(next.isHeld());
    }
}
