package dev.redlock.semaphore;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Waiters for permits that slept though a permit was free. */
class SemaphoreRegressionTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    private static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    /** The first search was in progress when the client freed the permit, and nodes do not push its own changes. */
    @Test
    void aPermitThatIsFreedDuringTheFirstSearchWakesAQueueWithAnotherNumber() {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client();
        eachNode(node -> node.delay(() -> 100_000));
        world.runMs(1_100);
        List<Lease> two = List.of(acquired(acquire(client, permitOf(2))), acquired(acquire(client, permitOf(2))));
        // The coordinator has the script of searches from now on.
        assertFalse(acquire(client, permitOf(2)).isAcquired());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, permitOf(1).waitUpTo(WAIT));
        world.after(20_000, () -> two.forEach(Lease::releaseAsync));
        long startMs = nowMs();
        world.await("the permit", 10_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 5, () -> "waited for " + tookMs + " ms");
        acquired(waiting.join());
    }
}
