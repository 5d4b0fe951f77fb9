package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Mistakes of other lock libraries in reentrancy and waiting. */
class WaitingRegressionTest extends VirtualTest {

    private static final Duration WAIT = Duration.ofSeconds(5);

    @Test
    void locksAreNotReentrant() {
        VirtualWorld.Client client = world(3);
        lease(client);
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind(),
                "the lease is the proof, not the thread");
    }

    @Test
    void waitersOfOneProcessQueueAndOnlyTheHeadMakesAttempts() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        List<Integer> served = new ArrayList<>();
        List<CompletableFuture<AcquireOutcome>> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int place = i;
            waiting.add(acquireAsync(client, options().waitUpTo(WAIT)));
            waiting.get(i).thenAccept(outcome -> {
                served.add(place);
                outcome.lease().close();
            });
        }
        world.runMs(30);
        long asked = client.redlock().counters().contendedAttemptCount();
        assertTrue(asked <= 6, "only the head makes attempts, with its retry delays: " + asked + " attempts in 30 ms");
        long atMs = nowMs();
        release(holder);
        world.runMs(1);
        assertEquals(List.of(0, 1, 2, 3, 4), served, "in order, with immediate handoffs");
        assertTrue(nowMs() - atMs <= 1, "without waiting");
    }

    @Test
    void aWaiterThatTimesOutDoesNotBlockTheNext() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, options().waitUpTo(WAIT));
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, options().waitUpTo(WAIT));
        first.cancel(true);
        release(holder);
        world.runMs(1);
        acquired(second.join());
    }

    @Test
    void aCancelledStageCancelsItsAcquisition() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        acquireAsync(client, options().waitUpTo(WAIT)).cancel(true);
        world.runMs(1);
        assertEquals(1, client.redlock().counters().outcomeCount(AcquireOutcome.Kind.CANCELLED));
        release(holder);
        world.runMs(1);
        assertEquals(0, keyCount());
    }

    /** CompletableFuture.orTimeout completes a stage like this. Nobody else could release its lock. */
    @Test
    void anAcquisitionEndsWithTheStageThatItsCallerHasCompleted() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        acquireAsync(client, options().waitUpTo(WAIT)).completeExceptionally(new TimeoutException("by a test"));
        world.runMs(1);
        assertEquals(0, client.redlock().counters().waitingCount());
        release(holder);
        world.runMs(1);
        assertEquals(1, client.redlock().counters().acquiredCount());
        assertEquals(0, keyCount());
    }

    @Test
    void aWaiterNeedsNoNotificationFromTheNodes() {
        VirtualWorld.Client client = world(3);
        VirtualWorld.Client other = client(context().wakeUpKeysMax(0));
        Lease holder = lease(client);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(other, options().waitUpTo(WAIT));
        world.runMs(500);
        release(holder);
        world.runMs(60);
        assertTrue(waiting.isDone(), "its own timer finds the free lock");
    }

    @Test
    void retriesHaveJitteredDelays() {
        world(3);
        VirtualWorld.Client client = client(context().wakeUpKeysMax(0));
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        Set<Long> gaps = new HashSet<>();
        long[] lastNs = {world.nowNs()};
        node(0).redis().listener((who, command, reply) -> {
            if (command.startsWith("acquire")) {
                gaps.add((world.nowNs() - lastNs[0]) / 1000);
                lastNs[0] = world.nowNs();
            }
        });
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofSeconds(2)));
        assertTrue(outcome.attemptCount() < 2_000 / 5, outcome::toString);
        assertTrue(gaps.size() > 10, "delays differ: " + gaps.size());
    }

    @Test
    void handoffStartsEvenIfTheReleasedLeaseIsReused() {
        VirtualWorld.Client client = world(3);
        Lease reused = client.redlock().newLease();
        AcquireOptions shortOnes = AcquireOptions.ofTtl(Duration.ofSeconds(2))
                .tryOnce()
                .listener((lost, state) -> client
                        .redlock()
                        .acquire(client.redlock().key("other"), options(), lost, outcome -> {
                        }));
        client.redlock().acquire(client.redlock().key("orders"), shortOnes, reused, outcome -> {
        });
        world.runMs(1);
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 4_000_000_000L));
        world.runMs(1_990);
        assertEquals("other", reused.resource(), "the listener has reused the lease");
        assertTrue(waiting.isDone(), "the waiter for the first resource got the handoff");
    }

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

    /** The wait budget ends while an attempt waits for silent nodes: that attempt is the last. */
    @Test
    void aWaitBudgetThatEndsDuringAnAttemptTimesOut() {
        VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(20)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason(), outcome::toString);
        assertEquals(1, outcome.attemptCount(), outcome::toString);
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "within one node timeout");
    }

    @Test
    void aWaitBudgetThatEndsBetweenAttemptsKeepsTheReasonOfTheLastOne() {
        VirtualWorld.Client client = world(3);
        eachNode(FakeNode::pause);
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(NODE_TIMEOUT_MS + 20))
                .retryPolicy((attempts, reason, ttl, random) -> Long.MAX_VALUE));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason(), outcome::toString);
    }

    /** The budget ends during the attempt, or just with it. */
    @ParameterizedTest
    @ValueSource(longs = {20, NODE_TIMEOUT_MS})
    void aRetryPolicyIsNotCalledAfterTheWaitBudget(long budgetMs) {
        VirtualWorld.Client client = world(3);
        eachNode(FakeNode::pause);
        List<Integer> called = new ArrayList<>();
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofMillis(budgetMs))
                .retryPolicy((attempts, reason, ttl, random) -> {
                    called.add(attempts);
                    return 0;
                }));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, outcome.kind(), outcome::toString);
        assertEquals(List.of(), called);
    }

    /** The attempt was in flight when this process released the lock, so its refusal is outdated. */
    @Test
    void aHandoffDuringAnAttemptStartsTheNextAttemptImmediately() {
        VirtualWorld.Client client = world(3);
        Lease holder = lease(client);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> waiting = acquireAsync(client, options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 4_000_000_000L));
        world.runMs(1);
        holder.releaseAsync();
        world.runMs(29);
        assertEquals(2, acquired(waiting.getNow(null)).isHeld() ? waiting.join().attemptCount() : 0,
                "refused, then an immediate attempt at one node and the others: three round trips of 10 ms");
    }

    /** The previous head was about to wait four seconds; the next one does not inherit this delay. */
    @Test
    void aWaiterPromotedAfterATimeoutStartsItsAttemptImmediately() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        AcquireOptions slowly = options().waitUpTo(WAIT)
                .retryPolicy((attempts, reason, ttl, random) -> 4_000_000_000L);
        CompletableFuture<AcquireOutcome> first = acquireAsync(client, slowly);
        CompletableFuture<AcquireOutcome> second = acquireAsync(client, slowly);
        world.runMs(100);
        eachNode(node -> node.redis().delete("orders"));
        first.cancel(true);
        world.runMs(2);
        acquired(second.getNow(null));
    }

    /** A request on the event loop is sent immediately, before the tasks that are queued already. */
    @Test
    void callsOnTheEventLoopRunImmediately() {
        VirtualWorld.Client client = world(3);
        java.util.List<Integer> underWay = new java.util.ArrayList<>();
        client.engine().execute(() -> {
            client.redlock().acquireAsync("stage", options());
            underWay.add(client.engine().claimsOut());
            client.redlock()
                    .acquire(client.redlock().key("callback"), options(), client.redlock().newLease(),
                            outcome -> {
                                // The outcome does not matter here.
                            });
            underWay.add(client.engine().claimsOut());
        });
        world.runMs(5);
        assertEquals(java.util.List.of(1, 2), underWay, "attempts in flight inside the call");
    }

    @Test
    void callbacksNeverRunInsideTheirCall() {
        VirtualWorld.Client client = world(1);
        node(0).crash();
        world.runMs(1);
        List<String> order = new ArrayList<>();
        client.redlock()
                .acquire(client.redlock().key("orders"), options(), client.redlock().newLease(),
                        outcome -> order.add("callback"));
        order.add("returned");
        world.settle();
        assertNotEquals(0, order.size(), "callbacks ran");
        assertEquals(List.of("returned", "callback"), order, "order");
    }
}
