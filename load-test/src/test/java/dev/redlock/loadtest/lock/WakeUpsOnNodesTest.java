package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Real servers wake waiters and watched leases. */
@Timeout(120)
class WakeUpsOnNodesTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final AcquireOptions WAITING = OPTIONS.waitUpTo(Duration.ofSeconds(60));
    private static final int HANDOFFS = 50;
    private static final int GIVEN_UP = 20;

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void releasesWakeTheWaiterOfAnotherClient(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock one = connect(nodes); Redlock other = connect(nodes)) {
            one.nodes().forEach(node -> assertNull(node.wakeUpProblem(), node::toString));
            handoff(one, other);
            long woken = one.counters().wokenCount() + other.counters().wokenCount();
            long backstops = one.counters().backstopCount() + other.counters().backstopCount();
            assertTrue(woken >= HANDOFFS / 2, () -> "woken " + woken + " of " + HANDOFFS);
            assertTrue(backstops <= HANDOFFS / 4, () -> "backstops " + backstops + " of " + HANDOFFS);
        }
    }

    /** Each lease is released while the other client waits, so each acquire but the first is a handoff. */
    private static void handoff(Redlock one, Redlock other) throws Exception {
        Lease held = one.acquire("orders", OPTIONS).lease();
        for (int i = 0; i < HANDOFFS; i++) {
            Redlock waiter = i % 2 == 0 ? other : one;
            long refused = refusedCount(waiter);
            CompletableFuture<AcquireOutcome> waiting = waiter.acquireAsync("orders", WAITING).toCompletableFuture();
            Await.until("refused", () -> refusedCount(waiter) > refused);
            assertEquals(ReleaseOutcome.RELEASED, held.release());
            held = waiting.get().lease();
        }
        held.release();
    }

    private static long refusedCount(Redlock redlock) {
        return redlock.nodes().stream().mapToLong(NodeStatus::refusedCount).sum();
    }

    /** The connection that removes the reservation gets no push. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void aWriterThatGivesUpWakesTheReaderOfItsClient(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock one = connect(nodes); Redlock other = connect(nodes)) {
            other.acquire("orders", OPTIONS.forReading());
            for (int i = 0; i < GIVEN_UP; i++) {
                CompletableFuture<AcquireOutcome> writing = waitRefused(one, WAITING.forWriting());
                CompletableFuture<AcquireOutcome> reading = waitRefused(one, WAITING.forReading());
                writing.cancel(false);
                reading.get().lease().release();
            }
            long backstops = one.counters().backstopCount();
            assertTrue(backstops <= GIVEN_UP / 4, () -> "backstops " + backstops + " of " + GIVEN_UP);
        }
    }

    private static CompletableFuture<AcquireOutcome> waitRefused(Redlock redlock, AcquireOptions options)
            throws Exception {
        long refused = refusedCount(redlock);
        CompletableFuture<AcquireOutcome> waiting = redlock.acquireAsync("orders", options).toCompletableFuture();
        Await.until("refused by a quorum and by the coordinator", () -> refusedCount(redlock) >= refused + 3);
        return waiting;
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void waitersOfServersWithoutResp3Poll(Source source) throws Exception {
        RedisNodesContext withoutHello = new RedisNodesContext().source(source)
                .count(3)
                .config("rename-command HELLO \"\"");
        try (RedisNodes nodes = RequiredNodes.start(withoutHello);
                Redlock one = connect(nodes);
                Redlock other = connect(nodes)) {
            one.nodes().forEach(node -> assertEquals("the server has no RESP3", node.wakeUpProblem()));
            handoff(one, other);
            assertEquals(0, one.counters().wokenCount() + other.counters().wokenCount());
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void aFlushWakesWaiters(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock one = connect(nodes); Redlock other = connect(nodes)) {
            one.acquire("orders", OPTIONS);
            CompletableFuture<AcquireOutcome> waiting = other.acquireAsync("orders", WAITING).toCompletableFuture();
            Await.until("refused", () -> refusedCount(other) > 0);
            for (RedisNode node : nodes.nodes()) {
                node.call("FLUSHALL");
            }
            assertTrue(waiting.get().isAcquired());
        }
    }

    /** Two of three servers hold the lease, and nothing is registered there. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void aFlushOfOneOfTwoHoldersLosesTheLease(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock redlock = connect(nodes)) {
            CompletableFuture<LeaseState> lost = new CompletableFuture<>();
            nodes.node(2).pause();
            redlock.acquire("orders", OPTIONS.listener((ended, state) -> lost.complete(state)));
            nodes.node(1).call("FLUSHALL");
            assertEquals(LeaseState.LOST, lost.get());
            nodes.node(2).resume();
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void aWatchedLeaseIsLostWhenAMajorityOfItsKeysIsDeleted(Source source) throws Exception {
        try (RedisNodes nodes = start(source); Redlock redlock = connect(nodes)) {
            CompletableFuture<LeaseState> lost = new CompletableFuture<>();
            Lease lease = redlock
                    .acquire("orders", OPTIONS.watchLoss().listener((ended, state) -> lost.complete(state)))
                    .lease();
            lease.extend(Duration.ofSeconds(30));
            nodes.node(0).call("DEL", "orders");
            nodes.node(1).call("DEL", "orders");
            assertEquals(LeaseState.LOST, lost.get());
            assertEquals(LeaseState.LOST, lease.state());
        }
    }

    private static RedisNodes start(Source source) {
        return RequiredNodes.start(new RedisNodesContext().source(source).count(3));
    }

    private static Redlock connect(RedisNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(2)));
    }
}
