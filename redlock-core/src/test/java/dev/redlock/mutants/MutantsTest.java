package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lists of mutants fit the sources. {@link MutantsMain} runs them. */
class MutantsTest {
    private static final int MUTANTS_MIN = 40;
    private static final int SCRIPT_MUTATIONS_MIN = 2_000;
    private static final List<String> LISTS = List.of("safety-mutants.txt", "retained-mutants.txt", "seeded-faults.txt",
            "waiting-faults.txt", "bound-faults.txt", "lincheck-faults.txt", "script-mutants.txt");

    @Test
    void everyMutantChangesItsFile() throws IOException {
        for (String list : LISTS) {
            for (Mutant mutant : Mutant.list(list)) {
                String source = Files.readString(SourceFiles.path(mutant.file()));
                assertNotEquals(source, assertDoesNotThrow(() -> mutant.applyTo(source)), mutant.name());
            }
        }
    }

    @Test
    void everySurvivorOfAScriptIsAMutationOfIt() {
        Set<String> survivors = new HashSet<>(ScriptMutations.survivors());
        ScriptMutations.all().forEach(mutation -> survivors.remove(mutation.survivor()));
        assertEquals(Set.of(), survivors);
        assertTrue(ScriptMutations.all().size() >= SCRIPT_MUTATIONS_MIN);
    }

    /** A mutant whose text no longer compiles would stop the list in the middle. */
    @Test
    @Tag("long")
    void everyMutantCompiles(@TempDir Path folder) throws IOException {
        List<Map<String, Mutant>> groups = new ArrayList<>();
        for (String list : LISTS) {
            for (Mutant mutant : Mutant.list(list)) {
                if (!mutant.isOfScript()) {
                    addToAGroupWithoutItsFile(groups, mutant);
                }
            }
        }
        for (Map<String, Mutant> group : groups) {
            Path own = Files.createTempDirectory(folder, "group");
            assertDoesNotThrow(() -> MutantClasses.compile(List.copyOf(group.values()), own));
        }
    }

    private static void addToAGroupWithoutItsFile(List<Map<String, Mutant>> groups, Mutant mutant) {
        for (Map<String, Mutant> group : groups) {
            if (group.putIfAbsent(mutant.file(), mutant) == null) {
                return;
            }
        }
        groups.add(new HashMap<>(Map.of(mutant.file(), mutant)));
    }

    @Test
    void everyMutantHasATestAndANameOfItsOwn() throws IOException {
        List<Mutant> mutants = new ArrayList<>(Mutant.list("safety-mutants.txt"));
        mutants.addAll(Mutant.list("retained-mutants.txt"));
        Set<String> names = new HashSet<>();
        for (Mutant mutant : mutants) {
            assertTrue(names.add(mutant.name()), mutant.name());
            for (String test : mutant.killedBy()) {
                assertDoesNotThrow(() -> Class.forName(SourceFiles.test(test), false, getClass().getClassLoader()),
                        mutant.name());
            }
        }
        assertTrue(mutants.size() >= MUTANTS_MIN, () -> mutants.size() + " mutants");
    }

    @Test
    void filesAndTestsAreFoundByTheirNameAlone() {
        assertTrue(SourceFiles.path("acquire.lua").endsWith(Path.of("send", "acquire.lua")));
        assertEquals(getClass().getName() + "#aTest", SourceFiles.test("MutantsTest#aTest"));
        assertThrows(IllegalStateException.class, () -> SourceFiles.path("Acquire.lua"));
    }

    @Test
    void textThatDoesNotOccurExactlyOnceIsRejected() {
        Mutant mutant = Mutant.parse("name: a\nfile: F\nkilled by: T, U\n-x\n+y\n-z\n").get(0);
        assertEquals(List.of("T", "U"), mutant.killedBy());
        assertEquals("ay b", mutant.applyTo("ax bz"));
        assertThrows(IllegalStateException.class, () -> mutant.applyTo("xx z"));
        assertThrows(IllegalStateException.class, () -> mutant.applyTo("x"));
        assertThrows(IllegalStateException.class, () -> Mutant.parse("name: a\n-x"));
    }
}
