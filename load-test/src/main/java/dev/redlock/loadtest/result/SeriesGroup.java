package dev.redlock.loadtest.result;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The series that differ in their repetition only: the turns of one driver, node count and load.
 *
 * @param turns the series, in order of measurement; at least one
 * @threading immutable
 */
public record SeriesGroup(SeriesSpec spec, List<SeriesResult> turns) {
    public static List<SeriesGroup> of(List<SeriesResult> series) {
        Map<SeriesSpec, List<SeriesResult>> bySpec = new LinkedHashMap<>();
        series.forEach(one -> bySpec.computeIfAbsent(one.spec().withRepetition(1), spec -> new ArrayList<>()).add(one));
        List<SeriesGroup> groups = new ArrayList<>();
        bySpec.forEach((spec, turns) -> groups.add(new SeriesGroup(spec, turns)));
        return groups;
    }

    /** The turn with the lowest median acquire, which was disturbed least; the first if none acquired a lock. */
    public SeriesResult fastest() {
        return turns.stream()
                .filter(one -> acquireP50Us(one) != null)
                .min(Comparator.comparingDouble(SeriesGroup::acquireP50Us))
                .orElse(turns.get(0));
    }

    /** The median of the acquires over the turns, microseconds; null if no turn acquired a lock. */
    public Spread acquireP50Us() {
        return Spread.of(turns, SeriesGroup::acquireP50Us);
    }

    public Spread cyclesPerSecond() {
        return Spread.of(turns, one -> one.tally().cyclesPerSecond());
    }

    private static Double acquireP50Us(SeriesResult one) {
        OperationResult acquire = one.operations().get(SeriesResult.ACQUIRE);
        return acquire == null || acquire.histogram().getTotalCount() == 0 ? null : acquire.us(50);
    }

    public Verdict verdict() {
        return turns.stream().anyMatch(one -> one.verdict() == Verdict.FAIL) ? Verdict.FAIL : Verdict.PASS;
    }
}
