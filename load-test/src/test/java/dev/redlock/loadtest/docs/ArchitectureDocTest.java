package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The walk through the code names methods that the linked files declare. */
class ArchitectureDocTest {

    private static final Pattern LINKED_METHOD = Pattern.compile("\\[`(\\w+)(?:\\.(\\w+))?`]\\(([^)]+\\.java)\\)");

    @Test
    void linkedMethodsExist() throws IOException {
        Path page = DocPages.root().resolve("docs/internals/architecture.md");
        Matcher link = LINKED_METHOD.matcher(Files.readString(page));
        List<String> wrong = new ArrayList<>();
        int count = 0;
        while (link.find()) {
            count++;
            Path file = page.getParent().resolve(link.group(3)).normalize();
            String source = Files.readString(file);
            boolean isType = source.contains(" " + link.group(1) + " ") && file.endsWith(link.group(1) + ".java");
            if (!isType || link.group(2) != null && !declares(source, link.group(2))) {
                wrong.add(link.group());
            }
        }
        assertEquals(List.of(), wrong);
        assertTrue(count >= 12, "steps found: " + count);
    }

    private static boolean declares(String source, String method) {
        return Pattern.compile("^ {4}[\\w ]*[\\w<>\\[\\]]+ " + method + "\\(", Pattern.MULTILINE)
                .matcher(source)
                .find();
    }
}
