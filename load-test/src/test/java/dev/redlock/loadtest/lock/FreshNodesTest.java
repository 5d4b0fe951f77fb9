package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients with the default restart guard on servers that have just been started. */
@Timeout(60)
class FreshNodesTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final String MARK = "node:redlock:fence:run_id";

    /** The first lock of the README: nothing but addresses. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void theFirstLockIsAcquiredAtOnce(Source source) throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(source, 3);
                Redlock redlock = Redlock.connect(nodes.addresses());
                Lease lease = redlock.acquire("orders/42", TTL).lease()) {
            assertTrue(lease.isHeld());
            assertTrue(lease.remainingValidity().compareTo(Duration.ofSeconds(20)) > 0, lease::toString);
            for (RedisNode node : nodes.nodes()) {
                String mark = field(node, "server", "run_id") + ":" + field(node, "replication", "master_replid");
                Await.until("marked", () -> mark.equals(node.call("GET", MARK)));
            }
        }
    }

    private static String field(RedisNode node, String section, String name) {
        String info = node.call("INFO", section).toString();
        return info.lines()
                .filter(line -> line.startsWith(name + ":"))
                .findFirst()
                .orElseThrow()
                .substring(name.length() + 1);
    }

    @Test
    void twoClientsThatStartTogetherAcquireAtOnce() throws Exception {
        for (int round = 0; round < 5; round++) {
            try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
                CompletableFuture<Redlock> one = CompletableFuture.supplyAsync(() -> connect(nodes, 1));
                CompletableFuture<Redlock> other = CompletableFuture.supplyAsync(() -> connect(nodes, 2));
                try (Redlock first = one.get(); Redlock second = other.get()) {
                    assertTrue(first.acquire("first", TTL).isAcquired(), () -> first.nodes().toString());
                    assertTrue(second.acquire("second", TTL).isAcquired(), () -> second.nodes().toString());
                    Await.until("all nodes vote", () -> isEachReady(first) && isEachReady(second));
                    assertFalse(second.tryAcquire("first", TTL).isAcquired());
                }
            }
        }
    }

    private static Redlock connect(RedisNodes nodes, int eventLoops) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .eventLoops(eventLoops)
                .nodeTimeout(Duration.ofSeconds(1)));
    }

    private static boolean isEachReady(Redlock redlock) {
        return redlock.nodes().stream().allMatch(node -> node.state() == NodeState.READY);
    }

    @Test
    void aClientThatComesLaterReadsTheMarks() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3); Redlock first = connect(nodes, 1)) {
            Lease held = first.acquire("orders/42", TTL).lease();
            try (Redlock later = connect(nodes, 1)) {
                assertTrue(isEachReady(later), () -> later.nodes().toString());
                assertFalse(later.tryAcquire("orders/42", TTL).isAcquired());
                held.release();
                assertTrue(later.tryAcquire("orders/42", TTL).isAcquired());
            }
        }
    }

    /** The lock was acquired on nodes 0 and 1, and node 1 has lost it: node 2 and the new node 1 must not be enough. */
    @Test
    void aNodeThatRestartedEmptyDoesNotVoteForANewClient() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3); Redlock holder = connect(nodes, 1)) {
            Lease held = holder.acquire("orders/42", TTL).lease();
            nodes.node(2).call("DEL", "orders/42");
            nodes.node(1).restart(Data.LOST);
            try (Redlock rival = connect(nodes, 1)) {
                assertEquals(List.of(NodeState.READY, NodeState.QUARANTINED, NodeState.READY),
                        rival.nodes().stream().map(NodeStatus::state).toList());
                AcquireOutcome outcome = rival.tryAcquire("orders/42", TTL);
                assertFalse(outcome.isAcquired(), outcome::toString);
                assertTrue(held.isHeld());
                assertTrue(rival.tryAcquire("other", TTL).isAcquired(), "two of three nodes vote");
            }
        }
    }

    @Test
    void nodesWithKeysAreInQuarantineAndTheOutcomeSaysSo() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            nodes.node(2).call("SET", "something", "else");
            try (Redlock redlock = connect(nodes, 1)) {
                long startNs = System.nanoTime();
                AcquireOutcome outcome = redlock.tryAcquire("orders/42", TTL);
                assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
                assertTrue(System.nanoTime() - startNs < Duration.ofSeconds(10).toNanos(), "it does not wait");
                assertTrue(outcome.advice()
                        .matches("too few nodes vote: 3 of 3 were in quarantine, and a quorum may"
                                + " vote in [0-9]{5} ms: .*RedlockContext.restartGuard"),
                        outcome.advice());
            }
        }
    }

    @Test
    void keysInAnyDatabaseKeepNodesInQuarantine() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            nodes.node(0).call("EVAL", "redis.call('SELECT', 3) return redis.call('SET', 'a', 'b')", "0");
            try (Redlock redlock = connect(nodes, 1)) {
                assertTrue(redlock.nodes().stream().allMatch(node -> node.state() == NodeState.QUARANTINED),
                        () -> redlock.nodes().toString());
            }
        }
    }

    /** A short {@code maxTtl} makes the quarantine a matter of seconds. */
    @Test
    void aWaitBudgetThatIsLongerThanTheQuarantineIsEnough() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            nodes.node(0).call("SET", "something", "else");
            try (Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                    .maxTtl(Duration.ofSeconds(5))
                    .nodeTimeout(Duration.ofSeconds(1)))) {
                AcquireOutcome outcome = redlock.tryAcquire("orders/42", Duration.ofSeconds(4), Duration.ofSeconds(20));
                assertTrue(outcome.isAcquired(), outcome::toString);
                assertTrue(outcome.attemptCount() < 30, outcome::toString);
            }
        }
    }
}
