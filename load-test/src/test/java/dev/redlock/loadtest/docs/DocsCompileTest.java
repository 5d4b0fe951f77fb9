package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every java block of README.md, its neighbours and docs/ compiles against the modules as they are. */
class DocsCompileTest {
    @TempDir
    private Path folder;

    @TestFactory
    List<DynamicTest> everyJavaBlockCompiles() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (Path file : DocPages.all()) {
            for (JavaSnippet snippet : JavaSnippet.in(file)) {
                tests.add(DynamicTest.dynamicTest(snippet.place(), () -> assertEquals(List.of(), compile(snippet))));
            }
        }
        assertFalse(tests.isEmpty(), "README.md shows code");
        return tests;
    }

    @Test
    void readmeNamesTheTwoCommands() throws IOException {
        List<String> lines = Files.readAllLines(DocPages.root().resolve("README.md"));
        assertTrue(lines.contains("mvn -q -DskipTests package && java -jar load-test/target/load-test.jar"));
        assertTrue(lines.contains("mvn verify"));
    }

    @Test
    void blockOfStatementsSeesItsParametersAndImports() throws IOException {
        assertEquals(List.of(), compile(only("<!-- given: Runnable work -->", "```java",
                "import java.util.function.Supplier;", "Supplier<Runnable> supplier = () -> work;",
                "Duration second = Duration.ofSeconds(supplier.hashCode());", "```")));
    }

    @Test
    void blockWithATypeIsAFile() throws IOException {
        assertEquals(List.of(), compile(only("```java", "public final class Shop {", "    int price;", "}", "```")));
    }

    @Test
    void wrongBlockIsFound() throws IOException {
        List<String> errors = compile(only("```java", "noSuchVariable.call();", "```"));
        assertTrue(errors.toString().contains("noSuchVariable"), errors::toString);
    }

    private JavaSnippet only(String... lines) throws IOException {
        List<JavaSnippet> found = JavaSnippet.in(Files.write(folder.resolve("page.md"), List.of(lines)));
        assertEquals(1, found.size());
        return found.get(0);
    }

    private List<String> compile(JavaSnippet snippet) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options = List.of("-d", folder.toString(), "-proc:none", "-classpath",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        boolean isGood = compiler.getTask(null, null, diagnostics, options, null, List.of(snippet.source())).call();
        List<String> errors = diagnostics.getDiagnostics()
                .stream()
                .map(error -> snippet.place() + ": " + error)
                .toList();
        return isGood ? List.of() : errors;
    }
}
