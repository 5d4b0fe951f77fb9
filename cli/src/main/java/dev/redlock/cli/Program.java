package dev.redlock.cli;

import java.io.PrintWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.UsageMessageSpec;

/**
 * A program of this project, as messages name it and as a shell starts it.
 *
 * @param name     the name in messages
 * @param builtJar its jar in a folder of the sources, for advice of a program that runs from classes
 * @threading immutable
 */
public record Program(String name, String builtJar) {

    /** Of a help that is not printed on a terminal. */
    private static final int USAGE_WIDTH = 80;
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_@%+=:,./-]+");

    /**
     * The words that start this program.
     *
     * @return {@code java -jar}, and the jar as the user named it; if the program runs from classes, the jar of a build
     */
    public String start() {
        return start(System.getProperty("java.class.path"), location());
    }

    String start(String classPath, Path location) {
        boolean isJar = classPath.endsWith(".jar") && Path.of(classPath).toAbsolutePath().normalize().equals(location);
        return "java -jar " + quoted(isJar ? classPath : builtJar);
    }

    private static Path location() {
        try {
            return Path.of(Program.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the location of this program is not a URI", e);
        }
    }

    /**
     * The line that prints the help of a command.
     *
     * @param line the command; the program itself if it has no parent
     * @return the line
     */
    String help(CommandLine line) {
        return start() + commandOf(line) + " --help";
    }

    /** The names of a command and of those above it; empty for the program. */
    private static String commandOf(CommandLine line) {
        return line.getParent() == null ? "" : commandOf(line.getParent()) + " " + line.getCommandName();
    }

    /**
     * A program with its commands, ready to parse.
     *
     * @param main the annotated program
     * @return its command line
     */
    public static CommandLine commandLine(Object main) {
        return configured(new CommandLine(main));
    }

    /** Adds the command that a word of the command line names; all of them if it names none. */
    static void addCommands(CommandLine line, String[] args, int index, List<Class<?>> commands) {
        for (Class<?> command : commands) {
            if (index < args.length && command.getAnnotation(CommandLine.Command.class).name().equals(args[index])) {
                line.addSubcommand(command);
                return;
            }
        }
        for (Class<?> command : commands) {
            line.addSubcommand(command);
        }
    }

    /** Applies what all commands of a program share, after they were added. */
    static CommandLine configured(CommandLine program) {
        return program.setCaseInsensitiveEnumValuesAllowed(true)
                .setUsageHelpWidth(USAGE_WIDTH)
                .setUsageHelpAutoWidth(true);
    }

    /** Completes the help of a command: exit codes, and a name for the examples. */
    private void explain(CommandLine line, CommandLine command) {
        UsageMessageSpec own = command.getCommandSpec().usageMessage();
        UsageMessageSpec common = line.getCommandSpec().usageMessage();
        own.abbreviateSynopsis(true);
        own.exitCodeListHeading(common.exitCodeListHeading());
        own.exitCodeList(common.exitCodeList());
        if (own.footer().length > 0) {
            String alias = quoted(List.of(name + "=" + start()));
            own.footerHeading("%nExamples, after alias " + alias.replace("%", "%%") + ":%n");
        }
    }

    /**
     * Runs a command.
     *
     * @param line     the program with its commands
     * @param expected exceptions that are no bugs, beside those of I/O
     * @param out      for results
     * @param err      for errors
     * @param args     the command line
     * @return the exit code
     */
    public int run(CommandLine line, Class<? extends Exception> expected, PrintWriter out, PrintWriter err,
            String... args) {
        return line.setExecutionExceptionHandler(new FailureHandler(this, expected))
                .setParameterExceptionHandler(new WrongOptionHandler(this))
                .setExecutionStrategy(this::runLast)
                .setOut(out)
                .setErr(err)
                .execute(args);
    }

    private int runLast(CommandLine.ParseResult parsed) {
        List<CommandLine> lines = parsed.asCommandLineList();
        CommandLine last = lines.get(lines.size() - 1);
        if (last.isUsageHelpRequested() && lines.size() > 1) {
            explain(lines.get(0), last);
        }
        Options.requireWholeLists(parsed);
        return new CommandLine.RunLast().execute(parsed);
    }

    /**
     * The version in the manifest.
     *
     * @param main a class of the program
     * @return the version, or a remark if the program runs from classes
     */
    public static String version(Class<?> main) {
        String version = main.getPackage().getImplementationVersion();
        return version == null ? "(not from a jar)" : version;
    }

    /**
     * The text that {@code --version} prints.
     *
     * @param main a class of the program
     * @return its lines
     */
    public String[] versionText(Class<?> main) {
        return new String[]{(name.equals("redlock") ? name : "redlock " + name) + " " + version(main),
            "Java " + Runtime.version() + ", " + System.getProperty("os.name") + " " + System.getProperty("os.arch")};
    }

    /**
     * Quotes words for a shell.
     *
     * @param words words of a command line
     * @return the words, each quoted if the shell would change it
     */
    public static String quoted(List<String> words) {
        return words.stream().map(Program::quoted).collect(Collectors.joining(" "));
    }

    /**
     * Quotes a word for a shell.
     *
     * @param word the word
     * @return the word, quoted if the shell would change it
     */
    public static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
