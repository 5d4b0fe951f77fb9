package dev.redlock.loadtest.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.SeriesGroup;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class AgreementTest {
    private static final String ADVICE = ". The kernel moved the client between cores, or other work disturbed it: "
            + "repeat the run when the machine is idle";

    private final List<SeriesResult> series = new ArrayList<>();

    @Test
    void risingCurveOfAgreeingTurnsIsQuiet() {
        turns(1, 1, 10, 11, 14);
        turns(3, 1, 60, 61, 62);
        turns(5, 1, 70, 70, 70);
        assertEquals(List.of(), Agreement.warnings(series));
    }

    @Test
    void disagreeingTurnsAreListedWithTheirRange() {
        turns(1, 1, 10, 10, 16);
        turns(3, 1, 60, 60, 60);
        turns(1, 64, 80, 130, 80);
        assertEquals(List.of("turns disagree in their acquire p50: redlock, N = 1, 1 in flight: 10.0 to 16.0 us; "
                + "redlock, N = 1, 64 in flight: 80.0 to 130.0 us" + ADVICE), Agreement.warnings(series));
    }

    @Test
    void curveThatFallsOrStaysIsFoundAtEachLoad() {
        turns(1, 1, 50);
        turns(1, 64, 100);
        turns(3, 1, 40);
        turns(3, 64, 100);
        turns(5, 1, 45);
        turns(5, 64, 200);
        assertEquals(List.of(
                "redlock, N = 3, 1 in flight: the acquire p50 is 40.0 us, and not above the 50.0 us on 1 nodes"
                        + ADVICE,
                "redlock, N = 3, 64 in flight: the acquire p50 is 100.0 us, and not above the 100.0 us on 1 nodes"
                        + ADVICE),
                Agreement.warnings(series));
    }

    @Test
    void seriesWithoutLatenciesAreNotCompared() {
        turns(1, 1, 50);
        turns(3, 1, 0, 60);
        turns(5, 1, 0);
        assertEquals(List.of(), Agreement.warnings(series));
    }

    /** A turn in which the client was on another core is not the result of a point. */
    @Test
    void curveIsThatOfTheFastestTurns() {
        turns(1, 1, 55, 16, 55, 56);
        turns(3, 1, 44, 45, 44, 44);
        assertEquals(
                List.of("turns disagree in their acquire p50: redlock, N = 1, 1 in flight: 16.0 to 56.0 us" + ADVICE),
                Agreement.warnings(series));
        assertEquals(2, SeriesGroup.of(series).get(0).fastest().spec().repetition());
    }

    private void turns(int nodes, int inFlight, int... us) {
        for (int i = 0; i < us.length; i++) {
            series.add(one(nodes, inFlight, i + 1, us[i]));
        }
    }

    private static SeriesResult one(int nodes, int inFlight, int repetition, int us) {
        Histogram histogram = new Histogram(5);
        if (us > 0) {
            histogram.recordValue(us * 1000L);
        }
        return new SeriesResult(new SeriesSpec("redlock", nodes, LoopKind.CLOSED, inFlight, 0, repetition),
                new Span(0, 0, 1), new Tally(1, 1, Map.of(), Map.of(), 1, 0),
                Map.of(SeriesResult.ACQUIRE, new OperationResult(histogram, List.of())), ClientCost.UNKNOWN, Map.of(),
                Map.of(), List.of(), List.of(), List.of());
    }
}
