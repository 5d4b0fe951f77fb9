package dev.redlock.loadtest.cli;

import dev.redlock.cli.DurationConverter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine;

/**
 * The delay of each node.
 *
 * @param forAll  of every node that is not named; zero for none
 * @threading immutable
 */
public record NodeDelays(Duration forAll, Map<Integer, Duration> byIndex) {
    private static final Duration MAX = Duration.ofSeconds(10);

    /** Parses texts such as {@code 2ms} and {@code 0=10ms}, at most 10 s; throws IllegalArgumentException. */
    public static NodeDelays parse(List<String> texts) {
        Duration forAll = Duration.ZERO;
        Map<Integer, Duration> byIndex = new TreeMap<>();
        for (String text : texts) {
            int equals = text.indexOf('=');
            Duration delay = duration(text, text.substring(equals + 1));
            if (equals < 0) {
                forAll = delay;
            } else {
                byIndex.put(index(text, text.substring(0, equals)), delay);
            }
        }
        return new NodeDelays(forAll, byIndex);
    }

    private static Duration duration(String text, String time) {
        Duration delay;
        try {
            delay = new DurationConverter().convert(time);
        } catch (CommandLine.TypeConversionException e) {
            throw new IllegalArgumentException("'" + text + "': " + e.getMessage()
                    + "; write TIME for all nodes or NODE=TIME for one", e);
        }
        if (delay.compareTo(MAX) > 0) {
            throw new IllegalArgumentException("'" + text + "': expected at most " + DurationConverter.text(MAX));
        }
        return delay;
    }

    private static int index(String text, String number) {
        if (!number.matches("\\d{1,2}")) {
            throw new IllegalArgumentException(
                    "'" + text + "': expected the number of a node, from 0, before the equals sign");
        }
        return Integer.parseInt(number);
    }

    boolean isNone() {
        return forAll.isZero() && byIndex.values().stream().allMatch(Duration::isZero);
    }

    public Duration of(int index) {
        return byIndex.getOrDefault(index, forAll);
    }

    int indexMax() {
        return byIndex.keySet().stream().mapToInt(Integer::intValue).max().orElse(-1);
    }
}
