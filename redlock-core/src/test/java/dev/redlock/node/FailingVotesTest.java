package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A connected node that returns only errors is reported as failing. */
@Tag("long")
class FailingVotesTest extends VirtualTest {

    private static final int ALWAYS = Integer.MAX_VALUE;
    /** Of the node, and not of the quorum, whose lines have the problems of nodes. */
    private static final String OWN_LINES = "node 0 (node-0:1): ";

    private void cycles(VirtualWorld.Client client, int count, int gapMs) {
        for (int i = 0; i < count; i++) {
            release(lease(client));
            world.runMs(gapMs);
        }
    }

    private static String problem(VirtualWorld.Client client) {
        return String.valueOf(status(client, 0).problem());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "OOM command not allowed when used memory > 'maxmemory'. | OOM",
        "MISCONF Redis is configured to save RDB snapshots | MISCONF",
        "NOAUTH Authentication required. | NOAUTH",
        "NOPERM this user has no permissions to run the 'set' command | NOPERM",
        "NOREPLICAS Not enough good replicas to write. | NOREPLICAS",
        "MOVED 3999 127.0.0.1:6381 | MOVED",
        "CLUSTERDOWN Hash slot not served | CLUSTERDOWN",
        "BUSY Redis is busy running a script. | BUSY",
        "QUOTA of the provider is used up | QUOTA",
        "ERR something else | ERR",
        "my secret is out | error reply"})
    void aNodeThatFailsEveryAcquireReportsTheErrorCode(String error, String code) {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            node(0).redis().failNext("SET", error, ALWAYS);
            cycles(client, 9, 0);
            assertNull(status(client, 0).problem(), "a few errors are not a problem");
            assertNull(status(client, 0).failingCode());
            cycles(client, 1, 0);
            assertEquals(NodeState.READY, status(client, 0).state(), "it is connected");
            assertTrue(problem(client).contains("acquires") && problem(client).contains(code), problem(client));
            assertEquals(code, status(client, 0).failingCode());
            world.runMs(5_000);
            assertEquals(5_000_000_000L, status(client, 0).failingNs());
            cycles(client, 1_000, 1);
            assertEquals(1, log.with(OWN_LINES).size(), () -> log.with(OWN_LINES).toString());
            assertTrue(log.with(OWN_LINES).get(0).contains(code), log.with(OWN_LINES).get(0));
            node(0).redis().clearErrors();
            cycles(client, 1, 1);
            assertNull(status(client, 0).problem(), "one grant ends it");
            assertNull(status(client, 0).failingCode());
            assertEquals(0, status(client, 0).failingNs());
            List<String> lines = log.with(OWN_LINES);
            assertEquals(2, lines.size(), lines::toString);
            assertTrue(lines.get(1).contains("again") && lines.get(1).contains(code), lines.get(1));
        }
    }

    @Test
    void aClientThatRarelyLocksDetectsFailingVotesToo() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("SET", "OOM x", ALWAYS);
        cycles(client, 1, 60_000);
        assertNull(status(client, 0).problem(), "one error is not a problem");
        cycles(client, 1, 60_000);
        assertTrue(problem(client).contains("OOM"), problem(client));
    }

    @Test
    void aGrantEndsTheProblem() {
        VirtualWorld.Client client = world(3);
        for (int i = 0; i < 100; i++) {
            node(0).redis().failNext("SET", "OOM x", 9);
            cycles(client, 10, 20);
            assertNull(status(client, 0).problem(), "round " + i);
        }
    }

    /** The acquire script refuses without a write, so a node that is out of memory still returns refusals. */
    @Test
    void aRefusalBetweenErrorsDoesNotEndTheProblem() {
        VirtualWorld.Client client = world(3);
        Lease held = acquired(get(client.redlock().acquireAsync("held", options()).toCompletableFuture()));
        try (LogLines log = new LogLines()) {
            node(0).redis().failNext("SET", "OOM x", ALWAYS);
            cycles(client, 20, 1);
            for (int i = 0; i < 50; i++) {
                AcquireOutcome refused = get(client.redlock()
                        .acquireAsync("held", options().waitUpTo(Duration.ofMillis(20)))
                        .toCompletableFuture());
                assertEquals(AcquireOutcome.Kind.TIMED_OUT, refused.kind());
                cycles(client, 1, 1);
            }
            assertTrue(problem(client).contains("OOM"), problem(client));
            assertEquals(1, log.with(OWN_LINES).size(), () -> log.with(OWN_LINES).toString());
        }
        release(held);
    }

    @Test
    void refusalsWithoutErrorsEndTheProblem() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("SET", "OOM x", ALWAYS);
        cycles(client, 20, 1);
        node(0).redis().clearErrors();
        eachNode(node -> node.redis().set("orders", "another client's", -1));
        world.runMs(1_000);
        acquire(client, options());
        assertNull(status(client, 0).problem(), "the last error is a second old");
    }

    @Test
    void failingExtensionsAreReportedWhileAcquiresSucceed() {
        VirtualWorld.Client client = scriptedWorld(3);
        Lease lease = lease(client);
        node(0).redis().failNext("extend", "NOPERM x", ALWAYS);
        for (int i = 0; i < 12; i++) {
            assertEquals(ExtendOutcome.EXTENDED, extend(lease, TTL));
            release(acquired(get(client.redlock().acquireAsync("other", options()).toCompletableFuture())));
        }
        world.runMs(10);
        assertTrue(problem(client).contains("extensions") && problem(client).contains("NOPERM"), problem(client));
        node(0).redis().clearErrors();
        extend(lease, TTL);
        world.runMs(10);
        assertNull(status(client, 0).problem());
        release(lease);
    }

    @Test
    void failingReleasesAreReported() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("release", "MISCONF x", ALWAYS);
        cycles(client, 12, 11_000);
        world.runMs(10);
        assertTrue(problem(client).contains("releases") && problem(client).contains("MISCONF"), problem(client));
        node(0).redis().clearErrors();
        cycles(client, 1, 1);
        assertNull(status(client, 0).problem());
    }

    @ParameterizedTest
    @CsvSource({"NOPERM x, NOPERM", "ERR unknown command, ERR"})
    void oneFailedReleaseIsReported(String error, String code) {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            node(0).redis().failNext("release", error, 1);
            cycles(client, 1, 10);
            String problem = "the node answers releases with errors: " + code + ": " + ErrorAdvice.of(code)
                    + "; locks that it does not release block others until their ttl ends";
            assertEquals(problem, problem(client));
            assertEquals(code, status(client, 0).failingCode());
            assertEquals(1, log.with(problem).size());
            assertTrue(client.redlock().isQuorumAvailable());
            world.runMs(59_000);
            assertEquals(problem, problem(client));
            world.runMs(1_500);
            assertNull(status(client, 0).problem(), "no error for a minute");
        }
    }

    /** A rollback finds no key of its own, so it deletes nothing and proves nothing. */
    @Test
    void aReleaseThatDeletesNothingDoesNotEndTheProblem() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("release", "NOPERM x", 1);
        cycles(client, 1, 10);
        eachNode(node -> node.redis().set("orders", "another client's", -1));
        for (int i = 0; i < 30; i++) {
            world.runMs(1_000);
            acquire(client, options());
        }
        assertTrue(problem(client).contains("releases") && problem(client).contains("NOPERM"), problem(client));
        eachNode(node -> node.redis().delete("orders"));
        cycles(client, 1, 10);
        assertNull(status(client, 0).problem());
    }

    /** One script fails and another works: the problem remains while there are errors. */
    @Test
    void aReleaseByAnotherScriptDoesNotEndTheProblem() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            node(0).redis().failNext("release_many", "NOPERM x", ALWAYS);
            for (int i = 0; i < 50; i++) {
                List<Lease> leases = List.of(locked(client, "a" + i), locked(client, "b" + i));
                leases.forEach(Lease::releaseAsync);
                world.runMs(10);
                cycles(client, 10, 10);
                assertTrue(problem(client).contains("releases"), "round " + i);
            }
            assertEquals(1, log.with(OWN_LINES).size(), log.with(OWN_LINES)::toString);
        }
    }

    @Test
    void noQuorumIsAvailableIfNoNodeReleases() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().failNext("release", "QUOTA x", ALWAYS));
        for (int i = 0; i < 10; i++) {
            release(locked(client, "a" + i));
        }
        assertFalse(client.redlock().isQuorumAvailable());
        eachNode(node -> node.redis().clearErrors());
        world.runMs(10_000);
        release(locked(client, "b"));
        assertTrue(client.redlock().isQuorumAvailable());
    }

    @Test
    void aRightThatIsLostLaterIsFoundAndTakesTheVote() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> {
            node.redis().failNext("release", "ERR The user executing the script can't run this command", ALWAYS);
            node.redis().denyInProbe("DEL", "ERR The user executing the script can't run this command");
        });
        release(lease(client));
        world.await("rejected", 3_000, () -> status(client, 0).state() == NodeState.WAITING);
        assertTrue(problem(client).startsWith("the user may not run DEL"), problem(client));
        assertFalse(client.redlock().isQuorumAvailable());
        eachNode(node -> {
            node.redis().clearErrors();
            node.redis().denyInProbe("DEL", null);
        });
        world.await("voting", 6_000, () -> client.redlock().isQuorumAvailable());
        world.await("lasting", 10_000, () -> status(client, 0).problem() == null);
    }

    @Test
    void failingReleaseBatchesAreReported() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("release_many", "NOREPLICAS x", ALWAYS);
        for (int i = 0; i < 12; i++) {
            List<Lease> leases = List.of(locked(client, "a" + i), locked(client, "b" + i));
            leases.forEach(Lease::releaseAsync);
            world.runMs(10);
        }
        assertTrue(problem(client).contains("releases") && problem(client).contains("NOREPLICAS"), problem(client));
    }

    private Lease locked(VirtualWorld.Client client, String resource) {
        return acquired(get(client.redlock().acquireAsync(resource, options()).toCompletableFuture()));
    }

    /** The node alternates between half a second of success and half a second of errors, for ten minutes. */
    @Test
    void intermittentFailuresAreLoggedAtALimitedRate() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            for (int i = 0; i < 600; i++) {
                node(0).redis().failNext("SET", "OOM x", ALWAYS);
                cycles(client, 20, 25);
                node(0).redis().clearErrors();
                cycles(client, 20, 25);
            }
            List<String> lines = log.with(OWN_LINES);
            assertTrue(lines.size() <= 2 * 10 + 2, () -> lines.size() + ": " + lines);
            assertEquals(0, lines.size() % 2, "each problem also ends");
        }
    }

    /** Its NOSCRIPT reply arrives after the decision, so the command is not sent again, but the script is. */
    @Test
    void aSlowNodeWhoseScriptsWereFlushedVotesAgain() {
        VirtualWorld.Client client = scriptedWorld(3);
        node(0).delay(() -> 2_000_000);
        node(0).redis().flushScripts();
        for (int i = 0; i < 5; i++) {
            release(acquired(acquire(client, options().fenced())));
            world.runMs(20);
        }
        assertEquals(0, keyCount());
        release(acquired(acquire(client, options().fenced())));
        assertTrue(status(client, 0).grantedCount() >= 4, "granted: " + status(client, 0).grantedCount());
        assertNull(status(client, 0).problem());
    }

    @Test
    void theProblemSurvivesAReconnect() {
        VirtualWorld.Client client = world(3);
        try (LogLines log = new LogLines()) {
            world.runMs(2_000);
            node(0).redis().failNext("SET", "OOM x", ALWAYS);
            cycles(client, 20, 1);
            node(0).breakConnections();
            world.runMs(100);
            cycles(client, 20, 1);
            assertEquals(1, log.with(OWN_LINES + "the node answers").size(), () -> log.with(OWN_LINES).toString());
            assertTrue(problem(client).contains("OOM"), problem(client));
        }
    }

    /** A program that is out of service for lack of a quorum gets no work, so it sends no acquire. */
    @ParameterizedTest
    @CsvSource({"OOM x, 2000", "MISCONF x, 2000", "NOPERM x, 61000", "ERR x, 61000"})
    void theProblemEndsWithoutAnotherAcquire(String error, int untilMs) {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().failNext("SET", error, ALWAYS));
        for (int i = 0; i < 20; i++) {
            acquire(client, options());
        }
        assertFalse(client.redlock().isQuorumAvailable());
        eachNode(node -> node.redis().clearErrors());
        world.runMs(untilMs);
        assertTrue(client.redlock().isQuorumAvailable(), () -> problem(client));
        assertNull(status(client, 0).problem());
    }

    @Test
    void theProblemLastsWithoutAnotherAcquireWhileTheNodeRefusesWrites() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().failNext("SET", "OOM x", ALWAYS));
        for (int i = 0; i < 20; i++) {
            acquire(client, options());
        }
        for (int i = 0; i < 120; i++) {
            world.runMs(1_000);
            assertFalse(client.redlock().isQuorumAvailable(), "after " + i + " s");
        }
    }

    /** A write that works proves nothing about a script that the server rejects. */
    @Test
    void aWriteDoesNotEndTheProblemOfAScript() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("acquire_fenced", "NOPERM x", ALWAYS);
        for (int i = 0; i < 20; i++) {
            release(acquired(acquire(client, options().fenced())));
        }
        world.runMs(50_000);
        assertTrue(problem(client).contains("NOPERM"), problem(client));
    }

    /** An error about the counter of one lock says nothing about other locks. */
    @ParameterizedTest
    @ValueSource(strings = {"-5", "abc"})
    void aBrokenCounterOfOneLockIsNoProblemOfTheNodes(String counter) {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().set("orders:redlock:fence:{orders}", counter, -1));
        try (LogLines log = new LogLines()) {
            AcquireOutcome outcome = acquire(client, options().fenced().waitUpTo(Duration.ofSeconds(3)));
            assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.lastReason());
            assertTrue(outcome.advice().contains("fencing counter"), outcome::advice);
            assertTrue(client.redlock().isQuorumAvailable(), () -> problem(client));
            assertEquals(List.of(), log.with("no quorum"));
        }
    }

    @Test
    void theProblemShowsTheLatestOfSeveralErrors() {
        VirtualWorld.Client client = world(3);
        node(0).redis().failNext("SET", "OOM x", 30);
        node(0).redis().failNext("SET", "MISCONF x", ALWAYS);
        cycles(client, 20, 1);
        assertEquals("OOM", status(client, 0).failingCode());
        cycles(client, 20, 1);
        assertEquals("MISCONF", status(client, 0).failingCode());
        assertTrue(problem(client).contains("MISCONF"), problem(client));
    }
}
