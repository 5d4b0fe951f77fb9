package dev.redlock.loadtest.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import picocli.CommandLine;

/**
 * Each scenario of docs/internals/is-it-safe.md on real nodes; the scenarios check their own events. Most of a scenario
 * is waiting, so they overlap.
 */
@Execution(ExecutionMode.CONCURRENT)
class ScenariosTest {
    private static final String CLOCK_LIBRARY = "trial.libfaketime";

    @BeforeAll
    static void requireServers() {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
    }

    @Test
    void replicaFailoverGivesOneLockToTwoAndAMajorityDoesNot() throws Exception {
        assertPlays("replica-failover", "TWO HOLDERS", "two masters still have it");
    }

    @Test
    void aPromotedReplicaGivesNoHeldLockToAClientThatStartsLater() throws Exception {
        assertPlays("promoted-replica-single", "started now, does not acquire", "when the first lease has ended",
                "finds the mark and acquires at once");
    }

    @Test
    void aClientFollowsAnEndpointThatMovesWhileItsConnectionLives() throws Exception {
        assertPlays("demoted-endpoint", "the client has left the replica", "does not vote yet",
                "the new primary has the lock");
    }

    @Test
    void aClientFollowsSentinelsToThePromotedServer() throws Exception {
        assertPlays("sentinel-failover", "the Sentinels have promoted another server", "ms after the kill");
    }

    @Test
    void crashBetweenSetnxAndExpireLocksForEver() throws Exception {
        assertPlays("setnx-then-expire", "the key has no expiry", "gets the lock when the ttl has passed");
    }

    @Test
    void plainDeleteFreesAnothersLock() throws Exception {
        assertPlays("plain-delete", "TWO HOLDERS", "the second client still holds the lock");
    }

    @Test
    void emptyRestartBreaksTheLockWithoutTheGuardOnly() throws Exception {
        assertPlays("empty-restart", "TWO HOLDERS", "keeps it in quarantine", "when the first lease has ended");
    }

    @Test
    void pausedHoldersLateWriteIsRefusedByTheFencedResource() throws Exception {
        assertPlays("paused-holder", "REJECTS its late write");
    }

    @Test
    void lostReplyLeavesAKeyThatTheReleaseDebtRemoves() throws Exception {
        assertPlays("lost-reply", "unknown votes: 2", "long before its ttl");
    }

    @Test
    void splitVoteEndsWithNobodyAndAllWinInTurnAfterwards() throws Exception {
        assertPlays("split-vote", "CONTENDED, granted 1, refused 2", "acquired and released");
    }

    @Test
    void permanentPartitionCostsTheTtlEachTime() throws Exception {
        assertPlays("permanent-partition", "round 2", "the ttl penalty");
    }

    @Test
    @ResourceLock(CLOCK_LIBRARY)
    void clockJumpLosesTheLeaseInTime() throws Exception {
        Optional<String> missing = named("clock-jump").missing();
        Assumptions.assumeTrue(missing.isEmpty(), missing::toString);
        assertPlays("clock-jump", "its lease is LOST");
    }

    @Test
    @ResourceLock(CLOCK_LIBRARY)
    void unplayableScenarioIsReportedAsNotPlayed(@TempDir Path folder) {
        String library = System.getProperty(CLOCK_LIBRARY);
        System.setProperty(CLOCK_LIBRARY, folder.resolve("none").toString());
        try {
            StringWriter out = new StringWriter();
            assertEquals(4, commandLine(out).execute("clock-jump"), out::toString);
            assertTrue(out.toString().contains("NOT PLAYED: libfaketime is missing"), out::toString);
            assertFalse(out.toString().contains("as expected"), out::toString);
            StringWriter two = new StringWriter();
            assertEquals(4, commandLine(two).execute("plain-delete", "clock-jump"), two::toString);
            assertTrue(two.toString().contains("as expected: plain-delete") && two.toString()
                    .contains("NOT PLAYED: clock-jump"), two::toString);
            assertThrows(IllegalStateException.class, () -> assertPlays("clock-jump"));
        } finally {
            if (library == null) {
                System.clearProperty(CLOCK_LIBRARY);
            } else {
                System.setProperty(CLOCK_LIBRARY, library);
            }
        }
    }

    private static CommandLine commandLine(StringWriter out) {
        return new CommandLine(new ScenariosCommand()).setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
    }

    @Test
    void commandPlaysNamedScenariosAndRejectsUnknownOnes() {
        StringWriter out = new StringWriter();
        CommandLine line = commandLine(out);
        assertEquals(0, line.execute("paused-holder"), out::toString);
        assertTrue(out.toString().contains("paused-holder: ") && out.toString().contains("as expected: paused-holder"),
                out::toString);
        assertEquals(2, line.execute("no-such-thing"), out::toString);
    }

    private static Scenario named(String name) {
        return Scenarios.ALL.stream().filter(one -> one.name().equals(name)).findFirst().orElseThrow();
    }

    private static void assertPlays(String scenario, String... parts) throws Exception {
        StringWriter out = new StringWriter();
        named(scenario).play().on(new Timeline(new PrintWriter(out)));
        for (String part : parts) {
            assertTrue(out.toString().contains(part), out::toString);
        }
    }
}
