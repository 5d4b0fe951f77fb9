package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.docs.DocBlock;
import dev.redlock.loadtest.docs.DocPages;
import dev.redlock.loadtest.measure.LabCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/**
 * The commands of the documents and of the helps: this program's own are parsed and their options checked, Maven's
 * profiles, modules and classes exist, and every block is what a shell can read. The jmh module looks at its own.
 */
class DocsCommandsTest {
    private static final Pattern LOAD_TEST = Pattern.compile("java -jar load-test/target/load-test\\.jar([^`|&;#\n]*)");
    private static final Pattern REDLOCK = Pattern.compile("java -jar cli/target/redlock\\.jar([^`|&;#\n]*)");
    private static final Pattern MAVEN = Pattern.compile("\\bmvn ([^`|&;#\n]*)");
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");
    private static final String KNOWN_PROGRAMS = "(mvn"
            + "|(taskset -c [0-9-]+ )?java -jar (load-test/target/load-test|cli/target/redlock)\\.jar"
            + "|java -(cp|jar) jmh/target/jmh\\.jar|load-test/qualify-server)( .*)?";

    @Test
    void everyDocumentedCommandParses() throws IOException {
        List<String> problems = new ArrayList<>();
        List<MatchResult> calls = inAllPages(LOAD_TEST);
        calls.forEach(call -> problems.addAll(problems(call.group(1))));
        assertEquals(List.of(), problems);
        assertTrue(calls.size() > 12, "calls found: " + calls.size());
        List<MatchResult> ofTheOperator = inAllPages(REDLOCK);
        ofTheOperator.forEach(call -> dev.redlock.cli.Main.commandLine()
                .parseArgs(words(call.group(1)).toArray(String[]::new)));
        assertTrue(ofTheOperator.size() > 3, "calls found: " + ofTheOperator.size());
    }

    /** Otherwise a server loads a dump.rdb of the current folder, is not empty, and waits in quarantine. */
    @Test
    void everyServerOfAPageHasAFolderOfItsOwn() throws IOException {
        List<MatchResult> servers = inAllPages(Pattern.compile("(?:redis|valkey)-server [^`\n]*--port [^`\n]*"));
        assertTrue(servers.size() >= 2, "servers found: " + servers.size());
        servers.forEach(server -> assertTrue(server.group().contains(" --dir \"$(mktemp -d)\" "), server::group));
    }

    @Test
    void everyHelpExampleParses() {
        List<String> problems = new ArrayList<>();
        int count = 0;
        List<CommandLine> commands = new ArrayList<>(Main.commandLine().getSubcommands().values());
        Main.commandLine().getSubcommands().values().forEach(each -> commands.addAll(each.getSubcommands().values()));
        for (CommandLine command : commands) {
            for (String line : command.getCommandSpec().usageMessage().footer()) {
                if (line.startsWith("  load-test ")) {
                    count++;
                    assertTrue(line.length() < 80, () -> "wraps on a narrow terminal: " + line);
                    problems.addAll(problems(line.strip().substring("load-test ".length()).split(" {2,}")[0]));
                }
            }
        }
        assertEquals(List.of(), problems);
        assertTrue(count > 20, "examples found: " + count);
    }

    @Test
    void wrongCommandsAreDetected() {
        assertEquals(List.of(), problems("--nodes 3"));
        assertEquals(List.of(), problems("nodes 3 --config 'requirepass secret'"));
        assertTrue(problems("latency --noodles 3").toString().contains("--noodles"));
        assertTrue(problems("latency --nodes three").toString().contains("three"));
        assertTrue(problems("latency --nodes 64").toString().contains("expected counts of 1 to 63"), "a range");
        assertTrue(problems("latecny").toString().contains("latecny"));
    }

    @Test
    void everyDocumentedMavenCommandNamesExistingTargets() throws Exception {
        List<MatchResult> calls = inAllPages(MAVEN);
        String poms = DocPages.text("pom.xml") + DocPages.text("redlock-core/pom.xml")
                + DocPages.text("resp-codec/pom.xml") + DocPages.text("load-test/pom.xml");
        for (MatchResult call : calls) {
            List<String> words = words(call.group(1));
            for (int i = 0; i < words.size(); i++) {
                String word = words.get(i);
                if (word.startsWith("-P")) {
                    assertTrue(poms.contains("<id>" + word.substring(2) + "</id>"), call::group);
                } else if (word.equals("-pl")) {
                    assertTrue(Files.exists(DocPages.root().resolve(words.get(i + 1) + "/pom.xml")), call::group);
                } else if (word.matches("-D.*=dev\\.redlock\\..*")) {
                    Class.forName(word.substring(word.indexOf('=') + 1), false, getClass().getClassLoader());
                }
            }
        }
        assertTrue(calls.size() > 8, "calls found: " + calls.size());
    }

    /** Blocks of other commands say why no test runs them, and even those have no slip in their quotes. */
    @Test
    void everyShellBlockParsesAndUsesKnownPrograms() throws Exception {
        for (Path page : DocPages.all()) {
            for (DocBlock block : DocBlock.in(page)) {
                if (block.language().equals("sh")) {
                    Process shell = new ProcessBuilder("sh", "-n", "-c", block.text()).redirectErrorStream(true)
                            .start();
                    String said = new String(shell.getInputStream().readAllBytes());
                    assertEquals(0, shell.waitFor(), () -> block.place() + ": " + said);
                    List<String> unknown = block.commands()
                            .stream()
                            .flatMap(line -> Arrays.stream(line.split(" && ")))
                            .filter(command -> !command.matches(KNOWN_PROGRAMS))
                            .toList();
                    assertTrue(unknown.isEmpty() || !block.isRun(), () -> block.place() + ": no test knows " + unknown);
                }
            }
        }
    }

    private static List<MatchResult> inAllPages(Pattern pattern) throws IOException {
        List<MatchResult> found = new ArrayList<>();
        for (Path page : DocPages.all()) {
            found.addAll(pattern.matcher(Files.readString(page).replaceAll("\\\\\n *", ""))
                    .results()
                    .toList());
        }
        return found;
    }

    private static List<String> problems(String arguments) {
        CommandLine line = Main.commandLine();
        try {
            line.parseArgs(Main.withCommand(words(arguments).toArray(String[]::new)));
            CommandLine.ParseResult command = line.getParseResult().subcommand();
            if (command.commandSpec().userObject() instanceof LabCommand lab && !command.isUsageHelpRequested()) {
                lab.checkAll();
            }
            return List.of();
        } catch (CommandLine.ParameterException e) {
            return List.of(arguments.strip() + ": " + e.getMessage());
        }
    }

    private static List<String> words(String arguments) {
        return WORD.matcher(arguments)
                .results()
                .map(word -> word.group(1) == null ? word.group(2) : word.group(1))
                .toList();
    }
}
