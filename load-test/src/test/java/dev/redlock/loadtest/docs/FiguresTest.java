package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The data files beside the pages: each names its command, its commit and its machine, has a value for each column in
 * each line, and is linked from a page.
 */
class FiguresTest {

    @Test
    void everyFileIsComplete() throws IOException {
        StringBuilder pages = new StringBuilder();
        for (Path page : DocPages.all()) {
            pages.append(Files.readString(page));
        }
        List<String> wrong = new ArrayList<>();
        List<Path> files = files();
        for (Path file : files) {
            String name = DocPages.root().relativize(file).toString();
            problems(Files.readAllLines(file)).forEach(problem -> wrong.add(name + ": " + problem));
            if (pages.indexOf("figures/" + file.getFileName() + ")") < 0) {
                wrong.add(name + ": no page links to it");
            }
        }
        assertEquals(List.of(), wrong);
        assertTrue(files.size() > 10, "files found: " + files.size());
    }

    @Test
    void incompleteFilesAreFound() {
        assertEquals(List.of("no command", "no commit", "no machine"), problems(List.of("a,b", "1,2")));
        List<String> head = List.of("# java -jar a.jar", "# Recorded by commit 1, machine: b");
        assertEquals(List.of(), problems(Stream.concat(head.stream(), Stream.of("a,b", "\"1, 2\",")).toList()));
        assertEquals(List.of("1 has not 2 columns"),
                problems(Stream.concat(head.stream(), Stream.of("a,b", "1")).toList()));
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> docs = Files.walk(DocPages.root().resolve("docs"))) {
            return docs.filter(file -> file.toString().endsWith(".csv")).sorted().toList();
        }
    }

    private static List<String> problems(List<String> lines) {
        List<String> problems = new ArrayList<>();
        String head = String.join("\n", lines.stream().filter(line -> line.startsWith("#")).toList());
        if (!head.contains("java -") && !head.contains("mvn -")) {
            problems.add("no command");
        }
        if (!head.contains("ecorded by commit")) {
            problems.add("no commit");
        }
        if (!head.toLowerCase(Locale.ROOT).contains("machine: ")) {
            problems.add("no machine");
        }
        List<String> rows = lines.stream().filter(line -> !line.startsWith("#")).toList();
        int columns = columns(rows.get(0));
        rows.stream()
                .filter(row -> columns(row) != columns)
                .forEach(row -> problems.add(row + " has not " + columns + " columns"));
        return problems;
    }

    private static int columns(String row) {
        return row.replaceAll("\"[^\"]*\"", "").split(",", -1).length;
    }
}
