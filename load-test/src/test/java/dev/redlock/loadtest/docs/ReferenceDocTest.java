package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.send.VoteFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tables of the reference name each value and each script of the code, and nothing else. */
class ReferenceDocTest {

    private static final String REFERENCE = "docs/reference.md";
    private static final Pattern NAME = Pattern.compile("`(\\w+)`");

    @Test
    void tablesNameEveryValue() throws IOException {
        assertEquals(names(AcquireOutcome.Kind.values()), firstCells(REFERENCE, "| kind | when "));
        assertEquals(names(LeaseState.values()), firstCells(REFERENCE, "| `LeaseState` |"));
        assertEquals(names(NodeState.values()), firstCells(REFERENCE, "| `NodeState` |"));
        assertEquals(names(ReleaseOutcome.values()), firstCells("docs/guides/acquiring.md", "| `ReleaseOutcome` |"));
        assertEquals(names(ExtendOutcome.values()), firstCells("docs/guides/acquiring.md", "| `ExtendOutcome` |"));
    }

    @Test
    void reasonsOfVotesHaveTheirTexts() throws IOException {
        Set<String> reasons = names(VoteFailure.values());
        reasons.remove(VoteFailure.NONE.name());
        assertEquals(reasons, firstCells(REFERENCE, "| reason | vote |"));
        for (String row : rows(REFERENCE, "| reason | vote |")) {
            Set<String> names = namesIn(row.split(" \\| ")[0]);
            String text = row.split(" \\| ")[2].replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1");
            for (String name : names) {
                String expected = VoteFailure.valueOf(name).text();
                assertTrue(text.startsWith(expected) || names.size() > 1 && expected.equals(name), row);
            }
        }
    }

    @Test
    void scriptsAreThoseOfTheLibrary() throws IOException {
        Path folder = DocPages.root().resolve("redlock-core/src/main/resources/dev/redlock/node/send");
        Set<String> scripts;
        try (Stream<Path> files = Files.list(folder)) {
            scripts = files.map(file -> file.getFileName().toString().replace(".lua", ""))
                    .filter(name -> !name.startsWith("part_"))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
        assertEquals(scripts, firstCells(REFERENCE, "| script | KEYS "));
        // The page on fencing names the scripts with a counter.
        String fencing = DocPages.text("docs/internals/fencing.md");
        for (String script : scripts) {
            boolean hasCounter = Files.readString(folder.resolve(script + ".lua")).contains("counter");
            assertEquals(hasCounter, fencing.contains("`" + script + "`"), script);
        }
    }

    private static Set<String> names(Enum<?>[] values) {
        return Arrays.stream(values).map(Enum::name).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> firstCells(String page, String head) throws IOException {
        Set<String> names = new TreeSet<>();
        for (String row : rows(page, head)) {
            names.addAll(namesIn(row.split(" \\| ")[0]));
        }
        return names;
    }

    private static Set<String> namesIn(String cell) {
        return NAME.matcher(cell)
                .results()
                .map((MatchResult name) -> name.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The rows of the table whose head starts with a text. */
    private static List<String> rows(String page, String head) throws IOException {
        return DocPages.text(page)
                .lines()
                .dropWhile(line -> !line.startsWith(head))
                .skip(2)
                .takeWhile(line -> line.startsWith("|"))
                .toList();
    }
}
