package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The flight recorder in simulated runs: it changes nothing, and its text is a possible story of each lock. */
@Tag("long")
@ExtendWith(QuietLeakDetector.class)
class FlightRecorderSimTest {

    private static final int SEEDS = 8;
    private static final Set<SimPlan.Fault> EXCLUDED = EnumSet.of(SimPlan.Fault.SLOW_TURNS,
            SimPlan.Fault.THROWING_LOG, SimPlan.Fault.NO_MEMORY);
    private static final Set<SimPlan.Fault> LEASES_LOST = EnumSet.of(SimPlan.Fault.CLOCK_RATE,
            SimPlan.Fault.CLOCK_BACK, SimPlan.Fault.CLOCK_FORWARD, SimPlan.Fault.SMALL_STEPS, SimPlan.Fault.CRASH_LOSE,
            SimPlan.Fault.LOSE_KEY, SimPlan.Fault.FLUSH_ALL, SimPlan.Fault.REBOOT_KEEP, SimPlan.Fault.REBOOT_LOSE);
    private static final String NODE = "node-\\d:1";
    private static final String NODES = NODE + "(, " + NODE + ")*";
    private static final String MS = "\\d+\\.\\d{3} ms";
    /** A set of resources is in brackets. */
    private static final String PERMIT = ":redlock:permit:\\{resource-\\d\\}:\\d+";
    private static final String RESOURCES = "resource-\\d(?:" + PERMIT + ")?|\\[resource-\\d(?:, resource-\\d)*\\]";
    private static final Pattern LINE = Pattern.compile(" *(-?\\d+\\.\\d{3}) ms  (?:" + NODE
            + "  [A-Z]+ -> [A-Z]+(?:: .+)?|(a lock whose name is overwritten|a lock without waiters|" + RESOURCES + ")"
            + "(?: #(\\d+))?  (" + String.join("|", "attempt, asks " + NODES, "also asks " + NODES,
                    NODE + " (granted|refused|failed|has an unknown vote)( after " + MS + ")?(: .+)?",
                    "no answer within the node timeout from " + NODES,
                    "acquired( after " + MS + ")?, valid for -?" + MS, "attempt failed( after " + MS + ")?: [A-Z_]+",
                    "not acquired after " + MS + ": [A-Z_]+", "a push of " + NODE + " wakes (the first waiter|nobody)",
                    "no push came: the first waiter tries again", "release starts", NODE + " did not hold the key",
                    NODE + " has not confirmed the release", "release ended( after " + MS + ")?: [A-Z]+",
                    "extension by \\d+ ms starts", "extension ended: [A-Z_]+", NODE + " is no holder any more: .+",
                    "the lease is (LOST|EXPIRED) after " + MS)
            + "))");

    /**
     * Without the faults whose random numbers depend on the recorder. A thread stalls where it reads the clock, which
     * the recorder does too. A log handler throws at some lines, of which a lost lease has one more; its report is a
     * task of its own. Failing allocations depend on earlier runs in this JVM, also without a recorder.
     */
    private static Simulation run(long seed, int events) {
        SimPlan plan = SimPlan.of(seed);
        plan.faults.removeIf(fault -> EXCLUDED.contains(fault) || LEASES_LOST.contains(fault));
        plan.flightRecorderEvents = events;
        return new Simulation(plan).run();
    }

    @Test
    void theRecorderChangesNothing() {
        for (long seed = 1; seed <= SEEDS; seed++) {
            Simulation without = run(seed, 0);
            Simulation with = run(seed, 64);
            assertEquals(without.traceCount(), with.traceCount(), () -> "events of " + without.plan);
            assertEquals(without.traceHash(), with.traceHash(), () -> "trace of " + without.plan);
            assertTrue(without.isClean() && with.isClean(), () -> "clean: " + without.plan);
        }
    }

    @Test
    void theTextIsAPossibleStory() {
        Map<String, Integer> seen = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            Simulation simulation = new Simulation(SimPlan.of(seed)).withFlightRecords().run();
            simulation.flightRecords().forEach(text -> check(simulation.plan, text, seen));
        }
        List.of("attempt, asks", "also asks", "granted", "refused", "failed", "unknown", "acquired", "release ended",
                "extension ended", "wakes the first waiter", "not acquired", "the lease is")
                .forEach(part -> assertTrue(seen.containsKey(part), () -> part + " is not among " + seen));
    }

    /** Every line has a known form, times do not decrease, and no attempt acquires or is released before its start. */
    private static void check(SimPlan plan, String text, Map<String, Integer> seen) {
        List<String> lines = text.lines().toList();
        double lastMs = Double.NEGATIVE_INFINITY;
        Map<String, String> last = new HashMap<>();
        for (String line : lines.subList(1, lines.size())) {
            Matcher matcher = LINE.matcher(line);
            assertTrue(matcher.matches(), () -> plan + ": " + line);
            double ms = Double.parseDouble(matcher.group(1));
            double beforeMs = lastMs;
            assertTrue(ms >= beforeMs, () -> plan + ": before its time: " + line);
            lastMs = ms;
            if (matcher.group(3) != null) {
                onEvent(plan, line, matcher.group(3), matcher.group(4), last);
            }
            List.of("attempt, asks", "also asks", "granted", "refused", "failed", "unknown", "acquired",
                    "release ended", "extension ended", "wakes the first waiter", "not acquired", "the lease is")
                    .stream()
                    .filter(line::contains)
                    .forEach(part -> seen.merge(part, 1, Integer::sum));
        }
    }

    private static void onEvent(SimPlan plan, String line, String number, String event, Map<String, String> last) {
        String before = last.get(number);
        if (event.startsWith("attempt, asks")) {
            assertEquals(null, before, () -> plan + ": not the first event: " + line);
            last.put(number, "started");
        } else if (event.startsWith("acquired") && before != null) {
            assertEquals("started", before, () -> plan + ": " + line);
            last.put(number, "held");
        } else if (event.startsWith("attempt failed") && before != null) {
            assertEquals("started", before, () -> plan + ": " + line);
            last.put(number, "failed");
        } else if (event.startsWith("release starts") && before != null) {
            assertEquals("held", before, () -> plan + ": " + line);
            last.put(number, "releasing");
        } else if (event.startsWith("release ended") && before != null) {
            assertEquals("releasing", before, () -> plan + ": " + line);
            // A kept lock is released at the end of its shortest time.
            last.put(number, event.endsWith(": KEPT") ? "held" : "released");
        } else if (event.startsWith("the lease is") && before != null) {
            assertEquals("held", before, () -> plan + ": " + line);
            last.put(number, "ended");
        }
    }
}
