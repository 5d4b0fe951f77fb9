package dev.redlock.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;

/**
 * Parses durations such as {@code 500ms}, {@code 5s}, {@code 2m} and {@code 1h}.
 *
 * @threading immutable
 */
public final class DurationConverter implements CommandLine.ITypeConverter<Duration> {
    private static final Pattern FORM = Pattern.compile("(\\d{1,9})(ms|s|m|h)");

    @Override
    public Duration convert(String text) {
        Matcher matcher = FORM.matcher(text.trim());
        if (!matcher.matches()) {
            throw new CommandLine.TypeConversionException(
                    "'" + text + "' is not a duration: expected a number and a unit, such as 500ms, 5s, 2m or 1h");
        }
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            default -> Duration.ofHours(amount);
        };
    }

    /**
     * The shortest form that reads back as the same.
     *
     * @param duration whole milliseconds
     * @return such as {@code 1500ms} or {@code 2m}
     */
    public static String text(Duration duration) {
        long ms = duration.toMillis();
        if (ms == 0 || ms % 1000 != 0) {
            return ms + "ms";
        }
        if (ms % 3_600_000 == 0) {
            return ms / 3_600_000 + "h";
        }
        return ms % 60_000 == 0 ? ms / 60_000 + "m" : ms / 1000 + "s";
    }
}
