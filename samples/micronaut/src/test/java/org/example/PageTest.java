package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The application has the classes of docs/start/micronaut.md. */
class PageTest {

    /** The code blocks of a page. */
    private record Page(String text) {
        static Page of(String name) throws IOException {
            return new Page(Files.readString(Path.of("../..").resolve(name)));
        }

        String block(String language, String part) {
            for (String block : text.split("```" + language + "\n")) {
                if (block.contains(part)) {
                    return block.substring(0, block.indexOf("```"));
                }
            }
            throw new AssertionError("no block in " + language + " contains " + part);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Locks", "Jobs"})
    void theApplicationHasTheClassesOfThePage(String name) throws IOException {
        String shown = Page.of("docs/start/micronaut.md").block("java", "class " + name + " ");
        String tested = Files.readString(Path.of("src/main/java/org/example/" + name + ".java"));
        assertTrue(tested.endsWith(shown), shown);
    }

    @Test
    void theNettyIsThatOfMicronaut() {
        assertEquals("4.2.9.Final", Version.identify().get("netty-transport").artifactVersion());
    }
}
