package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.chaos.SectionRecord.Kind;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.Mark;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the records say over time, beside the faults. */
class ChaosSeriesTest {
    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long ZERO_NS = 77 * MS;
    private static final SeriesSpec SPEC = new SeriesSpec("redlock", 5, LoopKind.CLOSED, 9, 0, 1);

    private final List<SectionRecord> records = new ArrayList<>();
    private final FaultLog faults = new FaultLog(ZERO_NS);
    private final WorkerTally tally = new WorkerTally();

    @Test
    void sectionsRefusalsAndFaultsFallIntoTheirIntervals() {
        enterAt(999, 1);
        enterAt(1000, 2000);
        enterAt(1199, 4000);
        enterAt(1450, 6000);
        refuseAt(1450);
        enterAt(1500, 1);
        ChaosStep step = new ChaosStep(0, Fault.KILL, List.of(2), 150, 300, 0);
        faults.begins(step, ZERO_NS + 1100 * MS);
        faults.ends(step, ZERO_NS + 1250 * MS);
        SeriesResult result = result();
        assertEquals(List.of(1000L, 1200L, 1400L), starts(result));
        assertEquals(List.of(2L, 0L, 1L),
                result.operations().get("acquire").intervals().stream().map(Interval::count).toList());
        assertEquals(4.0, result.operations().get("acquire").intervals().get(0).maxUs() / 1e3, 0.01);
        assertEquals(3, result.tally().cycles());
        assertEquals(6.0, result.tally().cyclesPerSecond(), 1e-9);
        assertEquals(Map.of("sectionsPerSecond", 10.0, "refusedPerSecond", 0.0, "faultsInForce", 1.0),
                result.samples().get(0).values());
        assertEquals(1.0, result.samples().get(1).values().get("faultsInForce"));
        assertEquals(Map.of("sectionsPerSecond", 10.0, "refusedPerSecond", 10.0, "faultsInForce", 0.0),
                result.samples().get(2).values(), "an interval of 100 ms");
        assertEquals(List.of(new Mark(1100, 150, "node 2: kill -9 for 150 ms, then started again with its data")),
                result.marks());
    }

    @Test
    void faultCutShortEndsAtItsHealing() {
        faults.begins(new ChaosStep(0, Fault.PAUSE, List.of(1), 900, 900, 0), ZERO_NS + 1100 * MS);
        faults.healed(ZERO_NS + 1300 * MS);
        assertEquals(List.of(new Mark(1100, 200, "node 1: SIGSTOP for 900 ms, cut short")), result().marks());
    }

    @Test
    void releaseOutcomesAreSeparatedFromOtherCounts() {
        tally.count("release RELEASED", 7);
        tally.count("release debt paid", 3);
        assertEquals(Map.of("RELEASED", 7L), result().tally().releases());
        assertEquals(Map.of("release debt paid", 3L), result().counters());
    }

    @Test
    void theTimeOfAnAcquireIsInItsRecord() {
        SectionRecord written = new SectionRecord(Kind.ENTER, 1, 2, 3, 4, 5, 6, 7);
        ByteBuffer bytes = ByteBuffer.allocate(SectionRecord.BYTES);
        written.write(bytes);
        assertEquals(written, SectionRecord.read(bytes.flip()));
    }

    private void enterAt(long ms, int acquireUs) {
        records.add(new SectionRecord(Kind.ENTER, 1, 0, records.size(), ZERO_NS + ms * MS, ZERO_NS + ms * MS + 1, 0,
                acquireUs));
    }

    private void refuseAt(long ms) {
        records.add(new SectionRecord(Kind.REFUSED, 1, 0, 0, ZERO_NS + ms * MS, 0, 0));
    }

    private SeriesResult result() {
        long fromNs = ZERO_NS + 1000 * MS;
        long toNs = ZERO_NS + 1500 * MS;
        return new ChaosSeries(records, faults, fromNs, toNs).result(SPEC,
                SectionAudit.of(records, fromNs, toNs, new ClockSteps()),
                tally,
                IntervalLog.NONE);
    }

    private static List<Long> starts(SeriesResult result) {
        return result.operations().get("acquire").intervals().stream().map(Interval::offsetMs).toList();
    }
}
