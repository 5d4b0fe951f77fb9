package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.WaitingRuns;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The simulator finds the waiters that sleep if the client has one of the faults of {@code waiting-faults.txt}. */
@Tag("long")
class WaitingFaultsTest {
    private static final int LEGAL_SEEDS = 4;
    private static final int FAULT_SEEDS = 60;

    @TempDir
    private Path folder;

    @Test
    void nobodySleepsWithoutAFault() {
        assertEquals(0, LongStream.rangeClosed(1, LEGAL_SEEDS).filter(WaitingRuns::hasSleeper).count());
    }

    @TestFactory
    List<DynamicTest> everyFaultIsFound() throws IOException {
        List<Mutant> faults = Mutant.list("waiting-faults.txt");
        assertTrue(faults.size() >= 3);
        return faults.stream()
                .map(fault -> DynamicTest.dynamicTest(fault.name(), () -> assertTrue(isFound(fault), fault.name())))
                .toList();
    }

    private boolean isFound(Mutant fault) throws Exception {
        Path own = Files.createTempDirectory(folder, "fault");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(fault, own));
        Method hasSleeper = loader.loadClass(WaitingRuns.class.getName()).getMethod("hasSleeper", long.class);
        long first = Long.parseLong(fault.killedBy().get(0));
        for (long seed = first; seed < first + FAULT_SEEDS; seed++) {
            if ((boolean) hasSleeper.invoke(null, seed)) {
                return true;
            }
        }
        return false;
    }
}
