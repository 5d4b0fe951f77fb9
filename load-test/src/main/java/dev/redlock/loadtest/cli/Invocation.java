package dev.redlock.loadtest.cli;

import dev.redlock.cli.Options;
import dev.redlock.cli.Program;
import dev.redlock.cli.SentinelQuestion;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The command line of this program as text that a shell takes, to print advice and to record a run.
 *
 * @threading any thread
 */
public final class Invocation {
    public static final Program PROGRAM = new Program("load-test", "load-test/target/load-test.jar");

    private static final String ADDRESSES = "--addresses";

    /** The line that runs a command with the options that were given to it. Passwords are left out. */
    public static String of(CommandLine line) {
        List<String> words = new ArrayList<>(List.of(PROGRAM.start(), line.getCommandName()));
        for (OptionSpec option : line.getParseResult().matchedOptions()) {
            words.add(option.longestName());
            if (option.arity().max() > 0) {
                words.add(Program.quoted(asText(option)));
            }
        }
        return String.join(" ", words);
    }

    /** The given options as arguments of another process, without the excluded ones. */
    public static List<String> arguments(CommandLine line, Set<String> excluded) {
        List<String> arguments = new ArrayList<>();
        for (OptionSpec option : line.getParseResult().matchedOptions()) {
            String name = option.longestName();
            if (option.arity().max() == 0 && !excluded.contains(name)) {
                arguments.add(name);
            } else if (!excluded.contains(name)) {
                option.originalStringValues().forEach(value -> arguments.add(name + "=" + value));
            }
        }
        return arguments;
    }

    /** Every option by its name without dashes, and defaults; without passwords, hidden options, help and version. */
    public static Map<String, String> asText(CommandLine line) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (OptionSpec option : line.getCommandSpec().options()) {
            boolean isOut = option.usageHelp() || option.versionHelp() || option.hidden();
            if (!isOut && option.getValue() != null) {
                texts.put(option.longestName().substring(2), asText(option));
            }
        }
        return texts;
    }

    /** The value of an option as it is typed, without passwords. */
    private static String asText(OptionSpec option) {
        return option.longestName().equals(ADDRESSES) ? places(option.getValue()) : Options.text(option.getValue());
    }

    private static String places(Collection<String> addresses) {
        return SentinelQuestion.joined(List.copyOf(addresses))
                .stream()
                .map(text -> SentinelQuestion.parse(text).toString())
                .collect(Collectors.joining(","));
    }
}
