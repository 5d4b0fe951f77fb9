package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.NodeState;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.VirtualTest;
import java.util.List;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** An error that ends without a person is tried again, and no text tells a person to allow a command. */
class TemporaryErrorsTest extends VirtualTest {

    private static final int ALWAYS = Integer.MAX_VALUE;
    private static final long CONNECTED_MS = 1_100;
    private static final String BUSY = "BUSY Redis is busy running a script.";

    static Stream<Arguments> commandsAndErrors() {
        List<String> errors = List.of(BUSY + "| SCRIPT KILL", "LOADING x| loaded", "MASTERDOWN x| promote",
                "READONLY x| promote", "MISCONF x| its log", "OOM x| maxmemory", "NOREPLICAS x| min-replicas-to-write",
                "CLUSTERDOWN x| CLUSTER INFO", "TRYAGAIN x| wait");
        return Stream.of("HELLO", "INFO", "TIME", "SCRIPT")
                .flatMap(command -> errors.stream().map(error -> Arguments.of(command, error)));
    }

    @ParameterizedTest
    @MethodSource("commandsAndErrors")
    void theHandshakeIsTriedAgain(String command, String errorAndFix) {
        String error = errorAndFix.substring(0, errorAndFix.indexOf('|'));
        String fix = errorAndFix.substring(errorAndFix.indexOf('|') + 2);
        String code = error.substring(0, error.indexOf(' '));
        world = new VirtualWorld(3);
        node(0).redis().failNext(command, error, ALWAYS);
        try (LogLines log = new LogLines()) {
            VirtualWorld.Client client = client();
            world.runMs(20_000);
            String problem = String.valueOf(status(client, 0).problem());
            assertTrue(problem.contains(code) && problem.contains(fix), problem);
            assertFalse(problem.contains("allow the command"), problem);
            assertEquals(List.of(), log.with(Level.WARNING, "node 0 (node-0:1): "), "nobody has to act");
            node(0).redis().clearErrors();
            world.await("it votes", CONNECTED_MS, () -> status(client, 0).state() == NodeState.READY);
        }
    }

    /** The script blocks the clock sample too. */
    @Test
    void aBusyServerIsNotToldToAllowTime() {
        VirtualWorld.Client client = world(1);
        node(0).redis().failNext("TIME", BUSY, ALWAYS);
        node(0).redis().failNext("SET", BUSY, ALWAYS);
        world.runMs(3_000);
        String problem = String.valueOf(status(client, 0).problem());
        assertTrue(problem.contains("TIME failed: BUSY") && problem.contains("SCRIPT KILL"), problem);
        assertFalse(problem.contains("allow the command"), problem);
        node(0).redis().clearErrors();
        world.runMs(1_100);
        assertEquals(NodeState.READY, status(client, 0).state());
    }

    @Test
    void theProblemAndTheOutcomeHaveTheFix() {
        VirtualWorld.Client client = world(3);
        eachNode(node -> node.redis().failNext("SET", "OOM command not allowed", ALWAYS));
        AcquireOutcome outcome = acquire(client, options());
        for (int i = 0; i < 20; i++) {
            outcome = acquire(client, options());
        }
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertTrue(outcome.advice()
                .endsWith("; node 0 answered OOM: the server has reached maxmemory; raise it, or"
                        + " delete keys"),
                outcome.advice());
        String problem = String.valueOf(status(client, 0).problem());
        assertTrue(problem.contains("acquires with errors: OOM: the server has reached maxmemory"), problem);
    }
}
