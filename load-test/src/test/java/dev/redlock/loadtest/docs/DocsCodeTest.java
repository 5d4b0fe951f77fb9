package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every java block of README.md, its neighbours and docs/ compiles against the modules as they are and does what it
 * says on real nodes.
 */
class DocsCodeTest {
    /**
     * What other tests try: commands; the statement and the script of the page on fencing; dependencies;
     * drawings and ACL lines.
     */
    private static final Set<String> OTHERS = Set.of("sh", "sql", "lua", "xml", "kotlin", "text", "");

    private static DocsFixture fixture;
    @TempDir
    private Path folder;

    @BeforeAll
    static void open() {
        fixture = new DocsFixture();
    }

    @AfterAll
    static void close() {
        fixture.close();
    }

    @TestFactory
    List<DynamicTest> everyJavaBlockRuns() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (Path file : DocPages.all()) {
            for (JavaSnippet snippet : JavaSnippet.in(file)) {
                Path own = Files.createDirectory(folder.resolve(Integer.toString(tests.size())));
                tests.add(DynamicTest.dynamicTest(snippet.block().place(),
                        () -> assertEquals(List.of(), fixture.problems(snippet, own))));
            }
        }
        assertFalse(tests.isEmpty(), "README.md shows code");
        return tests;
    }

    @Test
    void noBlockIsLeftOut() throws IOException {
        List<String> unknown = new ArrayList<>();
        for (Path file : DocPages.all()) {
            for (DocBlock block : DocBlock.in(file)) {
                boolean isOnFencing = file.endsWith("docs/guides/fencing.md");
                boolean isOfOneTest = block.language().matches("sql|lua");
                boolean isKnown = block.language().equals("java") || OTHERS.contains(block.language());
                if (!isKnown || isOfOneTest && !isOnFencing) {
                    unknown.add(block.place() + ": " + block.language());
                }
            }
        }
        assertEquals(List.of(), unknown, "blocks in a language that no test tries");
    }

    @Test
    void blocksOfOtherProjectsAreReadByATestThere() throws IOException {
        int count = 0;
        for (Path page : DocPages.all()) {
            String name = DocPages.root().relativize(page).toString();
            for (DocBlock block : DocBlock.in(page)) {
                String project = block.note(DocBlock.TESTED_BY);
                if (!project.isEmpty()) {
                    count++;
                    assertTrue(isReadIn(DocPages.root().resolve(project).resolve("src/test"), name), block::place);
                }
            }
        }
        assertTrue(count > 0, "blocks found");
    }

    private static boolean isReadIn(Path tests, String page) throws IOException {
        try (Stream<Path> files = Files.walk(tests)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                if (Files.readString(file).contains("Page.of(\"" + page + "\").block(\"java\"")) {
                    return true;
                }
            }
        }
        return false;
    }

    @Test
    void readmeNamesTheTwoCommands() throws IOException {
        List<String> lines = Files.readAllLines(DocPages.root().resolve("README.md"));
        assertTrue(lines.contains("mvn -q -DskipTests package && java -jar load-test/target/load-test.jar"));
        assertTrue(lines.contains("mvn verify"));
    }

    @Test
    void blockOfStatementsSeesItsParametersAndImports() throws Exception {
        assertEquals(List.of(), problems("<!-- given: Runnable work -->", "```java",
                "import java.util.function.Supplier;", "Supplier<Runnable> supplier = () -> work;",
                "Duration second = Duration.ofSeconds(supplier.hashCode());", "supplier.get().run();", "```"));
    }

    @Test
    void blockWithATypeIsAFile() throws Exception {
        assertEquals(List.of(), problems("```java", "public final class Shop {", "    int price;", "}", "```"));
    }

    @Test
    void blockThatDoesNotCompileIsFound() throws Exception {
        assertFound("noSuchVariable", "```java", "noSuchVariable.call();", "```");
    }

    @Test
    void blockThatThrowsIsFound() throws Exception {
        assertFound("threw java.lang.IllegalStateException: no", "```java",
                "if (Duration.ZERO.isZero()) {", "    throw new IllegalStateException(\"no\");", "}", "```");
        assertFound("threw java.lang.IllegalStateException: no", "```java", "public final class Shop {",
                "    public static void main(String[] args) {", "        throw new IllegalStateException(\"no\");",
                "    }", "}", "```");
    }

    @Test
    void blockThatFailsToAcquireIsDetected() throws Exception {
        assertFound("ended as CONTENDED", "<!-- given: Redlock redlock -->", "```java",
                "redlock.acquire(\"r\", Duration.ofSeconds(9));", "redlock.tryAcquire(\"r\", Duration.ofSeconds(9));",
                "```");
    }

    @Test
    void callbackThatThrowsIsFound() throws Exception {
        assertFound("IllegalStateException: no", "<!-- given: Redlock redlock, Runnable work -->", "```java",
                "redlock.acquire(redlock.key(\"r\"), AcquireOptions.ofTtl(Duration.ofSeconds(9)), redlock.newLease(),",
                "        outcome -> {", "            work.run();",
                "            throw new IllegalStateException(\"no\");", "        });", "```");
    }

    @Test
    void whatABlockIsGivenHasToBeKnown() throws Exception {
        assertFound("nothing is given for 'Thread thread'", "<!-- given: Thread thread -->", "```java",
                "thread.start();", "```");
    }

    @Test
    void blockThatIsNotRunIsCompiled() throws Exception {
        assertEquals(List.of(), problems("<!-- not run: it would throw -->", "```java", "Objects.requireNonNull(null);",
                "```"));
        assertFound("noSuchVariable", "<!-- not run: it would throw -->", "```java", "noSuchVariable.call();", "```");
    }

    private void assertFound(String problem, String... lines) throws Exception {
        List<String> found = problems(lines);
        assertTrue(found.toString().contains(problem), found::toString);
    }

    private List<String> problems(String... lines) throws Exception {
        List<JavaSnippet> found = JavaSnippet.in(Files.write(folder.resolve("page.md"), List.of(lines)));
        assertEquals(1, found.size());
        return fixture.problems(found.get(0), folder);
    }
}
