package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Limits of a client: attempts in flight, waiters, and leases with automatic extension. */
class LimitsTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(5);

    @Test
    void limitsRejectImmediatelyAndSendNothing() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().waitersMax(1).autoExtendedLeasesMax(1).inFlightMax(2));
        lease(client);
        acquireAsync(client, options().waitUpTo(WAIT));
        acquireAsync(client, options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> third = acquireAsync(client, options().waitUpTo(WAIT));
        world.settle();
        assertEquals(AcquireOutcome.Kind.OVERLOADED, third.join().kind(), "one waiter is allowed besides the head");
        get(client.redlock().acquireAsync("auto-1", options().autoExtend()));
        assertEquals(AcquireOutcome.Kind.OVERLOADED,
                get(client.redlock().acquireAsync("auto-2", options().autoExtend())).kind(), "auto-extended leases");
        eachNode(node -> node.delay(() -> 1_000_000));
        CompletableFuture<AcquireOutcome> one = acquireAsync(client, options());
        CompletableFuture<AcquireOutcome> two = acquireAsync(client, options());
        assertFalse(one.isDone() || two.isDone(), "two attempts in flight are allowed");
        assertEquals(AcquireOutcome.Kind.OVERLOADED, get(acquireAsync(client, options())).kind(), "attempts in flight");
    }

    /** A limit that is not freed finally blocks the client, and one that is freed twice has no effect. */
    @Test
    void everyOutcomeFreesItsLimits() {
        world = new VirtualWorld(1);
        VirtualWorld.Client client = client(context().waitersMax(1).autoExtendedLeasesMax(1).inFlightMax(2));
        assertLimits(client, "at first");
        release(lease(client));
        assertLimits(client, "acquired and released");
        Lease holder = lease(client);
        acquire(client, options());
        acquire(client, options().autoExtend());
        assertLimits(client, "refused");
        acquire(client, options().waitUpTo(Duration.ofMillis(200)));
        assertLimits(client, "timed out at the head of the queue");
        CompletableFuture<AcquireOutcome> head = acquireAsync(client, options().waitUpTo(WAIT).autoExtend());
        long startMs = nowMs();
        assertEquals(AcquireOutcome.Kind.TIMED_OUT,
                acquire(client, options().waitUpTo(Duration.ofMillis(200))).kind(), "in the queue");
        assertEquals(200, nowMs() - startMs, "when its own budget ends, not when it becomes the head");
        acquireAsync(client, options().waitUpTo(WAIT)).cancel(true);
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, options().waitUpTo(WAIT));
        head.cancel(true);
        world.runMs(100);
        release(holder);
        release(acquired(get(second)));
        assertLimits(client, "timed out and cancelled in the queue, cancelled at its head, promoted and acquired");
        eachNode(node -> node.delay(() -> 1_000_000));
        acquireAsync(client, options().autoExtend()).cancel(true);
        world.runMs(10);
        assertLimits(client, "cancelled during its attempt");
        acquired(acquire(client, AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce().autoExtend(1, Duration.ZERO)));
        world.runMs(2_000);
        assertLimits(client, "expired");
    }

    /** The limits: two attempts in flight, one waiter besides the head, one lease with automatic extension. */
    private void assertLimits(VirtualWorld.Client client, String after) {
        List<CompletableFuture<AcquireOutcome>> all = new ArrayList<>();
        java.util.function.BiConsumer<String, AcquireOptions> ask = (resource, options) -> all
                .add(client.redlock().acquireAsync(resource, options).toCompletableFuture());
        eachNode(node -> node.delay(() -> 1_000_000));
        for (int i = 0; i < 3; i++) {
            ask.accept("in-flight-" + i, options());
        }
        world.runMs(5);
        for (int i = 0; i < 2; i++) {
            ask.accept("auto-" + i, options().autoExtend());
        }
        world.runMs(5);
        for (int i = 0; i < 3; i++) {
            ask.accept("in-flight-0", options().waitUpTo(WAIT));
        }
        world.runMs(5);
        AcquireOutcome.Kind[] kinds = all.stream()
                .map(one -> one.isDone() ? one.join().kind() : null)
                .toArray(AcquireOutcome.Kind[]::new);
        AcquireOutcome.Kind in = AcquireOutcome.Kind.ACQUIRED;
        AcquireOutcome.Kind out = AcquireOutcome.Kind.OVERLOADED;
        assertArrayEquals(new AcquireOutcome.Kind[]{in, in, out, in, out, null, null, out}, kinds, after);
        all.forEach(one -> {
            if (!one.cancel(true) && one.join().isAcquired()) {
                release(one.join().lease());
            }
        });
        world.runMs(10);
        eachNode(node -> node.delay(() -> 0));
    }
}
