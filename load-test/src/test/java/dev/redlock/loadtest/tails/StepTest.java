package dev.redlock.loadtest.tails;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.rig.SlowCycles.Slow;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class StepTest {
    private static final long MS = 1_000_000;

    private static Slow slow(long fromMs, long toMs) {
        return new Slow(fromMs * MS, fromMs * MS, toMs * MS);
    }

    @Test
    void noSlowCycleIsNoStep() {
        assertEquals(List.of(), Step.of(List.of()));
    }

    @Test
    void overlappingCyclesAreOneStepOfTheSlowest() {
        assertEquals(List.of(new Step(slow(0, 9), 3), new Step(slow(20, 22), 1)),
                Step.of(List.of(slow(20, 22), slow(4, 7), slow(0, 9), slow(8, 12))));
    }

    @Test
    void cyclesOverlapThroughOthersBetweenThem() {
        assertEquals(List.of(new Step(slow(0, 5), 3)), Step.of(List.of(slow(0, 5), slow(4, 8), slow(7, 11))));
        assertEquals(List.of(new Step(slow(0, 10), 3)), Step.of(List.of(slow(0, 10), slow(1, 2), slow(9, 12))));
    }

    /** A fast cycle is 1 us of the 5 ms: only the other 4,999 us are to be explained. */
    @Test
    void theDelayIsWhatTheSlowestTookBeyondTheMedian() {
        Histogram cycles = new Histogram(5);
        cycles.recordValueWithCount(1_000, 3);
        cycles.recordValueWithCount(5 * MS, 2);
        assertEquals(5 * MS - 1_000, new Step(slow(0, 5), 1).delayNs(cycles));
    }

    @Test
    void stepsJoinAcrossTheOverflowOfTheClock() {
        Slow before = new Slow(Long.MAX_VALUE - MS, Long.MAX_VALUE - MS, Long.MIN_VALUE + MS);
        assertEquals(2 * MS + 1, before.latencyNs());
        assertEquals(List.of(new Step(before, 1)), Step.of(List.of(before)));
    }

    @Test
    void theFirstCauseWithHalfOfTheLatencyExplainsIt() {
        assertEquals(Cause.COLLECTOR, Cause.of(Map.of(Cause.RIG_LATE, 9 * MS, Cause.COLLECTOR, 5 * MS), 10 * MS));
        assertEquals(Cause.RIG_LATE, Cause.of(Map.of(Cause.RIG_LATE, 9 * MS, Cause.COLLECTOR, 4 * MS), 10 * MS));
        assertEquals(Cause.SERVER_CORE,
                Cause.of(Map.of(Cause.SERVER_BUSY, 9 * MS, Cause.SERVER_CORE, 5 * MS), 10 * MS));
        assertEquals(Cause.UNKNOWN, Cause.of(Map.of(Cause.CLIENT_BUSY, 4 * MS, Cause.CLIENT_CORE, 4 * MS), 10 * MS));
        assertEquals(Cause.UNKNOWN, Cause.of(Map.of(), MS));
    }
}
