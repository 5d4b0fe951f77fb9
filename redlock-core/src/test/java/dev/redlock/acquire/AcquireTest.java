package dev.redlock.acquire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
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
import org.junit.jupiter.params.provider.CsvSource;

/** Attempts: which nodes they ask, which replies decide, what validity is left, and what a retry repeats. */
class AcquireTest extends VirtualTest {

    @Test
    void commandsGoToAllNodesInParallel() {
        VirtualWorld.Client client = world(5);
        eachNode(node -> node.delay(() -> 10_000_000));
        long startNs = world.nowNs();
        lease(client);
        assertEquals(20_000_000, world.nowNs() - startNs, "one round trip, whatever the number of nodes");
    }

    @Test
    void aSilentNodeDoesNotDelayAnAcquire() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 1_000_000));
        node(0).pause();
        long startNs = world.nowNs();
        lease(client);
        assertEquals(2_000_000, world.nowNs() - startNs, "two replies decide without the silent node");
    }

    @Test
    void silentNodesFailTheAttemptAtTheNodeTimeout() {
        VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        long startMs = nowMs();
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertEquals(NODE_TIMEOUT_MS, nowMs() - startMs, "the node timeout of this ttl");
        assertEquals(2, outcome.unknownCount(), outcome::toString);
        assertTrue(outcome.voteText(0).contains("no answer"), outcome.voteText(0));
    }

    @Test
    void votesOfABrokenConnectionAreUnknownImmediately() {
        VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        long startMs = nowMs();
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.runMs(1);
        node(0).breakConnections();
        node(1).breakConnections();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, get(outcome).kind());
        assertTrue(nowMs() - startMs < NODE_TIMEOUT_MS / 2, "long before the node timeout");
        assertEquals(2, get(outcome).unknownCount(), () -> get(outcome).toString());
        assertTrue(get(outcome).voteText(1).contains("connection lost"), () -> get(outcome).toString());
    }

    @Test
    void validityIsCheckedAfterTheQuorum() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 20_000_000));
        Duration ttl = Duration.ofMillis(1_000);
        AcquireOutcome outcome = acquire(client,
                AcquireOptions.ofTtl(ttl).tryOnce().minValidity(Duration.ofMillis(950)));
        assertEquals(AcquireOutcome.Kind.TOO_SLOW, outcome.kind(), outcome::toString);
        world.runMs(50);
        assertEquals(0, keyCount(), "it was rolled back");
    }

    @Test
    void validityIsTheTtlMinusRoundTimeAndClockAllowance() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 5_000_000));
        Lease lease = lease(client);
        assertEquals((validityMs(10_000) - 10) * 1_000_000, lease.remainingValidityNs(),
                "ttl - 10 ms of the round - 1 % of the ttl and of the undetected clock steps - 2 ms");
    }

    /** 1000 ms - 10 ms of the round - 34 ms of clock allowance leave 956 ms, which is exactly enough. */
    @ParameterizedTest
    @CsvSource({"956000000, ACQUIRED", "956000001, TOO_SLOW"})
    void exactlyTheMinimumValidityIsEnough(long minValidityNs, AcquireOutcome.Kind kind) {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 5_000_000));
        AcquireOutcome outcome = acquire(client,
                AcquireOptions.ofTtl(Duration.ofSeconds(1)).tryOnce().minValidity(Duration.ofNanos(minValidityNs)));
        assertEquals(kind, outcome.kind(), outcome::toString);
    }

    /** In the last millisecond of a key, PTTL returns 0, which is still a refusal. */
    @Test
    void aKeyInItsLastMillisecondIsStillHeld() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", 7));
        world.runMs(7);
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        assertEquals(0, outcome.shortestRemainingTtlMs(), outcome::toString);
        assertEquals("foreign", key(0), "the key is unchanged");
    }

    /** A shorter delay finds no quorum; a longer one wastes time. */
    @ParameterizedTest
    @CsvSource({"900, 300, 600, 300", "300, 900, 600, 300", "600, 900, 300, 300", "0, 900, 300, 0", "300, 0, 900, 0",
        "-1, 900, 900, 900", "900, -1, -1, 900", "-1, -1, -1, 9223372036854775807"})
    void outcomeReportsTheShortestRemainingTtl(long first, long second, long third,
            long shortest) {
        VirtualWorld.Client client = scriptedWorld(5);
        long[] ttls = {first, second, third};
        for (int i = 0; i < ttls.length; i++) {
            long replyDelayNs = (i + 1) * 1_000_000;
            node(i).redis().set("orders", "foreign", ttls[i] < 0 ? -1 : ttls[i] + i + 1);
            node(i).delay(() -> replyDelayNs);
        }
        node(3).pause();
        node(4).pause();
        AcquireOutcome outcome = acquire(client, options());
        assertEquals(AcquireOutcome.Kind.CONTENDED, outcome.kind(), outcome::toString);
        assertEquals(shortest, outcome.shortestRemainingTtlMs(), outcome::toString);
    }

    @Test
    void aPauseOfTheClientReducesTheValidity() {
        VirtualWorld.Client client = world(3);
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client,
                AcquireOptions.ofTtl(Duration.ofMillis(900)).tryOnce());
        client.pause();
        world.runMs(880);
        client.resume();
        assertFalse(get(outcome).isAcquired(), "late replies are no success: " + outcome.join());
        world.runMs(5);
        assertEquals(0, keyCount(), "rolled back");
    }

    @Test
    void eachRetryHasItsOwnTokenAfterTheRollbackOfTheLast() {
        VirtualWorld.Client client = world(3);
        node(0).redis().set("orders", "foreign", 500);
        node(1).redis().set("orders", "foreign", 500);
        List<String> acquires = new ArrayList<>();
        Set<String> replies = new HashSet<>();
        node(2).redis().listener((who, command, reply) -> {
            if (command.startsWith("acquire")) {
                acquires.add(command);
                replies.add(reply);
            }
        });
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofSeconds(5)));
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(),
                "its own rollbacks do not block the client: " + outcome);
        assertTrue(outcome.attemptCount() >= 3, outcome::toString);
        assertEquals(outcome.attemptCount(), acquires.size(), "one acquire for each attempt");
        assertEquals(acquires.size(), Set.copyOf(acquires).size(), "each with its own token");
        assertEquals(Set.of("1"), replies, "the previous attempt has always been rolled back");
        assertEquals(acquires.size() - 1, client.redlock().counters().rolledBackCount(), "and counted");
    }

    /** One library multiplied the unit of the ttl again in each pass of its loop. */
    @Test
    void theTtlIsTheSameInEveryAttempt() {
        VirtualWorld.Client client = world(3);
        node(0).redis().set("orders", "foreign", 500);
        node(1).redis().set("orders", "foreign", 500);
        Set<Long> ttls = new HashSet<>();
        node(2).redis().listener((who, command, reply) -> {
            if (command.startsWith("acquire")) {
                ttls.add(node(2).redis().pttl("orders"));
            }
        });
        AcquireOutcome outcome = acquire(client, options().waitUpTo(Duration.ofSeconds(5)));
        assertTrue(outcome.isAcquired() && outcome.attemptCount() >= 3, outcome::toString);
        assertEquals(Set.of(10_000L), ttls, "milliseconds, in each attempt");
    }

    @Test
    void aReconnectReplaysNoCommands() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().startLog());
        eachNode(node -> node.delay(() -> 1_000_000));
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.settle();
        eachNode(node -> node.breakConnections());
        world.runMs(3_000);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.join().kind(), "all votes are unknown immediately");
        assertEquals(2, outcome.join().unknownCount(), "two of three decide: " + outcome.join());
        eachNode(node -> assertTrue(node.redis().log().stream().allMatch(line -> line.startsWith("release")),
                "only releases may follow: " + node.redis().log()));
    }

    @Test
    void oneAttemptDoesNotWait() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders", "foreign", -1));
        long startMs = nowMs();
        assertEquals(AcquireOutcome.Kind.CONTENDED, acquire(client, options()).kind(), "taken");
        assertEquals(startMs, nowMs(), "no time passed");
    }

    @Test
    void aNodeThatIsDownAtTheStartJoinsLater() {
        world = new VirtualWorld(3);
        node(0).crash();
        node(1).crash();
        VirtualWorld.Client client = client();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "one of three");
        node(0).start();
        world.await("joins", 2_000, () -> status(client, 0).state() == NodeState.READY);
        lease(client);
    }

    @Test
    void theRollbackIncludesNodesThatDidNotReply() {
        VirtualWorld.Client client = world(3);
        node(0).pause();
        node(1).pause();
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, acquire(client, options()).kind(), "two are silent");
        node(0).resume();
        node(1).resume();
        world.runMs(1);
        assertEquals(0, keyCount(), "the late acquires were undone by their releases");
    }

    @Test
    void cancelRollsBackTheAttempt() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.delay(() -> 5_000_000));
        CompletableFuture<AcquireOutcome> outcome = acquireAsync(client, options());
        world.runMs(7);
        assertEquals(3, keyCount(), "the nodes have granted, the replies are in flight");
        outcome.cancel(true);
        world.runMs(20);
        assertEquals(0, keyCount(), "rolled back although its caller has left");
    }

    /** A turn with two flushes: the sockets have not written the bytes of the first one before the second. */
    @Test
    void bytesThatASocketHasNotWrittenAreNotOverwritten() {
        VirtualWorld.Client client = world(3);
        List<CompletableFuture<AcquireOutcome>> outcomes = new ArrayList<>();
        TestClient conductor = client.engine();
        conductor.execute(() -> {
            outcomes.add(client.redlock().acquireAsync("first", options()).toCompletableFuture());
            // After the flush, in the same turn.
            conductor.execute(() -> outcomes
                    .add(client.redlock().acquireAsync("second", options()).toCompletableFuture()));
        });
        world.settle();
        for (CompletableFuture<AcquireOutcome> outcome : outcomes) {
            acquired(get(outcome));
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(2, node(i).redis().keys().size(), "keys on " + node(i));
        }
    }
}
