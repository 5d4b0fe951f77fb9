package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import dev.redlock.loadtest.result.ExclusionCheck;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.MachineClass;
import dev.redlock.loadtest.result.Mark;
import dev.redlock.loadtest.result.ResultJson;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Sample;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import dev.redlock.loadtest.result.Versions;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The page on measuring names every field that the JSON of a run has. */
class ResultFieldsDocTest {
    /** Below these, names come from elsewhere: options, drivers, outcomes, the client's counters, gauges. */
    private static final Set<String> FREE = Set.of("options", "drivers", "acquires", "releases", "counters", "values",
            "operations");

    @Test
    void everyFieldIsOnThePage() throws Exception {
        Set<String> names = new TreeSet<>();
        collect(ResultJson.tree(run()), names);
        assertTrue(names.containsAll(Set.of("jainIndex", "sendDelayP99Us", "curve", "formatVersion")), names::toString);
        String page = DocPages.text("docs/guides/measuring.md");
        assertEquals(List.of(),
                names.stream().filter(name -> !page.matches("(?s).*[`.]" + name + "[`\\[.].*")).toList());
    }

    private static void collect(JsonNode node, Set<String> names) {
        if (node instanceof ObjectNode object) {
            object.properties().forEach(field -> {
                names.add(field.getKey());
                if (field.getKey().equals("operations")) {
                    field.getValue().forEach(operation -> collect(operation, names));
                } else if (!FREE.contains(field.getKey())) {
                    collect(field.getValue(), names);
                }
            });
        } else {
            node.forEach(element -> collect(element, names));
        }
    }

    /** An open loop in which cycles meet has every figure there is. */
    private static RunResult run() throws InterruptedException {
        LoadPlan plan = LoadPlan.open(100, 4).hotShare(0.5).duration(Duration.ofMillis(100));
        LoadResult result = new LoadTestRig(plan, List.of(new Granting())).run((elapsedNs, isMeasuring) -> {
        });
        SeriesSpec spec = new SeriesSpec("model", 1, LoopKind.OPEN, 4, 100, 1);
        SeriesResult series = result.series(spec, Map.of("counted", 1L), List.of(new Sample(0, Map.of("gauge", 1.0))),
                List.of());
        SeriesResult marked = new SeriesResult(spec, series.span(), series.tally(), series.operations(), series.cost(),
                series.figures(), series.counters(), series.samples(), List.of(new Mark(0, "nothing")), List.of());
        return new RunResult("latency", Instant.EPOCH, 1, "java -jar load-test.jar", Map.of(),
                new Versions("0", "17", "4", Map.of(), List.of("redis")), MachineClass.here(), List.of(marked),
                ExclusionCheck.NONE, List.of(), List.of(), List.of());
    }

    /** Grants everything at once. */
    private static final class Granting implements LockSession {
        @Override
        public LockHandle handle(LockSpec spec, LockListener listener) {
            return new LockHandle() {
                @Override
                public void acquire() {
                    listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, spec.ttl().toNanos());
                }

                @Override
                public void release() {
                    listener.onRelease(ReleaseOutcome.RELEASED);
                }
            };
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
