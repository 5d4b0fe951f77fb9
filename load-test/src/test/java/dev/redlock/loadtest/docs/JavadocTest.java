package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The rendered pages of the published modules name no type that an application cannot use. Javadoc names the class that
 * declares a member, so a link to a member of a hidden superclass needs a label: {@code {@link Public#member member}}.
 */
class JavadocTest {

    private static final Pattern HIDDEN_TYPE = Pattern.compile("(?m)^(?:abstract |final |sealed |non-sealed )*"
            + "(?:class|interface|record|enum) (\\w+)");
    private static final Pattern TAG = Pattern.compile("<[^>]*>");

    /** The pages are rendered in the phase {@code verify}, before the tests of this module. */
    @ParameterizedTest
    @CsvSource({"resp-codec, dev.redlock.resp|dev.redlock.resp.netty", "redlock-core, dev.redlock|dev.redlock.api",
        "test-kit, dev.redlock.test", "integrations/micrometer, dev.redlock.micrometer",
        "integrations/reactor, dev.redlock.reactor",
        "integrations/shedlock, dev.redlock.shedlock",
        "integrations/spring-boot-starter, dev.redlock.spring",
        "integrations/spring-integration, dev.redlock.spring.integration"})
    void pagesNameNoHiddenType(String module, String packages) throws IOException {
        Path pages = DocPages.root().resolve(module).resolve("target/reports/apidocs");
        List<Path> files = files(pages, ".*\\.(html|js)");
        Assumptions.assumeTrue(!files.isEmpty(), "the pages of " + module + " are not rendered");
        Pattern hidden = hidden(module, Set.of(packages.split("\\|")));
        List<String> found = new ArrayList<>();
        for (Path file : files) {
            String text = TAG.matcher(Files.readString(file)).replaceAll("");
            text.lines()
                    .filter(line -> hidden.matcher(line).find())
                    .forEach(line -> found.add(pages.relativize(file) + ": " + line.strip()));
        }
        assertEquals(List.of(), found);
    }

    /** Types without "public" in the packages of the pages, and everything in the other packages of the client. */
    private static Pattern hidden(String module, Set<String> packages) throws IOException {
        Path sources = DocPages.root().resolve(module).resolve("src/main/java");
        Set<String> names = new TreeSet<>();
        for (Path file : files(sources, ".*\\.java")) {
            String where = sources.relativize(file).getParent() == null
                    ? ""
                    : sources.relativize(file).getParent().toString().replace('/', '.');
            if (packages.contains(where)) {
                HIDDEN_TYPE.matcher(Files.readString(file)).results().forEach(type -> names.add(type.group(1)));
            }
        }
        assertTrue(!module.equals("redlock-core") || names.contains("LockSettings"), names::toString);
        Stream<String> internals = Stream.of("engine", "node", "quorum", "sim", "telemetry", "time", "transport")
                .map(name -> "dev\\.redlock\\." + name);
        return Pattern.compile("\\b(" + Stream.concat(names.stream(), internals).collect(Collectors.joining("|"))
                + ")\\b");
    }

    private static List<Path> files(Path folder, String name) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.getFileName().toString().matches(name)).sorted().toList();
        }
    }
}
