package dev.redlock.loadtest.result;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/**
 * Several readings of one figure.
 *
 * @param median the middle one, or the mean of the two in the middle
 * @threading immutable
 */
public record Spread(double median, double min, double max) {
    /** The spread of a figure over repetitions; null if none of them has it. */
    public static <T> Spread of(List<T> repetitions, Function<T, Double> figure) {
        List<Double> sorted = repetitions.stream().map(figure).filter(Objects::nonNull).sorted().toList();
        if (sorted.isEmpty()) {
            return null;
        }
        int middle = sorted.size() / 2;
        double median = sorted.size() % 2 == 1
                ? sorted.get(middle)
                : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
        return new Spread(median, sorted.get(0), sorted.get(sorted.size() - 1));
    }
}
