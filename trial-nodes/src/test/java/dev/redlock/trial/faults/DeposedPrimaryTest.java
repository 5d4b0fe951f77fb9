package dev.redlock.trial.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long a real primary serves without its replicas: the figure behind the silence after a promotion. */
@Timeout(120)
class DeposedPrimaryTest {

    /** Once cut off alone, and once from one replica, for each setting. */
    @Test
    void aPrimaryWithoutItsReplicasStopsWithinTheBound() throws Exception {
        measure(2);
    }

    @Test
    @Tag("release")
    void aPrimaryWithoutItsReplicasStopsWithinTheBoundInMoreRounds() throws Exception {
        measure(8);
    }

    private static void measure(int rounds) throws Exception {
        RequiredNodes.start(Source.PATH, 1).close();
        Optional<String> refusal = NodeNetwork.refusal();
        Assumptions.assumeTrue(refusal.isEmpty(), () -> refusal.orElseThrow());
        String prefix = "rl" + ProcessHandle.current().pid() + "r";
        List<String> program = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                DeposedPrimaryProbe.class.getName(), prefix, Integer.toString(rounds));
        assertEquals(0, NetworkRun.run(prefix, DeposedPrimaryProbe.SERVERS, program));
    }
}
