package dev.redlock.jmh;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Every call of this module's program that a document shows is understood, and finds something to run. */
class DocsCommandsTest {
    private static final Pattern CALL = Pattern
            .compile("java -(?:jar|cp) jmh/target/jmh\\.jar(?: dev\\.redlock\\.jmh\\.([^\\s`]+))?([^`|&;#\n]*)");

    @Test
    void everyDocumentedCommandParses() throws IOException, CommandLineOptionException {
        int count = 0;
        for (Path page : pages()) {
            Matcher call = CALL.matcher(Files.readString(page).replaceAll("\\\\\n *", ""));
            while (call.find()) {
                check(call.group(1), call.group(2).strip());
                count++;
            }
        }
        assertTrue(count >= 1, "calls found: " + count);
    }

    private static void check(String program, String arguments) throws CommandLineOptionException {
        String[] words = arguments.isEmpty() ? new String[0] : arguments.split(" +");
        assertTrue(program == null || "Suite".equals(program), "no such program: " + program);
        CommandLineOptions options = new CommandLineOptions(words);
        List<String> includes = options.getIncludes();
        assertFalse(BenchmarkList.defaultList()
                .find(OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), includes, List.of())
                .isEmpty(), () -> "no benchmark matches " + includes);
    }

    private static List<Path> pages() throws IOException {
        Path root = Path.of("").toAbsolutePath();
        while (!Files.exists(root.resolve("README.md"))) {
            root = root.getParent();
        }
        List<Path> pages = new ArrayList<>(List.of(root.resolve("README.md"), root.resolve("CONTRIBUTING.md")));
        try (Stream<Path> docs = Files.walk(root.resolve("docs"))) {
            docs.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
        }
        return pages;
    }
}
