package dev.redlock.loadtest;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;

/**
 * Reads {@code 500ms}, {@code 5s}, {@code 2m}, {@code 1h}.
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
}
