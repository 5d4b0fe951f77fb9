package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The end of the first waiter of a local queue: the next one continues, and an empty queue leaves nothing. */
class PromotedWaiterTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** Far below the shortest backstop, 250 ms. */
    private static final long SOON_MS = 5;

    private CompletableFuture<AcquireOutcome> waiter(VirtualWorld.Client client) {
        return acquireAsync(client, options().waitUpTo(WAIT));
    }

    /** The cancelled one had no lease, so there is no local release to wait for. */
    @Test
    void aWaiterBehindACancelledOneIsWokenByTheNodes() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client());
        CompletableFuture<AcquireOutcome> first = waiter(client);
        CompletableFuture<AcquireOutcome> second = waiter(client);
        world.runMs(100);
        first.cancel(true);
        world.runMs(100);
        holder.releaseAsync();
        world.runMs(SOON_MS);
        assertTrue(second.isDone(), "woken by a push");
        acquired(second.join());
        assertEquals(0, client.redlock().counters().backstopCount());
    }

    @Test
    void theLastWaiterLeavesNeitherItsQueueNorItsRegistration() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client());
        CompletableFuture<AcquireOutcome> waiting = waiter(client);
        world.runMs(1);
        assertTrue(client.engine().engine().hasQueues());
        assertEquals(1, client.engine().engine().registeredCount());
        waiting.cancel(true);
        world.runMs(1);
        assertFalse(client.engine().engine().hasQueues());
        assertEquals(0, client.engine().engine().registeredCount());
        release(holder);
    }

    /** A wait allocates no queue. */
    @Test
    void aQueueThatIsEmptyServesTheNextResource() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client());
        CompletableFuture<AcquireOutcome> waiting = waiter(client);
        world.runMs(1);
        Object queue = client.engine().engine().queueOf("orders");
        waiting.cancel(true);
        world.runMs(1);
        assertNull(client.engine().engine().queueOf("orders"));
        Lease other = acquired(get(client.redlock().acquireAsync("stock", options())));
        client.redlock().acquireAsync("stock", options().waitUpTo(WAIT));
        world.runMs(1);
        assertSame(queue, client.engine().engine().queueOf("stock"));
        release(other);
        release(holder);
    }
}
