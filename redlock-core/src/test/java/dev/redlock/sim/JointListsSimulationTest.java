package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.JointListsSimulation.Procedure;
import io.netty.util.ResourceLeakDetector;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random changes of the list of nodes, and proof that a skipped step gives two holders. */
@Tag("long")
class JointListsSimulationTest {

    private static final int SEEDS = Math.max(5, Integer.getInteger("sim.seeds", 60) / 10);
    /** It found the violation without the wait when it was chosen; without the other steps most seeds do. */
    private static final int FIRST_SEED_OF_THE_PROOF = 21;
    private static final int SEEDS_OF_THE_PROOF = 400;
    private static ResourceLeakDetector.Level level;

    @BeforeAll
    static void quietLeakDetector() {
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }

    @AfterAll
    static void restoreLeakDetector() {
        ResourceLeakDetector.setLevel(level);
    }

    @Test
    void noTwoClientsHoldALockWhileTheListChanges() {
        List<String> failures = new ArrayList<>();
        Map<String, Integer> counts = new TreeMap<>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            JointListsSimulation run = new JointListsSimulation(seed, Procedure.THREE_STEPS).run();
            run.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            if (!run.violations().isEmpty()) {
                failures.add("seed " + seed + ": " + run.violations().get(0) + " of " + run.violations().size() + "; "
                        + run);
            }
        }
        System.out.println("joint lists simulation: " + counts);
        assertEquals(List.of(), failures);
        for (String event : List.of("CUT_OFF", "ACQUIRED", "EXTEND_EXTENDED", "RELEASE_RELEASED")) {
            assertTrue(counts.getOrDefault(event, 0) > SEEDS, () -> event + " is rare: " + counts);
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "THREE_STEPS")
    void aSkippedStepGivesTwoHolders(Procedure procedure) {
        for (int seed = FIRST_SEED_OF_THE_PROOF; seed < FIRST_SEED_OF_THE_PROOF + SEEDS_OF_THE_PROOF; seed++) {
            if (!new JointListsSimulation(seed, procedure).run().violations().isEmpty()) {
                System.out.println(procedure + ": two holders with seed " + seed);
                return;
            }
        }
        throw new AssertionError("no violation without a step");
    }
}
