package org.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The code blocks of one page of the documentation. */
record Page(String text) {

    private static final Pattern BLOCK = Pattern.compile("```(\\w+)\n(.*?)```", Pattern.DOTALL);

    static Page of(String name) throws IOException {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("README.md"))) {
            root = root.getParent();
        }
        return new Page(Files.readString(root.resolve(name)));
    }

    private List<MatchResult> blocks() {
        return BLOCK.matcher(text).results().toList();
    }

    /** The only block in a language that contains a text. */
    String block(String language, String part) {
        List<String> found = blocks().stream()
                .filter(block -> block.group(1).equals(language) && block.group(2).contains(part))
                .map(block -> block.group(2))
                .toList();
        if (found.size() != 1) {
            throw new AssertionError(found.size() + " blocks in " + language + " contain " + part);
        }
        return found.get(0);
    }
}
