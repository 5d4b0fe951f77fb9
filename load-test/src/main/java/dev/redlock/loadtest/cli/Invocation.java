package dev.redlock.loadtest.cli;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The command line of this program as text that a shell takes, to print advice and to record a run.
 *
 * @threading any thread
 */
public final class Invocation {
    private static final String BUILT_JAR = "load-test/target/load-test.jar";
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_@%+=:,./-]+");

    private Invocation() {
    }

    /**
     * The words that start this program.
     *
     * @return {@code java -jar}, and the jar as the user named it; if the program runs from classes, the jar of a build
     */
    public static String program() {
        return program(System.getProperty("java.class.path"), location());
    }

    static String program(String classPath, Path location) {
        boolean isJar = classPath.endsWith(".jar") && Path.of(classPath).toAbsolutePath().normalize().equals(location);
        return "java -jar " + quoted(isJar ? classPath : BUILT_JAR);
    }

    private static Path location() {
        try {
            return Path.of(Invocation.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the location of this program is not a URI", e);
        }
    }

    /**
     * The line that runs a command with the options that were given to it. Passwords are left out.
     *
     * @param line the command, parsed
     * @return the line
     */
    public static String of(CommandLine line) {
        List<String> words = new ArrayList<>(List.of(program(), line.getCommandName()));
        for (OptionSpec option : line.getParseResult().matchedOptions()) {
            words.add(option.longestName());
            if (option.arity().max() > 0) {
                words.add(quoted(Options.asText(option)));
            }
        }
        return String.join(" ", words);
    }

    /**
     * The line that prints the help of a command.
     *
     * @param line the command; the program itself if it has no parent
     * @return the line
     */
    static String help(CommandLine line) {
        return program() + commandOf(line) + " --help";
    }

    /** The names of a command and of those above it; empty for the program. */
    private static String commandOf(CommandLine line) {
        return line.getParent() == null ? "" : commandOf(line.getParent()) + " " + line.getCommandName();
    }

    /**
     * Quotes words for a shell.
     *
     * @param words words of a command line
     * @return the words, each quoted if the shell would change it
     */
    public static String quoted(List<String> words) {
        return words.stream().map(Invocation::quoted).collect(Collectors.joining(" "));
    }

    private static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
