package dev.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiters of one client: their queue, handoffs between them, retries, and the end of their wait budgets. */
class WaitingTest extends VirtualTest {

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

    @Test
    void aWaitBudgetEndsWithinOneNodeTimeout() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        long startMs = nowMs();
        assertEquals(AcquireOutcome.Kind.TIMED_OUT,
                acquire(client, options().waitUpTo(Duration.ofMillis(700))).kind(), "the lock is never free");
        assertTrue(nowMs() - startMs >= 700 && nowMs() - startMs <= 700 + NODE_TIMEOUT_MS,
                "it took " + (nowMs() - startMs) + " ms");
    }

    @Test
    void aKeyThatExpiredOnTheNodesIsFree() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 300));
        long startMs = nowMs();
        acquired(acquire(client, options().waitUpTo(Duration.ofSeconds(5))));
        assertTrue(nowMs() - startMs <= 360, "acquired soon after the expiry: " + (nowMs() - startMs) + " ms");
    }

    @Test
    void aRetryPolicyThatThrowsDoesNotEndTheAcquisition() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 200));
        quietly(() -> acquired(acquire(client, options().waitUpTo(Duration.ofSeconds(5))
                .retryPolicy((attempts, reason, ttl, random) -> {
                    throw new IllegalStateException("a bug in the policy");
                }))));
    }
}
