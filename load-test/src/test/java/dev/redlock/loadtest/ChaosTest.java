package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.RequiredNodes;
import org.junit.jupiter.api.Test;

/** The chaos command as a user runs it: real nodes, worker processes, faults. */
class ChaosTest {

    @Test
    void locksHoldWhileAMinorityOfTheNodesIsHurt() throws Exception {
        String text = run("chaos", "--duration", "12s");
        assertTrue(text.contains("at most 2 of 5 nodes bad at once"), text);
        assertTrue(text.contains("locking as before"), text);
    }

    @Test
    void locksHoldWhileAMajorityIsWipedAndPaused() throws Exception {
        run("chaos", "--duration", "8s", "--majority-loss", "--faults", "wipe,pause,stall,worker_pause", "--workers",
                "2");
    }

    /** Every token is unique and greater than those of all earlier grants, nodes that crash and come back or not. */
    @Test
    void fencingTokensOfThreeTimesEightThreadsRiseWhileNodesAreKilledAndRestarted() throws Exception {
        String text = run("chaos", "--duration", "8s", "--faults", "kill", "--resources", "1", "--fenced", "all",
                "--workers", "3", "--threads", "8");
        assertTrue(text.contains("started again with its data"), text);
        assertTrue(text.contains("fencing tokens rise"), text);
    }

    private static String run(String... args) throws Exception {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
        try (ChildProgram program = ChildProgram.start(args)) {
            int exitCode = program.awaitExit();
            String text = program.out();
            assertEquals(0, exitCode, () -> text + program.err());
            assertTrue(text.contains("PASS: "), text);
            assertTrue(text.contains("node 4") && text.contains("0 lock keys left"), text);
            return text;
        }
    }
}
