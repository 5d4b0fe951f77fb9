package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.PromotionRuns;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The simulator finds two holders for each part of the rule about promoted servers that is left out. */
@Tag("long")
class PromotionFaultsTest {
    private static final int FAULT_SEEDS = 30;
    /** Names in {@code safety-mutants.txt}, and the seed to start with: it found the fault when it was chosen. */
    private static final Map<String, Long> FAULTS = Map.of(
            "promoted server votes at once", 2L,
            "mark written in the silence", 7L,
            "silence without the time that the predecessor serves", 2L,
            "mark of the process and not of its reign", 4L,
            "silent node takes any mark of its process for its own", 4L,
            "lease reclaimed while the former primary may serve", 2033L);

    @TempDir
    private Path folder;

    @Test
    void thereIsOneHolderWithoutAFault() {
        for (long seed : FAULTS.values()) {
            assertEquals(List.of(), PromotionRuns.overlaps(seed), "seed " + seed);
        }
    }

    @Test
    void leasesAreReclaimed() {
        assertTrue(LongStream.range(0, 5).mapToInt(PromotionRuns::reclaims).sum() > 0);
    }

    @TestFactory
    List<DynamicTest> everyFaultIsFound() throws Exception {
        List<Mutant> faults = Mutant.list("safety-mutants.txt")
                .stream()
                .filter(fault -> FAULTS.containsKey(fault.name()))
                .toList();
        assertEquals(FAULTS.size(), faults.size());
        return faults.stream()
                .map(fault -> DynamicTest.dynamicTest(fault.name(), () -> assertTrue(isFound(fault), fault.name())))
                .toList();
    }

    private boolean isFound(Mutant fault) throws Exception {
        Path own = Files.createTempDirectory(folder, "fault");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(fault, own));
        Method overlaps = loader.loadClass(PromotionRuns.class.getName()).getMethod("overlaps", long.class);
        long first = FAULTS.get(fault.name());
        for (long seed = first; seed < first + FAULT_SEEDS; seed++) {
            if (!((List<?>) overlaps.invoke(null, seed)).isEmpty()) {
                return true;
            }
        }
        return false;
    }
}
