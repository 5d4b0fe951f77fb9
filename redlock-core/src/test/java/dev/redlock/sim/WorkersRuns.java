package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongFunction;

/** Random runs of a simulation with workers. */
final class WorkersRuns {

    private static final int SEEDS = Math.max(5, Integer.getInteger("sim.seeds", 60) / 10);

    private WorkersRuns() {
    }

    /** Asserts that no run has two holders of a lock, and that some events are not rare. */
    static void assertClean(String name, LongFunction<? extends WorkersSimulation> runOf, List<String> events) {
        List<String> failures = new ArrayList<>();
        Map<String, Integer> counts = new TreeMap<>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            WorkersSimulation run = runOf.apply(seed);
            run.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
            if (!run.violations().isEmpty()) {
                failures.add("seed " + seed + ": " + run.violations().get(0) + " of " + run.violations().size() + "; "
                        + run);
            }
        }
        System.out.println(name + ": " + counts);
        assertEquals(List.of(), failures);
        for (String event : events) {
            assertTrue(counts.getOrDefault(event, 0) > SEEDS, () -> event + " is rare: " + counts);
        }
    }

    /** Asserts that one of some runs has two holders of a lock. */
    static void assertTwoHolders(String name, int firstSeed, int seedCount,
            LongFunction<? extends WorkersSimulation> runOf) {
        for (int seed = firstSeed; seed < firstSeed + seedCount; seed++) {
            if (!runOf.apply(seed).violations().isEmpty()) {
                System.out.println(name + ": two holders with seed " + seed);
                return;
            }
        }
        throw new AssertionError(name + ": no violation");
    }
}
