package dev.redlock.mutants;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.contract.ScriptContract;
import dev.redlock.sim.ModelServer;
import dev.redlock.sim.ScriptNames;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The model does what the scripts do, and the cases that show it find each fault of {@code script-mutants.txt} in the
 * model. {@code ScriptContractOnNodesTest} runs the same cases on real servers, also with the faults of the scripts.
 */
class ScriptMutantsTest {

    @TempDir
    private Path folder;

    @TestFactory
    Stream<DynamicTest> theModelDoesWhatEachScriptDoes() {
        return ScriptContract.scripts()
                .stream()
                .map(script -> DynamicTest.dynamicTest(script, () -> ModelServer.check(script)));
    }

    @Test
    void everyScriptHasCasesAndMutants() throws IOException {
        Set<String> scripts = ScriptNames.all();
        assertEquals(scripts, new TreeSet<>(ScriptContract.scripts()));
        assertEquals(scripts, mutants(true).stream()
                .map(mutant -> mutant.killedBy().get(0))
                .collect(Collectors.toCollection(TreeSet::new)));
        assertEquals(names(mutants(true)), names(mutants(false)), "each fault is in the script and in the model");
    }

    private static List<String> names(List<Mutant> mutants) {
        return mutants.stream().map(Mutant::name).toList();
    }

    private static List<Mutant> mutants(boolean isOfScript) throws IOException {
        return Mutant.list("script-mutants.txt").stream().filter(mutant -> mutant.isOfScript() == isOfScript).toList();
    }

    @TestFactory
    @Tag("long")
    Stream<DynamicTest> everyFaultOfTheModelIsFound() throws IOException {
        return mutants(false).stream()
                .map(mutant -> DynamicTest.dynamicTest(mutant.name(), () -> assertFound(mutant)));
    }

    private void assertFound(Mutant mutant) throws Exception {
        Path own = Files.createTempDirectory(folder, "mutant");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(mutant, own));
        Method check = loader.loadClass(ModelServer.class.getName()).getMethod("check", String.class);
        assertThrows(InvocationTargetException.class, () -> check.invoke(null, mutant.killedBy().get(0)));
    }
}
