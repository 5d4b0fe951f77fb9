package dev.redlock.set;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** Many waiting sets of one client with a common resource: one at a time makes attempts. */
class SetOrderTest extends VirtualTest {

    private static final long HOLD_NS = 1_000_000;
    private static final long BREAK_NS = 30_000;
    private static final int SECONDS = 3;

    /** A push, an attempt that is refused, and two round trips of the next one. */
    private static final long PASSED_ON_US = 1_000;

    private int grantCount;
    private long refusedCount;
    private long longestWaitNs;
    private boolean isOver;
    private LongSupplier holdNs = () -> HOLD_NS;

    private void loop(VirtualWorld.Client client, ResourceKey key) {
        Lease lease = client.redlock().newLease();
        long startNs = world.nowNs();
        client.redlock().acquire(key, options().waitUpTo(Duration.ofSeconds(60)), lease, outcome -> {
            if (outcome.kind() != AcquireOutcome.Kind.ACQUIRED) {
                return;
            }
            grantCount++;
            longestWaitNs = Math.max(longestWaitNs, world.nowNs() - startNs);
            world.after(holdNs.getAsLong(),
                    () -> client.call(() -> lease.release((released, how) -> world.after(BREAK_NS,
                            () -> {
                                if (!isOver) {
                                    client.call(() -> loop(client, key));
                                }
                            }))));
        });
    }

    /** Returns how many grants the callers of each client get. */
    private int grants(int clientCount, int callerCount, IntFunction<List<String>> resources) {
        grantCount = 0;
        longestWaitNs = 0;
        isOver = false;
        List<VirtualWorld.Client> clients = new ArrayList<>(List.of(slowWorld(3)));
        while (clients.size() < clientCount) {
            clients.add(client());
        }
        for (int i = 0; i < callerCount * clientCount; i++) {
            VirtualWorld.Client client = clients.get(i % clientCount);
            List<String> of = resources.apply(i);
            ResourceKey key = of.size() == 1 ? client.redlock().key(of.get(0)) : client.redlock().keyOfAll(of);
            client.call(() -> loop(client, key));
        }
        world.runMs(SECONDS * 1_000);
        isOver = true;
        refusedCount = clients.stream()
                .mapToLong(client -> client.redlock().counters().contendedAttemptCount())
                .sum();
        clients.forEach(client -> assertEquals(0, client.redlock().counters().backstopCount(), "slept"));
        nothingIsLeft();
        world = null;
        return grantCount;
    }

    private void assertFewAreRefused(int clientCount, int callerCount, double refusedMax) {
        int plain = grants(clientCount, callerCount, i -> List.of("shared"));
        int sets = grants(clientCount, callerCount, i -> List.of("shared", "own/" + i));
        double refusedPerGrant = (double) refusedCount / sets;
        assertTrue(refusedPerGrant <= refusedMax, () -> refusedPerGrant + " refused attempts per grant");
        // Nobody is passed over: each waits for about one cycle of all.
        long allNs = clientCount * callerCount * 2 * HOLD_NS;
        assertTrue(longestWaitNs <= allNs, () -> "one waited for " + longestWaitNs / 1_000 + " us");
        assertTrue(2 * sets >= plain, () -> sets + " grants of sets, " + plain + " of a plain lock");
    }

    @Test
    void aHundredSets() {
        assertFewAreRefused(1, 100, 0.1);
    }

    @Test
    void threeHundredSets() {
        assertFewAreRefused(1, 300, 0.1);
    }

    /** A refusal names the resource: the other sets wait for the next change of it. */
    @Test
    void aHundredSetsOfTwoClients() {
        assertFewAreRefused(2, 50, 3);
    }

    /** A release wakes one of each client: they have an order, and do not ask all at once. */
    @Test
    void aHundredSetsOfTenClients() {
        assertFewAreRefused(10, 10, 3);
    }

    @Test
    void fiftySetsOfFiveClients() {
        assertFewAreRefused(5, 10, 3);
    }

    @Test
    void tenSetsOfTenClients() {
        assertFewAreRefused(10, 1, 3);
    }

    /** The client in the first place starts, and the others wait. */
    @Test
    void aHundredSetsThatAreHeldForNoTime() {
        holdNs = () -> 0;
        assertFewAreRefused(10, 10, 3);
    }

    private void assertShortWaits(int clientCount, int callerCount, IntFunction<List<String>> resources, long maxMs) {
        int grants = grants(clientCount, callerCount, resources);
        double refusedPerGrant = (double) refusedCount / grants;
        assertTrue(refusedPerGrant <= 3, () -> refusedPerGrant + " refused attempts per grant");
        assertTrue(longestWaitNs <= maxMs * 1_000_000, () -> "one waited for " + longestWaitNs / 1_000 + " us");
    }

    /** A younger set does not leave a reservation that refuses an older one of its client. */
    @Test
    void equalSetsAndOverlappingOnesOfTwoClients() {
        assertShortWaits(2, 24, i -> i % 4 < 2 ? List.of("a", "b") : List.of("b", "own/" + i), 300);
    }

    /**
     * Two neighbours that alternate do not keep out the set between them. With two clients, the longest wait depends
     * on the order of the pushes: it was 210 to 450 ms over sixteen random sequences of holds.
     */
    @Test
    void setsThatOverlapInARing() {
        Random random = new Random(1);
        holdNs = () -> HOLD_NS / 2 + random.nextInt((int) HOLD_NS);
        assertShortWaits(1, 100, i -> List.of("ring/" + i % 10, "ring/" + (i + 1) % 10), 200);
        assertShortWaits(2, 50, i -> List.of("ring/" + i / 2 % 10, "ring/" + (i / 2 + 1) % 10), 500);
    }

    private CompletableFuture<AcquireOutcome> waiting(VirtualWorld.Client client, String... resources) {
        CompletableFuture<AcquireOutcome> waiting = client.redlock()
                .acquireAllAsync(List.of(resources), options().waitUpTo(Duration.ofSeconds(60)))
                .toCompletableFuture();
        world.runMs(20);
        assertFalse(waiting.isDone());
        return waiting;
    }

    /** The clock readings stand for the work: in no millisecond is there one for each set that waits. */
    @Test
    void releasesBesideManySetsReadTheClockAFewTimes() {
        int count = 2_000;
        VirtualWorld.Client client = slowWorld(3);
        Lease market = acquired(get(client.redlock().acquireAsync("market", options())));
        for (int i = 0; i < count; i++) {
            client.redlock()
                    .acquireAllAsync(List.of("market", "account/" + i), options().waitUpTo(Duration.ofSeconds(60)));
        }
        world.runMs(5);
        int[] reads = new int[1];
        int most = 0;
        client.clockListener(() -> reads[0]++);
        // The oldest set asks and pauses in turn meanwhile.
        for (int i = 1; i <= 30; i++) {
            Lease account = acquired(get(client.redlock().acquireAsync("account/" + (count - i), options())));
            account.releaseAsync();
            for (int ms = 0; ms < 40; ms++) {
                reads[0] = 0;
                world.runMs(1);
                most = Math.max(most, reads[0]);
            }
        }
        int found = most;
        assertTrue(found > 0 && found < 200, () -> found + " clock readings in one millisecond");
        release(market);
    }

    /** Two sets wait for a resource of another client: the older one for its other resource too. */
    private void assertYoungerIsServed(boolean isOlderCancelled) {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease shared = acquired(get(other.redlock().acquireAsync("shared", options())));
        acquired(get(other.redlock().acquireAsync("own/1", options())));
        CompletableFuture<AcquireOutcome> older = waiting(client, "shared", "own/1");
        CompletableFuture<AcquireOutcome> younger = waiting(client, "shared", "own/2");
        // The older set pauses with its reservation.
        world.runMs(350);
        long startNs = world.nowNs();
        shared.releaseAsync();
        if (isOlderCancelled) {
            world.runUntilNs(startNs + 250_000);
            older.cancel(false);
        }
        world.await("the lock", 1_000, younger::isDone);
        acquired(younger.join());
        long tookUs = (world.nowNs() - startNs) / 1_000;
        assertTrue(tookUs <= PASSED_ON_US, () -> "after " + tookUs + " us");
        younger.join().lease().releaseAsync();
    }

    @Test
    void aSetThatIsRefusedPassesItsPriorityOn() {
        assertYoungerIsServed(false);
    }

    @Test
    void aSetThatGivesUpPassesItsPriorityOn() {
        assertYoungerIsServed(true);
    }
}
