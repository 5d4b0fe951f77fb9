package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.RestartGuardMode;
import dev.redlock.sim.SimPlan.Fault;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Seeds 1 to 500 of the simulator, and proof that its checks can fail. */
class SimulationTest {

    private static final int SEEDS = Integer.getInteger("sim.seeds", 500);
    private static final int SEEDS_OF_A_PROOF = 15;
    private static ResourceLeakDetector.Level level;

    /** Paranoid leak records take more time than the runs; leaks are looked for by the other tests. */
    @BeforeAll
    static void quietLeakDetector() {
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }

    @AfterAll
    static void restoreLeakDetector() {
        ResourceLeakDetector.setLevel(level);
    }

    @Test
    void everySeedRunsClean() {
        final List<String> failures = new ArrayList<>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            final Simulation simulation = new Simulation(SimPlan.of(seed)).run();
            if (!simulation.isClean()) {
                failures.add(simulation.plan + "\n  " + String.join("\n  ", simulation.violations()));
            }
        }
        assertTrue(failures.isEmpty(), () -> failures.size() + " of " + SEEDS + " seeds failed; replay one with"
                + " -Dsim.seed and SimulationMain\n" + String.join("\n", failures));
    }

    @Test
    void oneSeedReplaysARunExactly() {
        for (final long seed : new long[]{7, 42, 1234}) {
            final Simulation first = new Simulation(SimPlan.of(seed)).run();
            final Simulation second = new Simulation(SimPlan.of(seed)).run();
            assertTrue(first.traceCount() > 100, () -> "a run has events: " + first.plan);
            assertEquals(first.traceCount(), second.traceCount(), () -> "number of events of " + first.plan);
            assertEquals(first.traceHash(), second.traceHash(), () -> "trace of " + first.plan);
        }
        assertNotEquals(new Simulation(SimPlan.of(7)).run().traceHash(),
                new Simulation(SimPlan.of(8)).run().traceHash(),
                "another seed is another run");
    }

    /** Else hours of random seeds, or many clients one after the other on one loop, would run out of memory. */
    @Test
    void nothingOfARunIsKept() {
        final List<WeakReference<Simulation>> runs = new ArrayList<>();
        for (int seed = 1; seed <= 5; seed++) {
            runs.add(new WeakReference<>(new Simulation(SimPlan.of(seed)).run()));
        }
        for (int i = 0; i < 20 && runs.stream().anyMatch(run -> run.get() != null); i++) {
            System.gc();
        }
        assertEquals(0, runs.stream().filter(run -> run.get() != null).count(), "runs that something still refers to");
    }

    /** A client that is killed gives no buffer back, and a run kills many. */
    @Test
    void noDirectMemoryOfARunIsKept() {
        final long before = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
        for (int seed = 1; seed <= 3; seed++) {
            final SimPlan plan = SimPlan.only(seed, Fault.KILL_CLIENT, Fault.PAUSE_CLIENT, Fault.BREAK);
            plan.faultPeriodMs = 100;
            new Simulation(plan).run();
        }
        assertEquals(before, PooledByteBufAllocator.DEFAULT.pinnedDirectMemory(), "bytes in use");
    }

    @Test
    void withoutRestartGuardNodesThatLoseTheirDataLetTwoIn() {
        final Consumer<SimPlan> frequent = plan -> plan.faultPeriodMs = 200;
        assertEquals(0, overlaps(frequent, Fault.CRASH_LOSE), "with the guard");
        assertTrue(overlaps(frequent.andThen(plan -> plan.guard = RestartGuardMode.OFF), Fault.CRASH_LOSE) > 0,
                "without the guard the known violation has to appear");
    }

    @Test
    void withoutClockWatchNodesWhoseClocksJumpLetTwoIn() {
        final Consumer<SimPlan> usual = plan -> {
        };
        assertEquals(0, overlaps(usual, Fault.CLOCK_FORWARD), "with the watch, once it can know");
        assertEquals(0, overlaps(usual.andThen(plan -> plan.isFenced = true), Fault.CLOCK_FORWARD), "fenced too");
        assertTrue(overlaps(usual.andThen(plan -> plan.clockSampleMs = 0), Fault.CLOCK_FORWARD) > 0,
                "without the watch the known violation has to appear");
    }

    /** The guard is off, since nodes keep their data; the watch sees that it has expired. */
    @Test
    void machinesThatComeBackWithAnotherTimeLetNobodyIn() {
        final Consumer<SimPlan> unguarded = plan -> {
            plan.guard = RestartGuardMode.OFF;
            plan.faultPeriodMs = 2_000;
        };
        assertEquals(0, overlaps(unguarded, Fault.REBOOT_KEEP), "with the watch");
        assertTrue(overlaps(unguarded.andThen(plan -> plan.clockSampleMs = 0), Fault.REBOOT_KEEP) > 0,
                "without the watch the known violation has to appear");
    }

    @Test
    void machinesThatSetTheirClocksAfterTheStartLetNobodyIn() {
        final Consumer<SimPlan> seldom = plan -> plan.faultPeriodMs = 2_000;
        assertEquals(0, overlaps(seldom, Fault.REBOOT_LOSE), "with the guard, although uptimes are wrong");
        assertTrue(overlaps(seldom.andThen(plan -> plan.guard = RestartGuardMode.OFF), Fault.REBOOT_LOSE) > 0,
                "without the guard the known violation has to appear");
    }

    @Test
    void aHolderWhoIgnoresValidityMeetsTheNextOne() {
        final Consumer<SimPlan> slow = plan -> {
            plan.delayUsMax = 40_000;
            plan.isExtending = false;
        };
        assertEquals(0, overlaps(slow, Fault.SLOW), "a holder who relies on validity only");
        assertTrue(overlaps(slow.andThen(plan -> plan.isValidityIgnored = true), Fault.SLOW) > 0,
                "a holder who relies on the whole ttl has to meet the next one");
    }

    /** Nothing that breaks mutual exclusion touches the numbers, as long as counters stay. */
    @Test
    void fencingTokensOutliveWhatMutualExclusionDoesNot() {
        final Fault[] faults = {Fault.CLOCK_FORWARD, Fault.CLOCK_BACK, Fault.CLOCK_RATE, Fault.CRASH_KEEP,
            Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.BREAK, Fault.LOSE_REPLIES, Fault.SLOW};
        final Consumer<SimPlan> unguarded = plan -> {
            plan.guard = RestartGuardMode.OFF;
            plan.clockSampleMs = 0;
            plan.isFenced = true;
            plan.isOverlapExpected = true;
            plan.workMs = 8_000;
        };
        assertTrue(violations("two hold", unguarded, faults) > 0, "two hold at once, or the test would show nothing");
        assertEquals(0, violations("got fencing token", unguarded, faults),
                "and their numbers are unique and increasing");
    }

    @Test
    void countersMayBeLostWhileTheClockIsPastEveryNumber() {
        final Consumer<SimPlan> fenced = plan -> {
            plan.isFenced = true;
            plan.isOverlapExpected = true;
            plan.workMs = 8_000;
        };
        final Fault[] faults = {Fault.LOSE_COUNTERS, Fault.CRASH_KEEP, Fault.PAUSE_CLIENT, Fault.CLOCK_RATE};
        assertEquals(0, violations("got fencing token", fenced, faults), "the condition of the documentation holds");
        final Consumer<SimPlan> careless = fenced.andThen(plan -> {
            plan.isCounterLossSafe = false;
            plan.faultPeriodMs = 100;
            plan.guard = RestartGuardMode.OFF;
            plan.clockSampleMs = 0;
        });
        assertTrue(violations("got fencing token", careless, Fault.LOSE_COUNTERS, Fault.CLOCK_BACK) > 0,
                "clocks that are set back, and counters that are lost all the same: numbers come again");
        assertTrue(violations("got fencing token", careless, Fault.LOSE_COUNTERS) > 0,
                "counters that are lost in the second in which they were seeded: numbers come again");
    }

    private static long overlaps(final Consumer<SimPlan> change, final Fault... faults) {
        return violations("two hold", change, faults);
    }

    private static long violations(final String kind, final Consumer<SimPlan> change, final Fault... faults) {
        long found = 0;
        for (int seed = 1; seed <= SEEDS_OF_A_PROOF; seed++) {
            final SimPlan plan = SimPlan.only(seed, faults);
            change.accept(plan);
            found += new Simulation(plan).run().violations().stream().filter(v -> v.contains(kind)).count();
        }
        return found;
    }
}
