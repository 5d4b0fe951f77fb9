package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The application has the class and the two steps of docs/start/quarkus.md. */
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

    @Test
    void theApplicationHasTheClassOfThePage() throws IOException {
        String shown = Page.of("docs/start/quarkus.md").block("java", "class Locks ");
        String tested = Files.readString(Path.of("src/main/java/org/example/Locks.java"));
        assertTrue(tested.endsWith(shown), shown);
    }

    @Test
    void thePomAndThePropertiesHaveTheStepsOfThePage() throws IOException {
        Page page = Page.of("docs/start/quarkus.md");
        String management = page.block("xml", "netty-bom");
        String netty = management.substring(management.indexOf("<!--"), management.indexOf("</dependencies>"));
        String pom = withoutIndentation(Files.readString(Path.of("pom.xml")));
        assertTrue(pom.contains(withoutIndentation(netty).strip()), netty);
        assertTrue(pom.indexOf("netty-bom") < pom.indexOf("<artifactId>quarkus-bom"), "it is the first");
        String properties = Files.readString(Path.of("src/main/resources/application.properties"));
        assertTrue(properties.contains(page.block("text", "parent-first-artifacts")), properties);
        assertEquals("4.2.18.Final", Version.identify().get("netty-transport").artifactVersion());
    }

    private static String withoutIndentation(String xml) {
        return xml.replaceAll("(?m)^ +", "");
    }
}
