package dev.redlock.loadtest.election;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The command on real servers, in a short form. */
class ElectionCommandTest {
    @BeforeAll
    static void requireNodes() {
        RequiredNodes.start(new RedisNodesContext().count(1)).close();
    }

    @Test
    void eachCaseHasItsTimeAndItsWork() {
        StringWriter out = new StringWriter();
        int code = new CommandLine(new ElectionCommand()).setOut(new PrintWriter(out, true))
                .execute("--candidates", "4", "--nodes", "3", "--ttl", "1s", "--idle", "500ms", "--rounds", "1");
        assertEquals(0, code, out::toString);
        String text = out.toString();
        assertTrue(text.matches("(?s).*the leader stays, each second +- +[1-9]\\d* +\\d+.*"), text);
        for (String which : new String[]{"the leader resigns", "the leader dies", "all try to run a task"}) {
            assertTrue(text.matches("(?s).*" + which
                    + " +-?\\d+\\.\\d \\(-?\\d+\\.\\d - -?\\d+\\.\\d\\) +[1-9]\\d* +\\d+.*"), text);
        }
    }
}
