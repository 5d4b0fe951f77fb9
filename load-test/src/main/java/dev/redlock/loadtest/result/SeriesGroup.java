package dev.redlock.loadtest.result;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The series that differ in their repetition only: the turns of one driver, node count and load.
 *
 * @param spec  the spec of the first repetition
 * @param turns the series, in order of measurement; at least one
 * @threading immutable
 */
public record SeriesGroup(SeriesSpec spec, List<SeriesResult> turns) {
    /** Copies the list. */
    public SeriesGroup {
        turns = List.copyOf(turns);
    }

    /**
     * Groups series.
     *
     * @param series in order of measurement
     * @return the groups in the order of their first series
     */
    public static List<SeriesGroup> of(List<SeriesResult> series) {
        Map<SeriesSpec, List<SeriesResult>> bySpec = new LinkedHashMap<>();
        series.forEach(one -> bySpec.computeIfAbsent(one.spec().withRepetition(1), spec -> new ArrayList<>()).add(one));
        List<SeriesGroup> groups = new ArrayList<>();
        bySpec.forEach((spec, turns) -> groups.add(new SeriesGroup(spec, turns)));
        return groups;
    }

    /**
     * A percentile of an operation over the turns.
     *
     * @param operation  the operation
     * @param percentile 0 to 100
     * @return microseconds; null if no turn has the operation
     */
    public Spread us(String operation, double percentile) {
        return spread(one -> {
            OperationResult latencies = one.operations().get(operation);
            return latencies == null ? null : latencies.us(percentile);
        });
    }

    /**
     * A figure over the turns.
     *
     * @param figure the figure of one turn; null if it has none
     * @return null if no turn has the figure
     */
    public Spread spread(Function<SeriesResult, Double> figure) {
        return Spread.of(turns, figure);
    }

    /**
     * Whether every turn counts.
     *
     * @return FAIL if one turn failed
     */
    public Verdict verdict() {
        return turns.stream().anyMatch(one -> one.verdict() == Verdict.FAIL) ? Verdict.FAIL : Verdict.PASS;
    }
}
