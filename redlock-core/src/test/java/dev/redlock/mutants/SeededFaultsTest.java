package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.history.HistoryChecker;
import dev.redlock.sim.HistoryRuns;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The checker accepts the histories of the simulator, and rejects those of the same runs with a fault in the client or
 * in its scripts. The faults are in {@code seeded-faults.txt}.
 */
@Tag("long")
class SeededFaultsTest {
    private static final int LEGAL_SEEDS = Math.max(4, Integer.getInteger("sim.seeds", 60) / 15);
    private static final int FAULT_SEEDS = 400;

    @TempDir
    private Path folder;

    @Test
    void historiesWithoutAFaultAreLinearizable() throws IOException {
        for (String run : new TreeSet<>(
                Mutant.list("seeded-faults.txt").stream().map(SeededFaultsTest::run).toList())) {
            for (long seed = 1; seed <= LEGAL_SEEDS; seed++) {
                assertEquals(List.of(), HistoryChecker.violations(HistoryRuns.lines(run, seed)),
                        run + ", seed " + seed);
            }
        }
    }

    @TestFactory
    List<DynamicTest> everyFaultIsRejected() throws IOException {
        List<Mutant> faults = Mutant.list("seeded-faults.txt");
        assertTrue(faults.size() >= 10);
        return faults.stream()
                .map(fault -> DynamicTest.dynamicTest(fault.name(), () -> assertTrue(isRejected(fault), fault.name())))
                .toList();
    }

    private boolean isRejected(Mutant fault) throws Exception {
        Path own = Files.createTempDirectory(folder, "fault");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(fault, own));
        Method lines = loader.loadClass(HistoryRuns.class.getName()).getMethod("lines", String.class, long.class);
        long first = fault.killedBy().size() > 1 ? Long.parseLong(fault.killedBy().get(1)) : 1;
        for (long seed = first; seed < first + FAULT_SEEDS; seed++) {
            @SuppressWarnings("unchecked")
            List<String> history = (List<String>) lines.invoke(null, run(fault), seed);
            List<String> found = HistoryChecker.violations(history);
            if (!found.isEmpty()) {
                if (Boolean.getBoolean("history.print")) {
                    System.out.println(fault.name() + ": seed " + seed + ": " + found);
                }
                return true;
            }
        }
        return false;
    }

    private static String run(Mutant fault) {
        return fault.killedBy().get(0);
    }
}
