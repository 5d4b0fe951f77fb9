package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.LockGroup;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.LeaseHandle;
import dev.redlock.engine.key.LockKey;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@link LockGroup} counts the acquisitions with its name in the options, each once, however they end. */
class LockGroupsTest extends VirtualTest {

    private static AcquireOptions grouped(String name) {
        return options().group(name);
    }

    private static List<String> names(VirtualWorld.Client client) {
        return client.redlock().groups().stream().map(LockGroup::name).toList();
    }

    private static LockGroup group(VirtualWorld.Client client, String name) {
        return client.redlock()
                .groups()
                .stream()
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(names(client)));
    }

    private static Map<AcquireOutcome.Kind, Long> counts(LockGroup group) {
        Map<AcquireOutcome.Kind, Long> counts = new TreeMap<>();
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            counts.put(kind, group.acquireTimes().count(kind));
        }
        counts.values().removeIf(count -> count == 0);
        return counts;
    }

    private static void assertCounts(String expected, VirtualWorld.Client client, String name) {
        assertEquals(expected, counts(group(client, name)).toString());
    }

    // ---- outcomes ---------------------------------------------------------------------------------------------------

    @Test
    void acquisitionsCountWithTheirDurationsForTheirGroup() {
        VirtualWorld.Client client = slowWorld(3);
        assertEquals(List.of(), client.redlock().groups());
        release(acquired(acquire(client, grouped("orders"))));
        eachNode(node -> node.delay(() -> 1_500_000));
        Lease held = acquired(acquire(client, grouped("orders")));
        acquire(client, grouped("stock").waitUpTo(Duration.ofMillis(100)));
        acquire(client, options());
        assertEquals(List.of("orders", "stock"), names(client));
        assertCounts("{ACQUIRED=2}", client, "orders");
        assertCounts("{TIMED_OUT=1}", client, "stock");
        LockGroup orders = group(client, "orders");
        assertEquals(3_200_000, orders.acquireTimes().totalNs(AcquireOutcome.Kind.ACQUIRED));
        assertEquals(1, orders.acquireTimes().countUpTo(AcquireOutcome.Kind.ACQUIRED, 1_000_000));
        assertTrue(orders.acquireTimes().percentileNs(AcquireOutcome.Kind.ACQUIRED, 1) >= 3_000_000);
        assertEquals(100_000_000, group(client, "stock").acquireTimes().totalNs(AcquireOutcome.Kind.TIMED_OUT));
        assertEquals("LockGroup{orders, AcquireTimes{acquired=2, totalNs=3200000}, localGrants=0}", orders.toString());
        assertSame(orders, group(client, "orders"));
        release(held);
    }

    @Test
    void aGroupCountsWithoutTheFlightRecorder() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().flightRecorderEvents(0));
        release(acquired(acquire(client, grouped("orders"))));
        assertCounts("{ACQUIRED=1}", client, "orders");
        assertEquals(1, client.redlock().counters().acquiredCount());
    }

    @Test
    void everyOutcomeCountsAsTheCountersOfTheClientDo() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireOptions options = grouped("orders");
        Lease held = acquired(acquire(client, options));
        acquire(client, options);
        acquire(client, options.waitUpTo(Duration.ofMillis(10)));
        CompletableFuture<AcquireOutcome> cancelled = acquireAsync(client, options.waitUpTo(TTL));
        world.runMs(5);
        cancelled.cancel(true);
        release(held);
        acquire(client, options.minValidity(Duration.ofMillis(validityMs(TTL.toMillis())).minusNanos(LINK_NS)));
        eachNode(FakeNode::pause);
        acquire(client, options);
        eachNode(FakeNode::resume);
        world.runMs(10);
        Lease last = acquired(acquire(client, options));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options.waitUpTo(Duration.ofMinutes(1)));
        world.runMs(5);
        get(client.engine().close(Duration.ofSeconds(1)));
        assertEquals(AcquireOutcome.Kind.CLOSED, get(waiting).kind());
        assertFalse(last.isHeld(), "closing released it");
        assertCounts("{ACQUIRED=2, CONTENDED=1, NO_QUORUM=1, TOO_SLOW=1, TIMED_OUT=1, CANCELLED=1, CLOSED=1}", client,
                "orders");
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            assertEquals(client.redlock().counters().outcomeCount(kind),
                    group(client, "orders").acquireTimes().count(kind), kind::name);
        }
    }

    @Test
    void aRejectedAcquisitionCountsWithoutDuration() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        acquire(client, grouped("orders").autoExtend());
        assertCounts("{OVERLOADED=1}", client, "orders");
        assertEquals(0, group(client, "orders").acquireTimes().totalNs(AcquireOutcome.Kind.OVERLOADED));
    }

    @Test
    void waitersOfSeveralGroupsCountForTheirOwn() {
        VirtualWorld.Client client = slowWorld(3);
        Lease held = acquired(acquire(client, grouped("first")));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, grouped("second").waitUpTo(TTL));
        CompletableFuture<AcquireOutcome> third = acquireAsync(client, grouped("third").waitUpTo(TTL));
        world.runMs(5);
        release(held);
        release(acquired(get(second)));
        release(acquired(get(third)));
        assertEquals(List.of("first", "second", "third"), names(client));
        for (String name : names(client)) {
            assertCounts("{ACQUIRED=1}", client, name);
        }
        assertTrue(group(client, "third").acquireTimes().totalNs(AcquireOutcome.Kind.ACQUIRED) > 5_000_000);
    }

    /** The next use of a handle, in the callback of the last one, may have another group. */
    @Test
    void aHandleThatIsUsedAgainCountsForEachGroup() {
        VirtualWorld.Client client = slowWorld(3);
        Lease lease = client.redlock().newLease();
        CompletableFuture<AcquireOutcome> end = new CompletableFuture<>();
        AcquireOptions second = grouped("second");
        client.call(() -> client.redlock()
                .acquire(client.redlock().key("orders"), grouped("first"), lease, first -> first.lease()
                        .release((released, outcome) -> client.redlock()
                                .acquire(client.redlock().key("orders"), second, released, end::complete))));
        release(acquired(get(end)));
        assertCounts("{ACQUIRED=1}", client, "first");
        assertCounts("{ACQUIRED=1}", client, "second");
    }

    // ---- retained locks ---------------------------------------------------------------------------------------------

    @Test
    void localGrantsCountApart() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireOptions retaining = grouped("orders").retain(TTL);
        assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, retaining))));
        for (int i = 0; i < 3; i++) {
            assertEquals(ReleaseOutcome.RETAINED, release(acquired(acquire(client, retaining))));
        }
        // The call of a caller that blocks, without the event loop.
        Lease lease = client.redlock().newLease();
        LockKey key = TestClient.engineOf(client.redlock()).key("orders");
        TestClient.engineOf(client.redlock())
                .acquire((LeaseHandle) lease, key, TestClient.specOf(retaining.group("stock")), 0, null);
        assertTrue(lease.isHeld(), "the group is no part of the lock");
        lease.close();
        acquired(acquire(client, options().retain(TTL)));
        assertEquals(5, client.redlock().counters().localGrantCount());
        assertEquals(3, group(client, "orders").localGrantCount());
        assertCounts("{ACQUIRED=1}", client, "orders");
        assertEquals(1, group(client, "stock").localGrantCount());
        assertCounts("{}", client, "stock");
    }

    @Test
    void aLocalHolderRefusesAndIsAwaited() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireOptions retaining = grouped("orders").retain(TTL);
        release(acquired(acquire(client, retaining)));
        Lease local = acquired(acquire(client, retaining));
        acquire(client, retaining);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, retaining.waitUpTo(TTL));
        world.runMs(5);
        release(local);
        release(acquired(get(waiting)));
        assertCounts("{ACQUIRED=2, CONTENDED=1}", client, "orders");
        assertEquals(1, group(client, "orders").localGrantCount(), "the waiter did not get it at once");
    }

    // ---- the limit --------------------------------------------------------------------------------------------------

    @Test
    void furtherGroupsShareOneAndTheLogSaysItOnce() {
        VirtualWorld.Client client = world(1);
        List<String> first = IntStream.range(0, GroupTable.GROUPS_MAX).mapToObj(i -> "group-" + i).sorted().toList();
        try (LogLines log = new LogLines()) {
            first.forEach(name -> release(acquired(acquire(client, grouped(name)))));
            assertEquals(first, names(client));
            assertEquals(List.of(), log.with("counts as"));
            for (int i = 0; i < 3; i++) {
                release(acquired(acquire(client, grouped("order-" + i))));
            }
            world.runMs(1);
            assertEquals(List.of("the group \"order-0\" counts as \"other\", as further ones do: a client counts 64"
                    + " groups apart; name in AcquireOptions.group what locks are for, without an id"),
                    log.with("counts as"));
        }
        release(acquired(acquire(client, grouped("group-0"))));
        assertEquals(GroupTable.GROUPS_MAX + 1, client.redlock().groups().size());
        assertCounts("{ACQUIRED=3}", client, "other");
        assertCounts("{ACQUIRED=2}", client, "group-0");
        assertCounts("{ACQUIRED=1}", client, "group-63");
    }

    /** It is a name as any other. */
    @Test
    void aGroupMayHaveTheNameOfTheSharedOne() {
        VirtualWorld.Client client = world(1);
        release(acquired(acquire(client, grouped("other"))));
        for (int i = 0; i < GroupTable.GROUPS_MAX + 2; i++) {
            release(acquired(acquire(client, grouped("group-" + i))));
        }
        assertEquals(GroupTable.GROUPS_MAX, client.redlock().groups().size());
        assertCounts("{ACQUIRED=4}", client, "other");
    }

    @Test
    void twoClientsCountTheSameOptionsApart() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client();
        AcquireOptions options = grouped("orders");
        release(acquired(acquire(client, options)));
        release(acquired(acquire(other, options)));
        release(acquired(acquire(other, options)));
        assertCounts("{ACQUIRED=1}", client, "orders");
        assertCounts("{ACQUIRED=2}", other, "orders");
        assertEquals(Map.of("orders", 2L), other.redlock()
                .groups()
                .stream()
                .collect(Collectors.toMap(LockGroup::name,
                        group -> group.acquireTimes().count(AcquireOutcome.Kind.ACQUIRED))));
    }
}
