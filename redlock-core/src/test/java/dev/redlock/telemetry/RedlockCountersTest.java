package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.NodeCounters;
import dev.redlock.NodeStatus;
import dev.redlock.RedlockCounters;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** {@link RedlockCounters} count each event once and are readable at any time from any thread. */
class RedlockCountersTest extends VirtualTest {

    private static Map<String, Long> everyCounter(RedlockCounters counters) {
        Map<String, Long> all = new TreeMap<>();
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            all.put("outcome " + kind, counters.outcomeCount(kind));
        }
        for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
            all.put("release " + outcome, counters.releaseCount(outcome));
        }
        all.put("contended", counters.contendedAttemptCount());
        all.put("noQuorum", counters.noQuorumAttemptCount());
        all.put("tooSlow", counters.tooSlowAttemptCount());
        all.put("rolledBack", counters.rolledBackCount());
        all.put("extended", counters.extendedCount());
        all.put("raised", counters.raisedCount());
        all.put("lost", counters.lostCount());
        all.put("expired", counters.expiredCount());
        all.put("woken", counters.wokenCount());
        all.put("spuriousPush", counters.spuriousPushCount());
        all.put("backstop", counters.backstopCount());
        return all;
    }

    /** Asserts that an event adds to some counters, and to no others. */
    private static void assertCounted(String expected, VirtualWorld.Client client, Runnable event) {
        Map<String, Long> before = everyCounter(client.redlock().counters());
        event.run();
        Map<String, Long> changes = new TreeMap<>();
        everyCounter(client.redlock().counters()).forEach((name, count) -> changes.put(name, count - before.get(name)));
        changes.values().removeIf(change -> change == 0);
        assertEquals(expected, changes.toString());
    }

    @Test
    void nullIsRejectedWithItsName() {
        RedlockCounters counters = world(1).redlock().counters();
        Refusal.ofNull("kind of outcome is null: name the one to count", () -> counters.outcomeCount(null));
        Refusal.ofNull("release outcome is null: name the one to count", () -> counters.releaseCount(null));
    }

    @Test
    void countersStartAtZero() {
        Map<String, Long> all = everyCounter(world(3).redlock().counters());
        assertEquals(0, all.values().stream().mapToLong(Long::longValue).sum(), all::toString);
    }

    @Test
    void countersOfANodeAreThoseOfItsStatus() {
        VirtualWorld.Client client = world(3);
        Lease held = lease(client);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client(), options()).kind());
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind());
        release(held);
        node(1).redis().failNext("SET", "OOM no", 1);
        release(lease(client));
        node(2).breakConnections();
        world.runMs(100);
        List<String> expected = List.of("granted=2, refused=1, errors=0, disconnects=0, clockJumps=0",
                "granted=1, refused=1, errors=1, disconnects=0, clockJumps=0",
                "granted=2, refused=1, errors=0, disconnects=1, clockJumps=0");
        for (int i = 0; i < 3; i++) {
            NodeStatus status = status(client, i);
            NodeCounters counters = client.redlock().nodeCounters(i);
            assertEquals("NodeCounters{" + expected.get(i) + "}", counters.toString());
            assertEquals(status.grantedCount(), counters.grantedCount());
            assertEquals(status.refusedCount(), counters.refusedCount());
            assertEquals(status.errorCount(), counters.errorCount());
            assertEquals(status.disconnectCount(), counters.disconnectCount());
        }
        for (int index : new int[]{-1, 3}) {
            String message = assertThrows(IndexOutOfBoundsException.class, () -> client.redlock().nodeCounters(index))
                    .getMessage();
            assertEquals("node index " + index + " is out of range: 0 to 2 are the nodes in configured order", message);
        }
    }

    @Test
    void countersAreReadableAndCountAfterTheClientHasClosed() {
        VirtualWorld.Client client = world(3);
        RedlockCounters counters = client.redlock().counters();
        assertEquals(ExtendOutcome.EXTENDED, extend(lease(client), TTL));
        CompletableFuture<CloseReport> report = client.engine().close(Duration.ofSeconds(1));
        world.await("closed", 2_000, report::isDone);
        assertEquals(1, counters.acquiredCount());
        assertEquals(1, counters.extendedCount());
        assertEquals(1, counters.releaseCount(ReleaseOutcome.RELEASED), "closing released it");
        assertEquals(everyCounter(counters), CompletableFuture.supplyAsync(() -> everyCounter(counters)).join(),
                "the same for every thread");
        assertEquals("RedlockCounters{acquired=1, contended=0, noQuorum=0, tooSlow=0, rolledBack=0, extended=1, lost=0,"
                + " expired=0}", counters.toString());
    }

    @Test
    void aPushThatWakesAWaiterCountsOnce() {
        VirtualWorld.Client client = world(1);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(TTL));
        world.runMs(5);
        release(holder);
        acquired(get(waiting));
        assertEquals(1, other.redlock().counters().wokenCount());
        assertEquals(0, other.redlock().counters().spuriousPushCount());
    }

    @Test
    void aFailedAcquisitionCountsOnceByItsReason() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 60_000));
        assertCounted("{contended=1, outcome CONTENDED=1, rolledBack=1}", client, () -> acquire(client, options()));
        eachNode(node -> node.redis().delete("orders"));
        eachNode(FakeNode::pause);
        assertCounted("{noQuorum=1, outcome NO_QUORUM=1, rolledBack=1}", client, () -> acquire(client, options()));
        eachNode(FakeNode::resume);
        world.runMs(10);
        eachNode(node -> node.delay(() -> 1_000_000));
        assertCounted("{outcome TOO_SLOW=1, rolledBack=1, tooSlow=1}", client,
                () -> acquire(client, options().minValidity(Duration.ofMillis(validityMs(TTL.toMillis()) - 1))));
    }

    @Test
    void aRejectedAcquisitionCountsWithoutAnAttempt() {
        world = new VirtualWorld(3);
        VirtualWorld.Client client = client(context().autoExtendedLeasesMax(0));
        assertCounted("{outcome OVERLOADED=1}", client, () -> acquire(client, options().autoExtend()));
    }

    @Test
    void aReleaseCountsOnceByItsOutcome() {
        VirtualWorld.Client client = world(3);
        Lease deleted = lease(client);
        eachNode(node -> node.redis().delete("orders"));
        assertCounted("{release EXPIRED=1}", client, () -> release(deleted));
        Lease kept = acquired(acquire(client, options().holdAtLeast(Duration.ofSeconds(1))));
        assertCounted("{release KEPT=1}", client, () -> release(kept));
        assertCounted("{release RELEASED=1}", client, () -> world.runMs(1_100));
        Lease unanswered = lease(client);
        eachNode(FakeNode::pause);
        assertCounted("{release UNKNOWN=1}", client, () -> release(unanswered));
    }
}
