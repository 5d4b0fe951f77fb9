package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.BoundRuns;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The simulator finds each fault of {@code bound-faults.txt}, which costs no safety. */
@Tag("long")
class BoundFaultsTest {
    private static final int FAULT_SEEDS = 20;

    @TempDir
    private Path folder;

    @Test
    void noBoundIsBrokenWithoutAFault() throws IOException {
        for (Mutant fault : Mutant.list("bound-faults.txt")) {
            assertEquals(List.of(), BoundRuns.violations(fault.killedBy().get(0), 1), fault.name());
        }
    }

    @TestFactory
    List<DynamicTest> everyFaultIsFound() throws IOException {
        return Mutant.list("bound-faults.txt")
                .stream()
                .map(fault -> DynamicTest.dynamicTest(fault.name(), () -> assertTrue(isFound(fault), fault.name())))
                .toList();
    }

    private boolean isFound(Mutant fault) throws Exception {
        Path own = Files.createTempDirectory(folder, "fault");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(fault, own));
        Method violations = loader.loadClass(BoundRuns.class.getName())
                .getMethod("violations", String.class, long.class);
        long first = Long.parseLong(fault.killedBy().get(1));
        for (long seed = first; seed < first + FAULT_SEEDS; seed++) {
            @SuppressWarnings("unchecked")
            List<String> found = (List<String>) violations.invoke(null, fault.killedBy().get(0), seed);
            if (found.stream().anyMatch(each -> each.contains(fault.killedBy().get(2)))) {
                return true;
            }
        }
        return false;
    }
}
