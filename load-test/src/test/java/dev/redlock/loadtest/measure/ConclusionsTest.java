package dev.redlock.loadtest.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.result.ClientCost;
import dev.redlock.loadtest.result.ExclusionCheck;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import dev.redlock.loadtest.result.Versions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The PASS sentences claim only the checks of the run. */
class ConclusionsTest {
    private static final Map<String, Long> ALL_RELEASED = Map.of("RELEASED", 1_990L, "RETAINED", 10L);

    @Test
    void everyCallSucceededOnlyIfNoneFailed() {
        RunResult good = result(Map.of(), Map.of("ACQUIRED", 2_000L, "NO_QUORUM", 0L), ALL_RELEASED);
        assertEquals("PASS: every call succeeded", LabCommand.pass(good, LabCommand.outcome(good, "")).get(0));
        assertEquals("PASS: every call succeeded", new RetainCommand().conclusions(good).get(0));
        RunResult borne = result(Map.of(), Map.of("ACQUIRED", 2_000L, "NO_QUORUM", 3L),
                Map.of("RELEASED", 1_999L, "UNKNOWN", 1L));
        String claim = "PASS: 4 of 4,003 calls failed, as this run allows (acquires NO_QUORUM: 3, releases UNKNOWN: 1)";
        assertEquals(claim, new RetainCommand().conclusions(borne).get(0));
        assertEquals(List.of(claim), new ThroughputCommand().conclusions(borne));
    }

    @Test
    void aRunWithoutACallClaimsNone() {
        assertEquals(List.of("PASS: no call was made"),
                new ThroughputCommand().conclusions(result(Map.of(), Map.of(), Map.of())));
    }

    @Test
    void exclusionIsClaimedOnlyWhereCyclesShareResources() {
        Map<String, Long> acquired = Map.of("ACQUIRED", 2_000L);
        RunResult apart = result(Map.of(), acquired, ALL_RELEASED);
        RunResult shared = result(Map.of("jainIndex", 1.0), acquired, ALL_RELEASED);
        String claim = "PASS: every call succeeded; no two holders overlapped in 2,000 holdings";
        assertEquals(List.of("PASS: every call succeeded"), new ThroughputCommand().conclusions(apart));
        assertEquals(List.of(claim), new ThroughputCommand().conclusions(shared));
        assertEquals("PASS: every call succeeded", new SoakCommand().conclusions(apart).get(1));
        assertEquals(claim, new SoakCommand().conclusions(shared).get(1));
    }

    private static RunResult result(Map<String, Double> figures, Map<String, Long> acquires,
            Map<String, Long> releases) {
        SeriesResult series = new SeriesResult(new SeriesSpec("redlock, idle", 3, LoopKind.CLOSED, 4, 0, 1),
                new Span(0, 0, 1_000), new Tally(2_000, 2_000, acquires, releases, 2_000, 0), Map.of(),
                ClientCost.UNKNOWN, figures, Map.of(), List.of(), List.of(), List.of());
        return new RunResult("throughput", Instant.EPOCH, 1_000, "", Map.of(),
                new Versions("0.1", "17", "4.2", Map.of(), List.of()),
                new MachineClass(2, "a processor", 1L << 30, "Linux", "6.1", "amd64"), List.of(series),
                ExclusionCheck.NONE, List.of(), List.of(), List.of());
    }
}
