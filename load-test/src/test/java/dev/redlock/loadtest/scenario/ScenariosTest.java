package dev.redlock.loadtest.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Each scenario of docs/guides/failure-scenarios.md on real nodes; the scenarios themselves check what they tell. */
class ScenariosTest {
    private static final String CLOCK_LIBRARY = "redlock.libfaketime";

    @BeforeAll
    static void requireServers() {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
    }

    @Test
    void replicaFailoverGivesOneLockToTwoAndAMajorityDoesNot() throws Exception {
        assertTold(new ReplicaFailover(), "TWO HOLDERS", "two masters still know of it");
    }

    @Test
    void crashBetweenSetnxAndExpireLocksForEver() throws Exception {
        assertTold(new ExpireNeverSent(), "the key has no expiry", "gets the lock when the ttl has passed");
    }

    @Test
    void plainDeleteFreesAnothersLock() throws Exception {
        assertTold(new PlainDelete(), "TWO HOLDERS", "the second client still holds the lock");
    }

    @Test
    void emptyRestartBreaksTheLockWithoutTheGuardOnly() throws Exception {
        assertTold(new EmptyRestart(), "TWO HOLDERS", "keeps it in quarantine", "when the first lease has ended");
    }

    @Test
    void pausedHoldersLateWriteIsRefusedByTheFencedResource() throws Exception {
        assertTold(new PausedHolder(), "REFUSED by the resource");
    }

    @Test
    void lostReplyLeavesAKeyThatTheReleaseDebtRemoves() throws Exception {
        assertTold(new LostReply(), "unknown votes: 2", "long before its ttl");
    }

    @Test
    void splitVoteEndsWithNobodyAndAllWinInTurnAfterwards() throws Exception {
        assertTold(new SplitVote(), "CONTENDED, granted 1, refused 2", "acquired and released");
    }

    @Test
    void permanentPartitionCostsTheTtlEachTime() throws Exception {
        assertTold(new PermanentPartition(), "round 2", "the ttl penalty");
    }

    @Test
    void clockJumpTakesTheLeaseAwayInTime() throws Exception {
        Optional<String> missing = new ClockJump().missing();
        Assumptions.assumeTrue(missing.isEmpty(), missing::toString);
        assertTold(new ClockJump(), "its lease is LOST");
    }

    @Test
    void whatCannotBePlayedHereIsNotReportedAsPlayed(@TempDir Path folder) {
        String library = System.getProperty(CLOCK_LIBRARY);
        System.setProperty(CLOCK_LIBRARY, folder.resolve("none").toString());
        try {
            StringWriter out = new StringWriter();
            assertEquals(4, commandLine(out).execute("clock-jump"), out::toString);
            assertTrue(out.toString().contains("NOT PLAYED: libfaketime is missing"), out::toString);
            assertFalse(out.toString().contains("as told"), out::toString);
            StringWriter two = new StringWriter();
            assertEquals(4, commandLine(two).execute("plain-delete", "clock-jump"), two::toString);
            assertTrue(two.toString().contains("as told: plain-delete") && two.toString()
                    .contains("NOT PLAYED: clock-jump"), two::toString);
            assertThrows(IllegalStateException.class, () -> assertTold(new ClockJump()));
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
    void commandPlaysTheOneThatIsNamedAndRefusesUnknownNames() {
        StringWriter out = new StringWriter();
        CommandLine line = commandLine(out);
        assertEquals(0, line.execute("paused-holder"), out::toString);
        assertTrue(out.toString().contains("paused-holder: ") && out.toString().contains("as told: paused-holder"),
                out::toString);
        assertEquals(2, line.execute("no-such-thing"), out::toString);
    }

    private static void assertTold(Scenario scenario, String... parts) throws Exception {
        StringWriter out = new StringWriter();
        scenario.play(new Timeline(new PrintWriter(out)));
        for (String part : parts) {
            assertTrue(out.toString().contains(part), out::toString);
        }
    }
}
