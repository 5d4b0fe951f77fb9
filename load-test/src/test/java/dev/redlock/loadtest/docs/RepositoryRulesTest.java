package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Rules for every file of the project. The patterns are put together from parts, so that this file does not break them.
 */
class RepositoryRulesTest {

    private static final long LENGTH_MAX = 1 << 20;
    private static final Set<String> NOT_OURS = Set.of(".git", "target", ".idea", ".vscode", "load-test-results");

    private record Rule(String title, String files, Pattern forbidden) {
        static Rule of(String title, String files, String... parts) {
            return new Rule(title, files, Pattern.compile(String.join("", parts)));
        }
    }

    private static final String LIBRARIES = "(resp-codec|redlock-core)/src/main/.*\\.java";
    private static final String TESTS = ".*/src/test/.*\\.java";

    private static final List<Rule> RULES = List.of(
            Rule.of("a path of one machine", ".*", "(/ro", "ot/|/wo", "rk/|/ho", "me/[a-z]+/|/usr/lib/", "jvm/)"),
            Rule.of("the host of a package registry", ".*",
                    ":/", "/(repo|repo1|deb|registry|central|packages|mirror)[a-z0-9-]*\\.[a-z]"),
            Rule.of("a disabled test", ".*\\.java", "@(Dis", "abled|Ign", "ore)\\b"),
            Rule.of("a sleep in a test: use virtual time, or await a condition", TESTS,
                    "Thread\\.sl", "eep|TimeUnit\\.[A-Z]+\\.sl", "eep|LockSupport\\.park", "Nanos"),
            Rule.of("the wall clock in a library", LIBRARIES,
                    "System\\.current", "TimeMillis|Instant\\.n", "ow|new Da", "te\\("),
            Rule.of("printing in a library", LIBRARIES, "System\\.(out|err)\\.|print", "StackTrace"),
            Rule.of("Unsafe", ".*\\.java", "sun\\.misc\\.Un", "safe|jdk\\.internal\\.m", "isc"),
            Rule.of("unfinished work", ".*\\.(java|lua|md)",
                    "\\b(TO", "DO|FIX", "ME|XX", "X|HA", "CK)\\b|not (yet )?imple", "mented"),
            Rule.of("an exception that is swallowed", ".*\\.java",
                    "catch \\((Exception|Throwable) (ignored|ignore|e)\\) *\\{ *\\}"));

    @Test
    void noFileBreaksARule() throws IOException {
        List<String> findings = new ArrayList<>();
        int count = 0;
        for (Path file : files()) {
            List<String> lines = lines(file);
            String name = DocPages.root().relativize(file).toString();
            count += lines.isEmpty() ? 0 : 1;
            for (int i = 0; i < lines.size(); i++) {
                for (Rule rule : RULES) {
                    if (name.matches(rule.files) && rule.forbidden.matcher(lines.get(i)).find()) {
                        findings.add(name + ":" + (i + 1) + ": " + rule.title);
                    }
                }
            }
        }
        assertEquals(List.of(), findings);
        assertTrue(count > 300, "files with text: " + count);
    }

    @Test
    void noFileIsTooLarge() throws IOException {
        List<String> large = new ArrayList<>();
        for (Path file : files()) {
            if (Files.size(file) > LENGTH_MAX) {
                large.add(DocPages.root().relativize(file) + ": " + Files.size(file) + " bytes");
            }
        }
        assertEquals(List.of(), large);
    }

    @Test
    void atMostOneLibraryFileReadsTheMonotonicClockDirectly() throws IOException {
        List<String> readers = new ArrayList<>();
        for (Path file : files()) {
            String name = DocPages.root().relativize(file).toString();
            if (name.matches(LIBRARIES) && String.join("\n", lines(file)).contains("System.nano" + "Time(")) {
                readers.add(file.getFileName().toString());
            }
        }
        assertTrue(readers.size() <= 1, readers::toString);
    }

    @ParameterizedTest
    @CsvSource({"0,docs/a.md,see /ho/me/someone/x", "2,a/src/test/A.java,@Dis/abled",
        "3,a/src/test/A.java,Thread.sl/eep(1)",
        "4,resp-codec/src/main/A.java,Instant.n/ow()", "5,redlock-core/src/main/A.java,System.out./println()",
        "7,a/A.java,// TO/DO later", "8,A.java,catch (Exception e) /{ }"})
    void eachRuleDetectsItsViolation(int index, String name, String line) {
        Rule rule = RULES.get(index);
        String joined = index == 0 ? line.replace("/ho/me", "/ho" + "me") : line.replace("/", "");
        assertTrue(name.matches(rule.files) && rule.forbidden.matcher(joined).find(), rule.title);
    }

    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>();
        Files.walkFileTree(DocPages.root(), new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                return NOT_OURS.contains(folder.getFileName().toString()) && !folder.equals(DocPages.root())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (!file.getFileName().toString().equals(".git")
                        && !file.toString().endsWith("RepositoryRulesTest.java")) {
                    files.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return files;
    }

    /** The lines of a text file; none of a picture. */
    private static List<String> lines(Path file) throws IOException {
        try {
            return Files.readAllLines(file);
        } catch (MalformedInputException e) {
            return List.of();
        }
    }
}
