package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** {@link RedlockCounters} are readable at any time from any thread; only null is rejected. */
class RedlockCountersTest extends VirtualTest {

    private static List<Long> everyCounter(RedlockCounters counters) {
        List<Long> all = new ArrayList<>();
        for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
            all.add(counters.outcomeCount(kind));
        }
        for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
            all.add(counters.releaseCount(outcome));
        }
        all.addAll(List.of(counters.acquiredCount(), counters.contendedAttemptCount(), counters.noQuorumAttemptCount(),
                counters.tooSlowAttemptCount(), counters.rolledBackCount(), counters.extendedCount(),
                counters.raisedCount(), counters.lostCount(), counters.expiredCount()));
        return all;
    }

    @Test
    void nullIsRejectedWithItsName() {
        RedlockCounters counters = world(1).redlock().counters();
        Refusal.ofNull("kind of outcome is null: name the one to count", () -> counters.outcomeCount(null));
        Refusal.ofNull("release outcome is null: name the one to count", () -> counters.releaseCount(null));
    }

    @Test
    void countersStartAtZero() {
        List<Long> all = everyCounter(world(3).redlock().counters());
        assertEquals(0, all.stream().mapToLong(Long::longValue).sum(), all::toString);
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
}
