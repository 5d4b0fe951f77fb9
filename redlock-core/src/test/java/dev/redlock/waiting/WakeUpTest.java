package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.engine.key.KeyText;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Waiters that the nodes wake: registration, pushes, coordinator, and what happens without them. */
class WakeUpTest extends WokenTest {

    private static final long BACKSTOP_MS_MAX = 500;

    private List<VirtualWorld.Client> waiters(int count) {
        List<VirtualWorld.Client> waiting = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            VirtualWorld.Client client = client();
            waiting.add(client);
            waiter(client);
        }
        world.runMs(100);
        return waiting;
    }

    @Test
    void aReleaseWakesTheWaiterOfAnotherClient() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(200);
        int before = attempts();
        int plainBefore = plainAttempts();
        assertHandoff(holder, waiting, WOKEN_US);
        assertEquals(1, attempts() - before, "the coordinator alone is asked to push");
        assertEquals(2, plainAttempts() - plainBefore, "the others get the cheapest command");
        assertEquals(0, other.redlock().counters().backstopCount());
        assertTrue(other.redlock().counters().wokenCount() >= 1);
    }

    private int plainAttempts() {
        return world.nodes().stream().mapToInt(node -> node.redis().commandCount("SET NX")).sum();
    }

    @Test
    void aReleaseWakesTheWaiterOfAFencedLock() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = acquired(acquire(client, options().fenced()));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().fenced().waitUpTo(WAIT));
        world.runMs(200);
        assertHandoff(holder, waiting, WOKEN_US + 2 * LINK_NS / 1_000);
        assertTrue(waiting.join().lease().fencingToken() > holder.fencingToken());
    }

    @Test
    void aWaiterSendsNothingWhileTheLockIsHeld() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        lease(client);
        waiter(other);
        world.runMs(100);
        int before = attempts();
        // The shortest backstop is 250 ms after the last refusal.
        world.runMs(140);
        assertEquals(before, attempts(), "no attempt before the backstop");
        world.runMs(4_860);
        assertTrue(attempts() - before <= 3 * 20, () -> "attempts in 5 s: " + (attempts() - before));
    }

    @Test
    void aRefusedWaiterAsksTheCoordinatorAlone() {
        VirtualWorld.Client client = slowWorld(5);
        VirtualWorld.Client other = client();
        lease(client);
        int before = attempts();
        waiter(other);
        world.runMs(3);
        int[] perNode = world.nodes().stream().mapToInt(WokenTest::attempts).toArray();
        int sum = java.util.Arrays.stream(perNode).sum();
        assertEquals(1, sum - before, "the plain attempt is a SET; the coordinator gets the script");
    }

    @Test
    void allClientsChooseTheSameCoordinator() {
        slowWorld(5);
        VirtualWorld.Client holder = client();
        lease(holder);
        int[] before = world.nodes().stream().mapToInt(WokenTest::attempts).toArray();
        for (int i = 0; i < 6; i++) {
            waiter(client());
        }
        // Before the first backstop.
        world.runMs(40);
        int asked = 0;
        for (int i = 0; i < 5; i++) {
            asked += attempts(node(i)) > before[i] ? 1 : 0;
        }
        assertEquals(1, asked, "one node gets the contended attempts of all clients");
    }

    @Test
    void aRenewalCostsTheHeadOneRefusedAttempt() {
        VirtualWorld.Client client = slowWorld(3);
        Lease holder = lease(client);
        waiters(32);
        int before = attempts();
        long startMs = nowMs();
        assertEquals(ExtendOutcome.EXTENDED, extend(holder, Duration.ofSeconds(20)));
        world.runMs(80);
        assertEquals(1, attempts() - before, "the deputy only looks");
        assertTrue(nowMs() - startMs < 100);
    }

    @Test
    void aReleaseLetsOneClientWinAndCostsTheOthersNothing() {
        VirtualWorld.Client client = slowWorld(3);
        Lease holder = lease(client);
        List<VirtualWorld.Client> waiting = waiters(32);
        int before = attempts();
        long rolledBackBefore = rolledBack(waiting);
        holder.releaseAsync();
        world.runMs(5);
        assertEquals(1, waiting.stream().filter(each -> each.redlock().counters().acquiredCount() == 1).count());
        assertEquals(1, attempts() - before, "the other nodes get a plain SET");
        assertEquals(rolledBackBefore, rolledBack(waiting), "no split votes");
    }

    /** Links of different lengths: without a queue the client with the shortest one gets each lock. */
    @Test
    void grantsFollowTheOrderOfArrival() {
        VirtualWorld.Client client = slowWorld(3);
        Lease holder = lease(client);
        List<Integer> order = new ArrayList<>();
        List<VirtualWorld.Client> clients = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            clients.add(client());
        }
        for (int i = 0; i < 8; i++) {
            take(clients.get(i * 5 % 8), i, order);
            world.runMs(5);
        }
        holder.releaseAsync();
        world.runMs(60);
        assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), order);
    }

    /** Waits for the lock, records its number, and holds the lock for a millisecond. */
    private void take(VirtualWorld.Client client, int number, List<Integer> order) {
        waiter(client).thenAccept(outcome -> {
            order.add(number);
            world.after(1_000_000, () -> outcome.lease().releaseAsync());
        });
    }

    @Test
    void aClientThatHasGivenUpCostsItsDelayOnce() {
        VirtualWorld.Client client = slowWorld(3);
        Lease holder = lease(client);
        acquireAsync(client(), options().waitUpTo(Duration.ofMillis(20)));
        world.runMs(10);
        CompletableFuture<AcquireOutcome> second = waiter(client());
        CompletableFuture<AcquireOutcome> third = waiter(client());
        world.runMs(40);
        assertHandoff(holder, second, 2_000 + WOKEN_US);
        long nextUs = handoffUs(second.join().lease(), third);
        assertTrue(nextUs <= 2_000 + WOKEN_US, () -> "after " + nextUs + " us");
    }

    /** Those that precede have given up, and each has ended its entry. */
    @Test
    void aShortBudgetIsNotSpentOnThePlacesOfOthers() {
        VirtualWorld.Client client = slowWorld(3);
        Lease holder = lease(client);
        for (int i = 0; i < 20; i++) {
            acquireAsync(client(), options().waitUpTo(Duration.ofMillis(30)));
        }
        world.runMs(10);
        CompletableFuture<AcquireOutcome> last = acquireAsync(client(), options().waitUpTo(Duration.ofMillis(60)));
        world.runMs(30);
        assertHandoff(holder, last, 20_000);
    }

    /** The queue orders clients, so a node that cannot keep it costs the order and no attempt. */
    @Test
    void aForeignKeyInPlaceOfTheQueueCostsTheOrderOnly() {
        VirtualWorld.Client client = slowWorld(3);
        eachNode(node -> node.redis().set(KeyText.counterName("orders") + ":queue", "no queue", -1));
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(client());
        world.runMs(100);
        assertHandoff(holder, waiting, WOKEN_US);
    }

    private static long rolledBack(List<VirtualWorld.Client> clients) {
        return clients.stream().mapToLong(each -> each.redlock().counters().rolledBackCount()).sum();
    }

    @Test
    void aDeadHolderIsReplacedAtTheEndOfItsTtl() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        // Servers notice the expiry of a key that nobody reads very late.
        eachNode(node -> node.redis().activeExpiry(() -> 60_000));
        lease(client);
        long keyEndMs = nowMs() + node(0).redis().pttl("orders");
        client.pause();
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.await("replacement", 20_000, waiting::isDone);
        acquired(waiting.join());
        long lateMs = nowMs() - keyEndMs;
        assertTrue(lateMs >= 0 && lateMs <= 5, () -> "late by " + lateMs + " ms");
    }

    @Test
    void manyWaitersReplaceADeadHolderAtTheEndOfItsTtl() {
        VirtualWorld.Client client = slowWorld(3);
        eachNode(node -> node.redis().activeExpiry(() -> 60_000));
        lease(client);
        long keyEndMs = nowMs() + node(0).redis().pttl("orders");
        client.pause();
        List<VirtualWorld.Client> waiting = waiters(32);
        world.await("replacement", 20_000,
                () -> waiting.stream().anyMatch(each -> each.redlock().counters().acquiredCount() == 1));
        long lateMs = nowMs() - keyEndMs;
        assertTrue(lateMs >= 0 && lateMs <= 5, () -> "late by " + lateMs + " ms");
    }

    @Test
    void aWaiterOfAPausedCoordinatorIsWokenByTheOthers() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        int coordinator = coordinator();
        world.runMs(100);
        node(coordinator).pause();
        assertHandoff(holder, waiting, 4_000);
    }

    @Test
    void aCoordinatorThatCrashesBeforeOthersAreRegisteredCostsABackoff() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        node(coordinator()).crash();
        assertHandoff(holder, waiting, 60_000);
    }

    @Test
    void lostPushesDelayTheWaiterByTheBackstopAtMost() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(100);
        eachNode(node -> node.loseReplies(name -> false));
        eachNode(node -> node.pushFault((name, push) -> List.of()));
        assertHandoff(holder, waiting, BACKSTOP_MS_MAX * 1_000);
        assertEquals(1, other.redlock().counters().backstopCount());
    }

    @Test
    void aRetryPolicyWithLongDelaysLimitsTheAttemptsAndNotTheWakeUps() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> Long.MAX_VALUE));
        world.runMs(1_000);
        int before = attempts();
        world.runMs(3_000);
        assertEquals(before, attempts(), "no attempt without a push");
        node(coordinator()).pause();
        assertHandoff(holder, waiting, 4_000);
    }

    @Test
    void aServerWithoutResp3IsPolled() {
        world(3);
        eachNode(node -> node.redis().onlyResp2());
        VirtualWorld.Client client = client();
        VirtualWorld.Client other = client();
        assertEquals("the server has no RESP3", status(other, 0).wakeUpProblem());
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(100);
        assertHandoff(holder, waiting, 55_000);
        assertEquals(0, other.redlock().counters().wokenCount());
    }

    @Test
    void aUserWithoutTheRightToTrackPolls() {
        world(3);
        eachNode(node -> node.redis().failNext("CLIENT TRACKING", "NOPERM no permissions", Integer.MAX_VALUE));
        VirtualWorld.Client client = client();
        assertEquals("CLIENT TRACKING failed: NOPERM", status(client, 0).wakeUpProblem());
        assertNull(status(client, 0).problem(), "the node votes");
    }

    @Test
    void theStatusTellsWhetherANodeWakesWaiters() {
        VirtualWorld.Client client = world(3);
        assertNull(status(client, 0).wakeUpProblem());
        VirtualWorld.Client without = client(context().wakeUpKeysMax(0));
        assertNotNull(status(without, 0).wakeUpProblem());
        node(0).crash();
        world.runMs(10);
        assertEquals("not connected", status(client, 0).wakeUpProblem());
    }

    @Test
    void anUncontendedLockRegistersNothing() {
        VirtualWorld.Client client = world(3);
        for (int i = 0; i < 10; i++) {
            release(lease(client));
        }
        eachNode(node -> assertEquals(0, node.redis().commandCount("CLIENT CACHING")));
    }

    @Test
    void aWaiterOfALocalLeaseIsNotWokenByItsRenewals() {
        VirtualWorld.Client client = slowWorld(3);
        CompletableFuture<AcquireOutcome> first = waiter(client);
        CompletableFuture<AcquireOutcome> second = waiter(client);
        world.runMs(10);
        Lease holder = acquired(first.join());
        int before = attempts();
        assertEquals(ExtendOutcome.EXTENDED, extend(holder, Duration.ofSeconds(20)));
        world.runMs(50);
        assertEquals(before, attempts(), "the local queue waits for the local lease");
        assertFalse(second.isDone());
        release(holder);
        world.runMs(2);
        acquired(second.join());
    }

    @Test
    void flushedNodesWakeEveryWaiterInSomeTime() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            acquired(get(client.redlock().acquireAsync("r" + i, options())));
            waiting.add(other.redlock().acquireAsync("r" + i, options().waitUpTo(WAIT)).toCompletableFuture());
        }
        world.runMs(200);
        eachNode(node -> node.redis().flushAll());
        world.runMs(30);
        waiting.forEach(each -> assertTrue(each.isDone() && each.join().isAcquired()));
    }

    @Test
    void aFullTrackingTableIsNoReasonToWaitLonger() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        eachNode(node -> node.redis().trackedKeysMax(1));
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        List<Lease> holders = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            holders.add(acquired(get(client.redlock().acquireAsync("r" + i, options()))));
            waiting.add(other.redlock().acquireAsync("r" + i, options().waitUpTo(WAIT)).toCompletableFuture());
        }
        world.runMs(300);
        holders.forEach(Lease::releaseAsync);
        world.runMs(BACKSTOP_MS_MAX + 20);
        waiting.forEach(each -> assertTrue(each.isDone() && each.join().isAcquired()));
    }

    @Test
    void resourcesBeyondTheLimitArePolled() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client(context().wakeUpKeysMax(2));
        List<Lease> holders = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            holders.add(acquired(get(client.redlock().acquireAsync("r" + i, options()))));
            waiting.add(other.redlock().acquireAsync("r" + i, options().waitUpTo(WAIT)).toCompletableFuture());
        }
        world.runMs(200);
        holders.forEach(Lease::releaseAsync);
        world.runMs(60);
        waiting.forEach(each -> assertTrue(each.isDone() && each.join().isAcquired()));
        assertTrue(other.redlock().counters().wokenCount() >= 2);
    }

    @Test
    void aServerThatFloodsWithPushesIsDisconnected() {
        VirtualWorld.Client client = world(3);
        for (int i = 0; i < 2_000; i++) {
            node(0).pushInvalidation(name -> true, "nobody");
        }
        world.runMs(5);
        assertEquals(1, status(client, 0).disconnectCount());
        assertTrue(client.redlock().counters().spuriousPushCount() <= 1_024);
        release(lease(client));
    }

    @Test
    void aCoordinatorWithAnotherKeyDoesNotHideARelease() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        node(coordinator()).redis().set("orders", "foreign", -1);
        world.runMs(100);
        assertHandoff(holder, waiting, 3_000);
    }

    @Test
    void aCoordinatorThatRefusesAndPushesForEverStarvesNobody() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(3);
        FakeNode coordinator = node(coordinator());
        coordinator.redis().set("orders", "foreign", -1);
        coordinator.redis().listener((who, command, reply) -> {
            if (command.startsWith("acquire")) {
                world.after(LINK_NS, () -> coordinator.pushInvalidation(name -> true, "orders"));
            }
        });
        coordinator.pushInvalidation(name -> true, "orders");
        release(holder);
        world.runMs(50);
        assertTrue(waiting.isDone(), "acquired from the other nodes");
        acquired(waiting.join());
    }

    @Test
    void pushesOfAnyShapeLeaveTheConnectionInStep() {
        VirtualWorld.Client client = world(3);
        List<String> pushes = List.of(">2\r\n$10\r\ninvalidate\r\n*1\r\n$4\r\n\u0001\u0002\r\n\r\n",
                ">2\r\n$10\r\ninvalidate\r\n*0\r\n", ">2\r\n$10\r\ninvalidate\r\n_\r\n",
                ">2\r\n$10\r\ninvalidate\r\n*-1\r\n", ">2\r\n$10\r\ninvalidate\r\n*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n#t\r\n",
                ">1\r\n+pong\r\n", ">3\r\n$7\r\nmessage\r\n,1.5\r\n(12345678901234567890\r\n",
                "|1\r\n+ttl\r\n:3\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\norders\r\n", ">0\r\n");
        for (String push : pushes) {
            eachNode(node -> node.sendRaw(push));
            world.runMs(1);
            release(lease(client));
            assertEquals(0, status(client, 0).disconnectCount(), push);
        }
    }

    @Test
    void aNodeThatForbidsTheRegistrationLaterIsPolledFromThenOn() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        eachNode(node -> node.redis().failNext("CLIENT CACHING", "NOPERM no permissions", Integer.MAX_VALUE));
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = waiter(other);
        world.runMs(1_000);
        assertEquals("CLIENT CACHING failed: NOPERM", status(other, 0).wakeUpProblem());
        assertHandoff(holder, waiting, 55_000);
    }

    @Test
    void aCallerThatComesBackAtOnceLetsOtherClientsIn() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        int[] served = new int[2];
        cycle(client, served, 0);
        cycle(other, served, 1);
        world.runMs(1_500);
        double share = (double) served[0] / (served[0] + served[1]);
        assertTrue(share > 0.35 && share < 0.65, () -> "share of one " + share);
        int locks = served[0] + served[1];
        assertTrue(locks > 1_500, () -> "locks in 1.5 s: " + locks);
        long rolledBack = rolledBack(List.of(client, other));
        assertTrue(rolledBack < locks / 20, () -> "split votes: " + rolledBack + " for " + locks + " locks");
    }

    @Test
    void theCoordinatorGetsAReleaseLast() {
        VirtualWorld.Client client = slowWorld(3);
        VirtualWorld.Client other = client();
        Lease busy = acquired(get(other.redlock().acquireAsync("busy", options())));
        // A client without any contended lock does not look for coordinators.
        var waitingForBusy = client.redlock().acquireAsync("busy", options().waitUpTo(WAIT)).toCompletableFuture();
        Set<Integer> coordinators = new HashSet<>();
        for (int i = 0; i < 8; i++) {
            String name = "r" + i;
            Lease holder = acquired(get(client.redlock().acquireAsync(name, options())));
            int[] before = world.nodes().stream().mapToInt(WokenTest::attempts).toArray();
            var waiting = other.redlock().acquireAsync(name, options().waitUpTo(WAIT)).toCompletableFuture();
            world.runMs(3);
            int coordinator = 0;
            while (attempts(node(coordinator)) == before[coordinator]) {
                coordinator++;
            }
            coordinators.add(coordinator);
            List<Integer> order = orderOfRequests();
            holder.releaseAsync();
            world.runMs(0);
            assertEquals(coordinator, order.get(2), () -> "sent to " + order);
            world.await("handoff", 10_000, waiting::isDone);
            release(waiting.join().lease());
        }
        assertTrue(coordinators.size() > 1, "the order of the nodes alone would do");
        release(busy);
        world.await("handoff", 10_000, waitingForBusy::isDone);
        release(waitingForBusy.join().lease());
    }

    /** The indexes of the nodes, in the order in which they get requests from now on. */
    private List<Integer> orderOfRequests() {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < world.nodes().size(); i++) {
            int index = i;
            node(i).delay(() -> {
                order.add(index);
                return LINK_NS;
            });
        }
        return order;
    }

    @Test
    void aShortBudgetIsNotSpentOnAPause() {
        VirtualWorld.Client client = slowWorld(3);
        AcquireOptions shortOnes = options().waitUpTo(Duration.ofMillis(1));
        long endNs = world.nowNs() + 300_000_000;
        while (world.nowNs() < endNs) {
            acquired(acquire(client, shortOnes)).releaseAsync();
        }
    }

    private void cycle(VirtualWorld.Client client, int[] served, int index) {
        waiter(client).thenAccept(outcome -> {
            if (outcome.isAcquired()) {
                served[index]++;
                outcome.lease().releaseAsync().thenRun(() -> cycle(client, served, index));
            }
        });
    }
}
