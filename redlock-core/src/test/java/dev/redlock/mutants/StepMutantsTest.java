package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The step relation rejects a step of each mutant of {@code safety-mutants.txt}, or the list says why it cannot. */
class StepMutantsTest {
    /** The seeds of the list found the mutants when they were chosen. */
    private static final int SEEDS = 20;

    @TempDir
    private Path folder;

    @Test
    void theListHasEachMutant() throws IOException {
        assertEquals(Mutant.list("safety-mutants.txt").stream().map(Mutant::name).toList(),
                List.copyOf(StepMutants.read().keySet()));
    }

    @TestFactory
    @Tag("release")
    Stream<DynamicTest> aStepOfEachIsRejected() throws IOException {
        Map<String, String> runs = StepMutants.read();
        return Mutant.list("safety-mutants.txt")
                .stream()
                .filter(mutant -> StepMutants.isSeen(runs.get(mutant.name())))
                .map(mutant -> DynamicTest.dynamicTest(mutant.name(), () -> assertNotNull(
                        StepMutants.rejected(mutant, runs.get(mutant.name()), SEEDS, folder))));
    }
}
