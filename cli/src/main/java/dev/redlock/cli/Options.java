package dev.redlock.cli;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/**
 * Functions that option groups share: validation of values, and all values as text.
 *
 * @threading any thread
 */
public final class Options {
    private Options() {
    }

    /**
     * Throws picocli's error, which ends in exit code 2, unless the condition holds.
     *
     * @param line      the command
     * @param isRight   the condition
     * @param otherwise the message: value, rule and fix
     */
    public static void require(CommandLine line, boolean isRight, String otherwise) {
        if (!isRight) {
            throw new CommandLine.ParameterException(line, otherwise);
        }
    }

    /**
     * Validates that a number is in a range.
     *
     * @param line   the command
     * @param option the name of the option, dashes included
     * @param value  the value given
     * @param min    the least valid value
     * @param max    the greatest valid value
     */
    public static void requireRange(CommandLine line, String option, int value, int min, int max) {
        require(line, value >= min && value <= max, option + " is " + value + ": expected " + min + " to " + max);
    }

    /**
     * Validates that no list has an empty element. The parser drops those at the end, so that a list of commas alone
     * would count as none given.
     *
     * @param parsed the command line with its subcommands
     */
    public static void requireWholeLists(ParseResult parsed) {
        for (OptionSpec option : parsed.matchedOptions()) {
            String separator = option.splitRegex();
            for (String text : separator.isEmpty() ? List.<String>of() : option.originalStringValues()) {
                for (String element : text.split(separator, -1)) {
                    require(parsed.commandSpec().commandLine(), !element.isBlank(), option.longestName()
                            + " has an empty element: write values between commas, and none at the end");
                }
            }
        }
        if (parsed.hasSubcommand()) {
            requireWholeLists(parsed.subcommand());
        }
    }

    /** Converts the exception of a parser to picocli's error. */
    public static void requireParsed(CommandLine line, String option, Runnable parsing) {
        try {
            parsing.run();
        } catch (IllegalArgumentException e) {
            throw new CommandLine.ParameterException(line, option + ": " + e.getMessage());
        }
    }

    /** These values distinguish the series. */
    public static void requireDistinct(CommandLine line, String option, List<?> values) {
        require(line, values.stream().distinct().count() == values.size(), option + " names one twice: "
                + text(values) + "; name each once, and measure again with --repetitions");
    }

    public static void requireAtLeast(CommandLine line, String option, Duration value, Duration min) {
        require(line, value.compareTo(min) >= 0, option + " is " + DurationConverter.text(value)
                + ": expected at least " + DurationConverter.text(min));
    }

    static void requireAtMost(CommandLine line, String option, Duration value, Duration max) {
        require(line, value.compareTo(max) <= 0, option + " is " + DurationConverter.text(value)
                + ": expected at most " + DurationConverter.text(max));
    }

    /**
     * A value as it is typed.
     *
     * @param value of an option
     * @return the text
     */
    public static String text(Object value) {
        if (value instanceof Duration duration) {
            return DurationConverter.text(duration);
        }
        if (value instanceof Enum<?> constant) {
            return constant.name().toLowerCase(Locale.ROOT);
        }
        return value instanceof List<?> values
                ? values.stream().map(Options::text).collect(Collectors.joining(","))
                : value.toString();
    }
}
