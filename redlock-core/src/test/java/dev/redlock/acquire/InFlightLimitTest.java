package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The limit of attempts in flight: an acquisition with a wait budget waits for a place. */
class InFlightLimitTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(10);

    private VirtualWorld.Client client;

    private void clientWithPlaces(int places, int waitersMax) {
        world = new VirtualWorld(3);
        client = client(context().inFlightMax(places).waitersMax(waitersMax));
    }

    private CompletableFuture<AcquireOutcome> ask(String resource, AcquireOptions options) {
        return client.redlock().acquireAsync(resource, options).toCompletableFuture();
    }

    /** Takes places until the node timeout passes. */
    private List<CompletableFuture<AcquireOutcome>> takePlaces(int count) {
        List<CompletableFuture<AcquireOutcome>> taken = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            taken.add(ask("place/" + i, options()));
        }
        return taken;
    }

    private static List<AcquireOutcome.Kind> kindsOf(List<CompletableFuture<AcquireOutcome>> all) {
        return all.stream().map(one -> one.isDone() ? one.join().kind() : null).toList();
    }

    @Test
    void aWaiterThatHasMadeAnAttemptKeepsWaiting() {
        clientWithPlaces(2, 100);
        eachNode(node -> node.redis().set("orders", "foreign", 500));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, options().waitUpTo(WAIT));
        world.runMs(2);
        assertFalse(waiting.isDone());
        eachNode(node -> node.pause());
        takePlaces(2);
        world.runMs(49);
        takePlaces(2);
        world.runMs(30);
        assertFalse(waiting.isDone(), () -> waiting.join().toString());
        eachNode(node -> node.resume());
        release(acquired(get(waiting)));
        release(acquired(get(second)));
    }

    @Test
    void aFirstAttemptWaitsForAPlaceAndTakesItImmediately() {
        clientWithPlaces(1, 100);
        eachNode(node -> node.delay(() -> 1_000_000));
        List<CompletableFuture<AcquireOutcome>> taken = takePlaces(1);
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        acquired(get(waiting));
        assertEquals(List.of(AcquireOutcome.Kind.ACQUIRED), kindsOf(taken));
        assertEquals(4, nowMs() - startMs, "two round trips of 2 ms, one after the other");
        assertEquals(1, waiting.join().attemptCount());
    }

    @Test
    void placesAreTakenInOrderOfArrival() {
        clientWithPlaces(1, 100);
        eachNode(node -> node.delay(() -> 1_000_000));
        takePlaces(1);
        List<String> order = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            String resource = "r" + i;
            ask(resource, options().waitUpTo(WAIT)).thenAccept(outcome -> order.add(resource + " " + outcome.kind()));
        }
        world.runMs(3);
        assertEquals(AcquireOutcome.Kind.OVERLOADED, get(ask("late", options())).kind(),
                "an acquire without wait budget does not overtake waiters");
        world.runMs(20);
        assertEquals(List.of("r0 ACQUIRED", "r1 ACQUIRED", "r2 ACQUIRED", "r3 ACQUIRED", "r4 ACQUIRED"), order);
    }

    @Test
    void theWaitBudgetEndsTheWaitForAPlace() {
        clientWithPlaces(1, 100);
        eachNode(node -> node.pause());
        takePlaces(1);
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(20)));
        assertEquals(20, nowMs() - startMs);
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind());
        assertEquals(AcquireOutcome.Kind.OVERLOADED, outcome.lastReason());
        assertEquals(0, outcome.attemptCount(), "nothing was sent");
    }

    @Test
    void waitersForAPlaceCountAgainstTheWaiterLimit() {
        clientWithPlaces(1, 2);
        eachNode(node -> node.pause());
        takePlaces(1);
        List<CompletableFuture<AcquireOutcome>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            all.add(ask("r" + i, options().waitUpTo(WAIT)));
        }
        all.add(ask("r0", options().waitUpTo(WAIT)));
        world.settle();
        AcquireOutcome.Kind out = AcquireOutcome.Kind.OVERLOADED;
        assertEquals(Arrays.asList(null, null, out, out), kindsOf(all));
        eachNode(node -> node.resume());
        world.runMs(100);
        AcquireOutcome.Kind in = AcquireOutcome.Kind.ACQUIRED;
        assertEquals(List.of(in, in, out, out), kindsOf(all));
    }

    @Test
    void aReservedPlaceOfACancelledWaiterGoesToTheNext() {
        clientWithPlaces(1, 100);
        eachNode(node -> node.delay(() -> 1_000_000));
        List<CompletableFuture<AcquireOutcome>> taken = takePlaces(1);
        CompletableFuture<AcquireOutcome> first = ask("first", options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> second = ask("second", options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> third = ask("third", options().waitUpTo(WAIT));
        second.cancel(true);
        taken.get(0).thenRun(() -> first.cancel(true));
        acquired(get(third));
        world.runMs(100);
        assertEquals(AcquireOutcome.Kind.ACQUIRED, get(ask("last", options())).kind(), "the place is free");
        assertTrue(first.isCancelled() && second.isCancelled());
    }

    @Test
    void thousandsOfWaitersForAPlaceEndWithoutADeepStack() {
        clientWithPlaces(1, 20_000);
        eachNode(node -> node.pause());
        takePlaces(1);
        List<CompletableFuture<AcquireOutcome>> all = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            all.add(ask("r" + i, options().waitUpTo(Duration.ofMillis(200))));
        }
        eachNode(node -> node.crash());
        world.runMs(400);
        assertEquals(List.of(AcquireOutcome.Kind.TIMED_OUT), kindsOf(all).stream().distinct().toList());
        assertEquals(0, client.engine().claimsOut());
    }

    @Test
    void closeEndsWaitersForAPlace() {
        clientWithPlaces(1, 100);
        eachNode(node -> node.pause());
        takePlaces(1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT));
        client.engine().close(Duration.ofMillis(10));
        world.runMs(20);
        assertEquals(AcquireOutcome.Kind.CLOSED, waiting.join().kind());
    }
}
