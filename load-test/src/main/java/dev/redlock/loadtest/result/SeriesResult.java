package dev.redlock.loadtest.result;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * The results of one series.
 *
 * @param operations latencies by operation: {@link #ACQUIRE}, {@link #RELEASE}, {@link #CYCLE}, and where a command
 *                   measures more, more
 * @param figures    further figures by name, which ends in the unit if there is one
 * @param counters   the client's own counters at the end, by name
 * @param failures   why this series does not count; empty if it passed
 * @threading immutable
 */
public record SeriesResult(SeriesSpec spec, Span span, Tally tally, Map<String, OperationResult> operations,
        ClientCost cost, Map<String, Double> figures, Map<String, Long> counters, List<Sample> samples,
        List<Mark> marks, List<String> failures) implements Serializable {
    /** From the call (or intended time) to the lock; acquired only. */
    public static final String ACQUIRE = "acquire";
    /** From the call to its outcome. */
    public static final String RELEASE = "release";
    /** From the acquire's call (or intended time) to the release's outcome. */
    public static final String CYCLE = "cycle";

    /** Whether its cycles shared resources, so that two holders could overlap. */
    public boolean sharesResources() {
        return figures.containsKey("jainIndex");
    }

    /** The same series with other figures and another cost. */
    public SeriesResult with(Map<String, Double> otherFigures, ClientCost otherCost) {
        return new SeriesResult(spec, span, tally, operations, otherCost, otherFigures, counters, samples, marks,
                failures);
    }

    public Verdict verdict() {
        return failures.isEmpty() ? Verdict.PASS : Verdict.FAIL;
    }
}
