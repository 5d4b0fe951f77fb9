package dev.redlock.set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Overlapping sets of several clients take turns. */
class SetReservationsTest extends VirtualTest {

    private static final long US = 1_000;
    private static final int CLIENTS = 4;
    private static final int PHILOSOPHERS = 64;
    private static final int FORKS = 16;
    private static final long HOLD_NS = 1_000 * US;
    /** About 20 ms, or 300 ms where the turns of many neighbours follow each other. */
    private static final long LONGEST_WAIT_NS = 400_000 * US;
    private static final int MEALS = 200;

    private final Random random = new Random(7);
    private final List<VirtualWorld.Client> kitchen = new ArrayList<>();
    private int finishedCount;
    private long longestWaitNs;

    private void dine(int seat, int meal) {
        if (meal == MEALS) {
            finishedCount++;
            return;
        }
        VirtualWorld.Client client = kitchen.get(seat % CLIENTS);
        int left = seat % FORKS;
        ResourceKey both = client.redlock().keyOfAll(List.of("fork/" + left, "fork/" + (left + 1) % FORKS));
        Lease lease = client.redlock().newLease();
        long startNs = world.nowNs();
        client.redlock().acquire(both, options().waitUpTo(Duration.ofSeconds(60)), lease, outcome -> {
            acquired(outcome);
            longestWaitNs = Math.max(longestWaitNs, world.nowNs() - startNs);
            world.after(HOLD_NS, () -> client.call(() -> lease.release((released, how) -> world
                    .after((20 + random.nextInt(20)) * US, () -> client.call(() -> dine(seat, meal + 1))))));
        });
    }

    /** Without reservations, the sets of two clients keep the others out until all their meals are over: for 900 ms. */
    @Test
    void noClientWaitsUntilTheOthersHaveFinished() {
        world = new VirtualWorld(3);
        for (int i = 0; i < CLIENTS; i++) {
            kitchen.add(client());
        }
        eachNode(node -> node.delay(() -> (60 + random.nextInt(60)) * US));
        world.runMs(1_100);
        for (int i = 0; i < PHILOSOPHERS; i++) {
            int seat = i;
            kitchen.get(seat % CLIENTS).call(() -> dine(seat, 0));
        }
        world.await("all meals", 60_000, () -> finishedCount == PHILOSOPHERS);
        assertTrue(longestWaitNs <= LONGEST_WAIT_NS, () -> "one waited for " + longestWaitNs / US + " us");
        kitchen.forEach(client -> assertEquals(0, client.redlock().counters().backstopCount()));
        nothingIsLeft();
    }

    private static boolean hasReservation(FakeNode node) {
        return node.redis().keys().stream().anyMatch(key -> key.endsWith(":redlock:reservation"));
    }

    private boolean isReservationLeft() {
        return world.nodes().stream().anyMatch(SetReservationsTest::hasReservation);
    }

    private CompletableFuture<AcquireOutcome> waiting(VirtualWorld.Client client, String... resources) {
        return client.redlock()
                .acquireAllAsync(List.of(resources), options().waitUpTo(Duration.ofSeconds(60)))
                .toCompletableFuture();
    }

    /** Three clients over nodes with short round trips. */
    private List<VirtualWorld.Client> threeClients(FakeRedis.Kind kind) {
        world = new VirtualWorld(3);
        eachNode(node -> node.redis().kind(kind));
        List<VirtualWorld.Client> clients = List.of(client(), client(), client());
        eachNode(node -> node.delay(() -> 100 * US));
        world.runMs(1_100);
        return clients;
    }

    @Test
    void aWaiterThatGivesUpRemovesItsReservationAndWakesTheOthers() {
        aWaiterThatGivesUpRemovesItsReservation(FakeRedis.Kind.REDIS_8_4, 2);
    }

    /** It does not register the keys of reservations, which the script does not declare. */
    @Test
    void aServerBeforeRedis72WakesNobodyThenSoTheOthersWaitUntilItWouldHaveExpired() {
        aWaiterThatGivesUpRemovesItsReservation(FakeRedis.Kind.REDIS_7, 300);
    }

    private void aWaiterThatGivesUpRemovesItsReservation(FakeRedis.Kind kind, long limitMs) {
        aWaiterThatGivesUpRemovesItsReservation(threeClients(kind), limitMs);
    }

    /** A node does not push what the connection itself has changed. */
    @Test
    void aWaiterThatGivesUpWakesTheWaitersOfItsOwnClient() {
        List<VirtualWorld.Client> clients = threeClients(FakeRedis.Kind.REDIS_8_4);
        aWaiterThatGivesUpRemovesItsReservation(List.of(clients.get(0), clients.get(1), clients.get(1)), 2);
    }

    /** As without memory: the clock throws. The other waiter of the client is not woken then, and asks later. */
    @Test
    void aWaiterEndsAlthoughTheRemovalOfItsReservationThrows() {
        List<VirtualWorld.Client> clients = threeClients(FakeRedis.Kind.REDIS_8_4);
        VirtualWorld.Client client = clients.get(1);
        Lease a = acquired(get(clients.get(0).redlock().acquireAsync("a", options())));
        CompletableFuture<AcquireOutcome> givesUp = client.redlock()
                .acquireAllAsync(List.of("a", "b"), options().waitUpTo(Duration.ofMillis(40)))
                .toCompletableFuture();
        CompletableFuture<AcquireOutcome> waiting = waiting(client, "a", "c");
        client.clockListener(() -> {
            List<String> methods = StackWalker.getInstance()
                    .walk(all -> all.map(StackWalker.StackFrame::getMethodName).toList());
            if (methods.contains("withdraw")) {
                throw new OutOfMemoryError("thrown by a test");
            }
        });
        try (LogLines log = new LogLines()) {
            assertEquals(AcquireOutcome.Kind.TIMED_OUT, get(givesUp).kind());
            assertEquals(1, log.with("commands are not sent").size());
        }
        clearRecordedExceptions();
        client.clockListener(() -> {
        });
        a.releaseAsync();
        acquired(get(waiting));
    }

    private void aWaiterThatGivesUpRemovesItsReservation(List<VirtualWorld.Client> clients, long limitMs) {
        Lease a = acquired(get(clients.get(0).redlock().acquireAsync("a", options())));
        Lease c = acquired(get(clients.get(0).redlock().acquireAsync("c", options())));
        CompletableFuture<AcquireOutcome> givesUp = waiting(clients.get(1), "a", "b");
        world.runMs(20);
        CompletableFuture<AcquireOutcome> waiting = waiting(clients.get(2), "b", "c");
        world.runMs(20);
        c.releaseAsync();
        world.runMs(20);
        assertFalse(waiting.isDone(), "the reservation of the first waiter keeps the second one out");
        givesUp.cancel(true);
        world.runMs(limitMs);
        assertTrue(waiting.isDone(), "the end of the reservation wakes the second waiter");
        acquired(waiting.join()).releaseAsync();
        assertFalse(isReservationLeft());
        a.releaseAsync();
        world.runMs(5);
        nothingIsLeft();
    }

    @Test
    void aGrantOfTheCoordinatorEndsTheReservationWithoutAnotherCommand() {
        List<VirtualWorld.Client> clients = threeClients(FakeRedis.Kind.REDIS_7);
        Lease a = acquired(get(clients.get(0).redlock().acquireAsync("a", options())));
        CompletableFuture<AcquireOutcome> waiting = waiting(clients.get(1), "a", "b");
        world.runMs(20);
        assertTrue(isReservationLeft());
        long before = clients.get(1).redlock().counters().commandCount();
        a.releaseAsync();
        world.runMs(20);
        assertFalse(isReservationLeft());
        assertEquals(3, clients.get(1).redlock().counters().commandCount() - before, "an acquire on each node");
        acquired(waiting.join()).releaseAsync();
        world.runMs(5);
        nothingIsLeft();
    }

    @Test
    void aGrantWithoutTheCoordinatorRemovesTheReservation() {
        for (int coordinator = 0; coordinator < 3; coordinator++) {
            VirtualWorld.Client client = threeClients(FakeRedis.Kind.REDIS_7).get(0);
            eachNode(node -> node.redis().set("a", "foreign", 60_000));
            CompletableFuture<AcquireOutcome> waiting = waiting(client, "a", "b");
            world.runMs(20);
            assertTrue(isReservationLeft());
            for (int i = 0; i < 3; i++) {
                if (i != coordinator) {
                    node(i).redis().delete("a");
                }
            }
            // At most until the backstop: it is registered at the coordinator alone.
            world.await("grant by two nodes", 600, waiting::isDone);
            world.runMs(2);
            assertFalse(isReservationLeft(), "the lock is held");
            node(coordinator).redis().delete("a");
            acquired(waiting.join()).releaseAsync();
            world.runMs(5);
            nothingIsLeft();
        }
        world = null;
    }

    /** The pushes of the other nodes start an attempt that leaves the reservation once more, and that they grant. */
    @Test
    void aGrantWithoutTheCoordinatorRemovesTheReservationThatItsOwnAttemptHasLeft() {
        VirtualWorld.Client client = threeClients(FakeRedis.Kind.REDIS_8_4).get(0);
        Set<Integer> coordinators = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            String held = "{" + i + "}a";
            eachNode(node -> node.redis().set(held, "foreign", 60_000));
            CompletableFuture<AcquireOutcome> waiting = waiting(client, held, "{" + i + "}b");
            // All nodes push by now.
            world.runMs(100);
            List<FakeNode> reserved = world.nodes().stream().filter(SetReservationsTest::hasReservation).toList();
            assertEquals(1, reserved.size(), "the coordinator alone has the reservation");
            coordinators.add(world.nodes().indexOf(reserved.get(0)));
            world.nodes().stream().filter(node -> !reserved.contains(node)).forEach(node -> node.redis().delete(held));
            world.runMs(10);
            assertTrue(waiting.isDone(), "granted by two nodes");
            assertFalse(isReservationLeft(), "the lock is held");
            acquired(waiting.join()).releaseAsync();
            world.runMs(5);
        }
        assertEquals(Set.of(0, 1, 2), coordinators);
    }

    private void share(VirtualWorld.Client client, ResourceKey key) {
        Lease lease = client.redlock().newLease();
        client.redlock().acquire(key, options().waitUpTo(Duration.ofSeconds(60)), lease, outcome -> {
            if (outcome.kind() == AcquireOutcome.Kind.ACQUIRED) {
                finishedCount++;
                world.after(HOLD_NS, () -> client.call(() -> lease.release((released, how) -> world
                        .after(30 * US, () -> client.call(() -> share(client, key))))));
            }
        });
    }

    /** Without pauses, two clients share their set 11 times a second instead of 650 times. */
    @Test
    void aSetThatWaitsForAHeldResourceDoesNotKeepItsOtherResourcesIdle() {
        List<VirtualWorld.Client> clients = threeClients(FakeRedis.Kind.REDIS_8_4);
        acquired(get(clients.get(0).redlock().acquireAsync("a", options())));
        waiting(clients.get(0), "a", "b");
        world.runMs(50);
        for (VirtualWorld.Client client : clients.subList(1, 3)) {
            client.call(() -> share(client, client.redlock().keyOfAll(List.of("b", "c"))));
        }
        world.runMs(3_000);
        assertTrue(finishedCount > 1_000, () -> finishedCount + " grants in 3 s");
    }

    /**
     * A set leaves its reservation late in its period, so it is still there in the pause that follows, and the set
     * awaits a resource that its own client has released meanwhile. It refuses an older set of the same client. That
     * one passes the free resources on to it, so both need not wait for the end of the reservation.
     */
    @Test
    void aSetWhoseReservationRefusesAnOlderSetOfItsClientIsStarted() {
        List<VirtualWorld.Client> clients = threeClients(FakeRedis.Kind.REDIS_8_4);
        VirtualWorld.Client client = clients.get(1);
        eachNode(node -> node.redis().set("a", "foreign", 60_000));
        Lease b = acquired(get(clients.get(0).redlock().acquireAsync("b", options())));
        long startNs = world.nowNs();
        CompletableFuture<AcquireOutcome> older = waiting(client, "a", "b", "c");
        FakeNode other = world.nodes().stream().filter(node -> !hasReservation(node)).findFirst().orElseThrow();
        other.redis().set("b", "foreign", 60_000);
        CompletableFuture<AcquireOutcome> plain = client.redlock()
                .acquireAsync("b", options().waitUpTo(Duration.ofSeconds(60)))
                .toCompletableFuture();
        world.runUntilNs(startNs + 220_000 * US);
        CompletableFuture<AcquireOutcome> younger = waiting(client, "b", "c");
        world.runUntilNs(startNs + 340_000 * US);
        assertFalse(isReservationLeft(), "the younger set leaves none before the pause of the older one");
        world.runUntilNs(startNs + 400_000 * US);
        assertTrue(isReservationLeft(), "the younger set has left its own");
        b.releaseAsync();
        world.runUntilNs(startNs + 500_000 * US);
        Lease c = acquired(get(client.redlock().acquireAsync("c", options())));
        world.runUntilNs(startNs + 525_000 * US);
        acquired(plain.join()).releaseAsync();
        world.runUntilNs(startNs + 605_000 * US);
        eachNode(node -> node.redis().delete("a"));
        world.runUntilNs(startNs + 610_000 * US);
        assertFalse(younger.isDone(), "its own client has one of its resources");
        c.releaseAsync();
        world.runMs(5);
        assertTrue(younger.isDone(), "the lock is free");
        acquired(younger.join()).releaseAsync();
        world.runMs(5);
        acquired(older.join()).releaseAsync();
        world.runMs(5);
        other.redis().delete("b");
        nothingIsLeft();
    }
}
