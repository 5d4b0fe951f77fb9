package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The places of waiting clients in the queue: none keeps a free lock from its waiters. */
class QueuePlacesTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final long NS_PER_MS = 1_000_000;

    private boolean isEnded;

    private VirtualWorld.Client connect(long linkNs) {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> linkNs));
        world.runMs(1_500);
        return client;
    }

    /** Acquires again and again. */
    private void loop(VirtualWorld.Client client, long holdNs, Runnable onRelease) {
        if (isEnded) {
            return;
        }
        acquireAsync(client, options().waitUpTo(WAIT)).thenAccept(outcome -> world.after(holdNs, () -> {
            if (outcome.isAcquired()) {
                onRelease.run();
                outcome.lease().releaseAsync();
                loop(client, holdNs, onRelease);
            }
        }));
    }

    @AfterEach
    void endLoops() {
        isEnded = true;
        if (world != null) {
            world.runMs(100);
        }
    }

    /** Each of its waits got a place of its own, and the next one waited for the turns of all of them. */
    @Test
    void aClientWithShortWaitsDoesNotPrecedeItself() {
        VirtualWorld.Client owner = connect(LINK_NS);
        VirtualWorld.Client other = client();
        Lease holder = acquired(acquire(owner, options()));
        for (int i = 0; i < 40; i++) {
            assertEquals(AcquireOutcome.Kind.TIMED_OUT,
                    get(acquireAsync(other, options().waitUpTo(Duration.ofMillis(20)))).kind());
        }
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(WAIT));
        world.runMs(10);
        long startNs = world.nowNs();
        holder.releaseAsync();
        world.await("the lock", 10_000, waiting::isDone);
        long tookUs = (world.nowNs() - startNs) / 1_000;
        assertTrue(tookUs <= 1_000, () -> "woken after " + tookUs + " us");
    }

    /** The delays for clients that did not come any more lasted longer than the budget, with the lock free. */
    @Test
    void aWaiterInALatePlaceTriesAfterTheExpiry() {
        VirtualWorld.Client dead = connect(2_000_000);
        eachNode(node -> node.redis().activeExpiry(() -> 10_000));
        acquired(acquire(dead, AcquireOptions.ofTtl(Duration.ofSeconds(3)).tryOnce()));
        long endMs = nowMs() + 3_000;
        dead.pause();
        for (int i = 0; i < 12; i++) {
            acquireAsync(client(), options().waitUpTo(Duration.ofMillis(300)));
        }
        VirtualWorld.Client other = client();
        world.runMs(endMs - 150 - nowMs());
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other,
                options().waitUpTo(Duration.ofMillis(240)));
        world.await("the end of the wait", 10_000, waiting::isDone);
        acquired(waiting.join());
    }

    /** The only client that still wants the lock yielded to one that had given up, until its own budget ended. */
    @Test
    void aCallerWithAShortBudgetDoesNotYield() {
        VirtualWorld.Client client = connect(LINK_NS);
        VirtualWorld.Client other = client();
        Lease first = acquired(acquire(other, options()));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        world.runMs(10);
        first.releaseAsync();
        Lease second = acquired(get(waiting));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT,
                get(acquireAsync(other, options().waitUpTo(Duration.ofMillis(5)))).kind());
        second.releaseAsync();
        world.runMs(2);
        acquired(get(acquireAsync(client, options().waitUpTo(Duration.ofMillis(2)))));
    }

    /** The pushes that another waiter of the same client asked for postponed the attempt again and again. */
    @Test
    void pushesForAnotherWaiterDoNotPostponeATurn() {
        VirtualWorld.Client holder = connect(LINK_NS);
        acquired(get(holder.redlock().acquireAsync("stock", options())));
        for (int i = 0; i < 6; i++) {
            loop(client(), NS_PER_MS, () -> {
            });
        }
        VirtualWorld.Client other = client();
        other.redlock().acquireAllAsync(List.of("orders", "stock"), options().waitUpTo(WAIT));
        world.runMs(50);
        for (int i = 0; i < 20; i++) {
            CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(WAIT));
            long startMs = nowMs();
            world.await("the lock", 10_000, waiting::isDone);
            long tookMs = nowMs() - startMs;
            assertTrue(tookMs <= 100, () -> "waited for " + tookMs + " ms");
            acquired(waiting.join()).releaseAsync();
            world.runMs(3);
        }
    }

    /** The others passed it once, and it had no place from then on: nobody yielded to it. */
    @Test
    void aClientThatWasPassedGetsAPlace() {
        VirtualWorld.Client owner = connect(LINK_NS);
        VirtualWorld.Client late = client();
        long[] delayNs = {40 * NS_PER_MS};
        Runnable onRelease = () -> {
            if (delayNs[0] == 40 * NS_PER_MS) {
                return;
            }
            late.pause();
            world.after(delayNs[0], late::resume);
        };
        loop(owner, 2 * NS_PER_MS, onRelease);
        loop(client(), 2 * NS_PER_MS, onRelease);
        loop(client(), 2 * NS_PER_MS, onRelease);
        world.runMs(50);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(late, options().waitUpTo(WAIT));
        world.runMs(1);
        late.pause();
        world.runMs(40);
        late.resume();
        delayNs[0] = 1_500_000;
        long startMs = nowMs();
        world.await("the lock", 60_000, waiting::isDone);
        long tookMs = nowMs() - startMs;
        assertTrue(tookMs <= 100, () -> "waited for " + tookMs + " ms");
        acquired(waiting.join());
    }
}
