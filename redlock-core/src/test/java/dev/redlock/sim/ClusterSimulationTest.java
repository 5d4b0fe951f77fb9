package dev.redlock.sim;

import dev.redlock.sim.ClusterSimulation.Silence;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Random runs with clusters among the voters, and proof that the check can fail. */
@Tag("long")
@ExtendWith(QuietLeakDetector.class)
class ClusterSimulationTest {

    /** One seed in forty finds the violation; this one did when it was chosen, so it usually ends at once. */
    private static final int FIRST_SEED_OF_THE_PROOF = 85;
    private static final int SEEDS_OF_THE_PROOF = 90;

    @Test
    void noTwoClientsHoldALock() {
        WorkersRuns.assertClean("cluster simulation", seed -> new ClusterSimulation(seed, Silence.ALL_OBEY).run(30_000),
                List.of("MOVE", "FAILOVER", "WRONG_MAP", "DOWN", "ACQUIRED", "EXTEND_EXTENDED", "RELEASE_RELEASED"));
    }

    /** A client whose silence is shorter than the locks of the others breaks the rule. */
    @Test
    void withoutTheSilenceTwoClientsHoldALock() {
        WorkersRuns.assertTwoHolders("without the silence", FIRST_SEED_OF_THE_PROOF, SEEDS_OF_THE_PROOF,
                seed -> new ClusterSimulation(seed, Silence.ONE_IGNORES).run(60_000));
    }
}
