package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SimPlan.Fault;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Seeds 1 to 40 of the simulator, and proof that its checks can fail. */
@ExtendWith(QuietLeakDetector.class)
class SimulationTest {

    private static final int SEEDS = Integer.getInteger("sim.seeds", 40);
    /** A proof that a check can fail ends at the first violation. */
    private static final int SEEDS_OF_A_PROOF = 15;

    /** For each rule whose faults are chosen. */
    private static final int SEEDS_OF_A_RULE = Math.max(1, Math.min(SEEDS / 20, SEEDS_OF_A_PROOF));

    @Test
    void everySeedRunsClean() {
        int batches = runClean(LongStream.rangeClosed(1, SEEDS).toArray());
        assertTrue(batches > SEEDS, "batches of extensions: " + batches);
    }

    /** Clients that retain their locks, with all faults. One seed in five has a lock that is retained. */
    @Test
    void everySeedWithRetainedLocksRunsClean() {
        int retained = 0;
        for (long seed = 1; seed <= Math.max(20, SEEDS / 2); seed++) {
            Simulation simulation = new Simulation(SimPlan.retaining(seed)).run();
            assertTrue(simulation.isClean(), simulation::report);
            retained += simulation.counts().getOrDefault("RELEASE_RETAINED", 0);
        }
        assertTrue(retained > 0, "some locks are retained");
    }

    /** Up to 64 clients want one lock, or two: nobody sleeps beside a free one, or is passed again and again. */
    @Test
    void everySeedOfACrowdRunsClean() {
        for (long seed = 1; seed <= Math.max(4, SEEDS / 8); seed++) {
            Simulation simulation = new Simulation(SimPlan.crowding(seed)).run();
            assertTrue(simulation.isClean(), simulation::report);
        }
    }

    /** Clients whose machines are suspended. */
    @Test
    void everySeedWithSuspendedClientsRunsClean() {
        int suspended = 0;
        for (long seed = 1; seed <= Math.max(4, SEEDS / 4); seed++) {
            Simulation simulation = new Simulation(SimPlan.suspending(seed)).run();
            assertTrue(simulation.isClean(), simulation::report);
            suspended += simulation.counts().getOrDefault("SUSPENDED", 0);
        }
        assertTrue(suspended > 0, "some are suspended");
    }

    /** Nodes that fail over, above all single ones. */
    @Test
    void everySeedWithPromotionsRunsClean() {
        int promoted = 0;
        for (long seed = 1; seed <= Math.max(4, SEEDS / 4); seed++) {
            Simulation simulation = new Simulation(SimPlan.promoting(seed)).run();
            assertTrue(simulation.isClean(), simulation::report);
            promoted += simulation.counts().getOrDefault("PROMOTED", 0);
        }
        assertTrue(promoted > 0, "some are promoted");
    }

    @Test
    @Tag("long")
    void everyKeptSeedRunsClean() throws IOException {
        runClean(SimCorpus.read().stream().mapToLong(seed -> seed).toArray());
    }

    /** Returns how many batches of extensions the nodes have executed. */
    private static int runClean(long... seeds) {
        int batches = 0;
        List<String> failures = new ArrayList<>();
        for (long seed : seeds) {
            Simulation simulation = new Simulation(SimPlan.of(seed)).run();
            if (!simulation.isClean()) {
                failures.add(simulation.plan + "\n  " + String.join("\n  ", simulation.violations()));
            }
            batches += simulation.world.nodes()
                    .stream()
                    .mapToInt(node -> node.redis().commandCount("extend_many"))
                    .sum();
        }
        assertTrue(failures.isEmpty(), () -> failures.size() + " of " + seeds.length + " seeds failed; replay one with"
                + " -Dsim.seed and SimulationMain\n" + String.join("\n", failures));
        return batches;
    }

    @Test
    void aSeedReplaysARunExactly() {
        for (long seed : new long[]{7, 42, 1234}) {
            Simulation first = new Simulation(SimPlan.of(seed)).run();
            Simulation second = new Simulation(SimPlan.of(seed)).run();
            assertTrue(first.traceCount() > 100, () -> "a run has events: " + first.plan);
            assertEquals(first.traceCount(), second.traceCount(), () -> "number of events of " + first.plan);
            assertEquals(first.traceHash(), second.traceHash(), () -> "trace of " + first.plan);
        }
        assertNotEquals(new Simulation(SimPlan.of(7)).run().traceHash(),
                new Simulation(SimPlan.of(8)).run().traceHash(),
                "another seed is another run");
    }

    /** Otherwise hours of random seeds, or many clients on one loop, would run out of memory. */
    @Test
    void aRunLeavesNoObjects() {
        List<WeakReference<Simulation>> runs = new ArrayList<>();
        for (int seed = 1; seed <= 5; seed++) {
            runs.add(new WeakReference<>(new Simulation(SimPlan.of(seed)).run()));
        }
        for (int i = 0; i < 20 && runs.stream().anyMatch(run -> run.get() != null); i++) {
            System.gc();
        }
        assertEquals(0, runs.stream().filter(run -> run.get() != null).count(), "runs that are still reachable");
    }

    /** A killed client frees no buffer, and a run kills many. */
    @Test
    void aRunLeavesNoDirectMemory() {
        long before = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
        for (int seed = 1; seed <= 3; seed++) {
            SimPlan plan = SimPlan.only(seed, Fault.KILL_CLIENT, Fault.PAUSE_CLIENT, Fault.BREAK);
            plan.faultPeriodMs = 100;
            new Simulation(plan).run();
        }
        assertEquals(before, PooledByteBufAllocator.DEFAULT.pinnedDirectMemory(), "bytes in use");
    }

    @Test
    void withoutRestartGuardDataLossCausesTwoHolders() {
        Consumer<SimPlan> frequent = plan -> plan.faultPeriodMs = 200;
        assertEquals(0, overlaps(frequent, Fault.CRASH_LOSE), "with the guard");
        assertTrue(isOverlapFound(frequent.andThen(plan -> plan.guard = RestartGuardMode.OFF), Fault.CRASH_LOSE),
                "without the guard the known violation has to appear");
    }

    /** Fresh nodes lose their keys while clients come and go, and while uptimes are wrong. */
    @Test
    void freshGroupsThatLoseDataCauseNoViolation() {
        Consumer<SimPlan> fresh = plan -> {
            plan.faultPeriodMs = 200;
            plan.guard = RestartGuardMode.FRESH_GROUP;
            plan.isFreshAtStart = true;
        };
        Fault[] losses = {Fault.CRASH_LOSE, Fault.KILL_CLIENT, Fault.BREAK};
        assertEquals(0, overlaps(fresh, losses), "with the guard");
        assertEquals(0, overlaps(fresh, Fault.REBOOT_LOSE, Fault.KILL_CLIENT), "with wrong uptimes");
        assertTrue(isOverlapFound(fresh.andThen(plan -> plan.guard = RestartGuardMode.OFF), losses),
                "without the guard the known violation has to appear");
        // So seldom that new clients meet one restarted node at a time.
        Consumer<SimPlan> seldom = fresh.andThen(plan -> {
            plan.faultPeriodMs = 2_500;
            plan.workMs = 60_000;
        });
        assertEquals(0, overlaps(seldom, Fault.CRASH_LOSE, Fault.KILL_CLIENT, Fault.CUT), "one loss at a time");
    }

    /** Each attempt asks other nodes, extensions reach more, and restarted nodes forget what they have granted. */
    @Test
    void thriftyClientsCauseNoViolation() {
        Consumer<SimPlan> thrifty = plan -> {
            plan.nodeCount = plan.seed % 2 == 0 ? 3 : 5;
            plan.thriftyClients = plan.seed % 4 == 0 ? 0b1010_1010 : 0b1111_1111;
            plan.faultPeriodMs = 200;
            plan.extendTenths = 8;
        };
        Fault[] faults = {Fault.CRASH_LOSE, Fault.BREAK, Fault.LOSE_REPLIES, Fault.PAUSE_NODE};
        assertNoViolation("", thrifty, faults);
        assertNoViolation("", thrifty.andThen(plan -> plan.isFenced = true), faults);
        assertTrue(isOverlapFound(thrifty.andThen(plan -> plan.guard = RestartGuardMode.OFF), faults),
                "without the guard the known violation has to appear");
    }

    @Test
    void lostKeysCauseOnlyExplainedOverlapsOfThriftyClients() {
        Consumer<SimPlan> thrifty = plan -> {
            plan.nodeCount = 5;
            plan.thriftyClients = 0b1111_1111;
            plan.faultPeriodMs = 100;
        };
        assertNoViolation("", thrifty, Fault.LOSE_KEY, Fault.FLUSH_ALL);
    }

    @Test
    void withoutClockWatchClockJumpsCauseTwoHolders() {
        Consumer<SimPlan> usual = plan -> {
        };
        assertEquals(0, overlaps(usual, Fault.CLOCK_FORWARD), "with the watch, after the first sample");
        assertEquals(0, overlaps(usual.andThen(plan -> plan.isFenced = true), Fault.CLOCK_FORWARD), "fenced too");
        assertTrue(isOverlapFound(usual.andThen(plan -> plan.clockSampleMs = 0), Fault.CLOCK_FORWARD),
                "without the watch the known violation has to appear");
    }

    /** The restart guard is off, because nodes keep their data; the clock watch detects that keys have expired. */
    @Test
    void machinesThatRebootWithAnotherTimeCauseNoViolation() {
        Consumer<SimPlan> unguarded = plan -> {
            plan.guard = RestartGuardMode.OFF;
            plan.faultPeriodMs = 2_000;
        };
        assertEquals(0, overlaps(unguarded, Fault.REBOOT_KEEP), "with the watch");
        assertTrue(isOverlapFound(unguarded.andThen(plan -> plan.clockSampleMs = 0), Fault.REBOOT_KEEP),
                "without the watch the known violation has to appear");
    }

    @Test
    void machinesThatSetTheirClocksAfterTheStartCauseNoViolation() {
        Consumer<SimPlan> seldom = plan -> plan.faultPeriodMs = 2_000;
        assertEquals(0, overlaps(seldom, Fault.REBOOT_LOSE), "with the guard, although uptimes are wrong");
        assertTrue(isOverlapFound(seldom.andThen(plan -> plan.guard = RestartGuardMode.OFF), Fault.REBOOT_LOSE),
                "without the guard the known violation has to appear");
    }

    @Test
    void ignoringValidityCausesTwoHolders() {
        Consumer<SimPlan> slow = plan -> {
            plan.delayUsMax = 40_000;
            plan.isExtending = false;
        };
        assertEquals(0, overlaps(slow, Fault.SLOW), "a holder that relies on the validity");
        assertTrue(isOverlapFound(slow.andThen(plan -> plan.isValidityIgnored = true), Fault.SLOW),
                "a holder that relies on the whole ttl has to overlap with the next one");
    }

    /** Faults that break mutual exclusion do not affect fencing tokens, as long as counters stay. */
    @Test
    void fencingTokensGrowEvenWithTwoHolders() {
        Fault[] faults = {Fault.CLOCK_FORWARD, Fault.CLOCK_BACK, Fault.CLOCK_RATE, Fault.CRASH_KEEP,
            Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.BREAK, Fault.LOSE_REPLIES, Fault.SLOW};
        Consumer<SimPlan> unguarded = plan -> {
            plan.guard = RestartGuardMode.OFF;
            plan.clockSampleMs = 0;
            plan.isFenced = true;
            plan.isOverlapExpected = true;
            plan.workMs = 8_000;
        };
        assertTrue(isFound("two hold", unguarded, faults), "precondition: two holders");
        assertEquals(0, violations("got fencing token", unguarded, faults),
                "and their numbers are unique and increasing");
    }

    @Test
    void lostCountersAreSafeWhileTheClockSeedIsAheadOfThem() {
        Consumer<SimPlan> fenced = plan -> {
            plan.isFenced = true;
            plan.isOverlapExpected = true;
            plan.workMs = 8_000;
        };
        Fault[] faults = {Fault.LOSE_COUNTERS, Fault.CRASH_KEEP, Fault.PAUSE_CLIENT, Fault.CLOCK_RATE};
        assertEquals(0, violations("got fencing token", fenced, faults), "the condition of the documentation holds");
        Consumer<SimPlan> careless = fenced.andThen(plan -> {
            plan.isCounterLossSafe = false;
            plan.faultPeriodMs = 100;
            plan.guard = RestartGuardMode.OFF;
            plan.clockSampleMs = 0;
        });
        assertTrue(isFound("got fencing token", careless, Fault.LOSE_COUNTERS, Fault.CLOCK_BACK),
                "with clocks that are set back, lost counters repeat tokens");
        assertTrue(isFound("got fencing token", careless, Fault.LOSE_COUNTERS),
                "counters that are lost in the second of their seed repeat tokens");
    }

    /** Also in the middle of a turn: the client reads the clock after the last step that may take time. */
    @Test
    void timeThatPassesWithinATurnCausesNoViolation() {
        Consumer<SimPlan> slow = plan -> {
            plan.faultPeriodMs = 150;
            plan.isExtending = false;
            plan.ttlMsMin = 100;
            plan.ttlMsMax = 600;
        };
        assertEquals(0, violations("", slow, Fault.SLOW_TURNS), "a holder that relies on the validity");
        assertEquals(0, violations("", slow.andThen(plan -> plan.isFenced = true), Fault.SLOW_TURNS), "fenced too");
        assertTrue(isOverlapFound(slow.andThen(plan -> plan.isValidityIgnored = true), Fault.SLOW_TURNS),
                "a holder that counts from its notification has to overlap with the next one");
    }

    /**
     * Requests of a closed connection are executed after those of the next one; some of them extend to a shorter ttl.
     */
    @Test
    void requestsExecutedLateCauseNoViolation() {
        Consumer<SimPlan> late = plan -> {
            // One node, which decides alone, and holders that extend often.
            plan.nodeCount = 1;
            plan.resourceCount = 5;
            plan.ttlMsMin = 300;
            plan.extendTenths = 8;
        };
        assertEquals(0, overlaps(late.andThen(plan -> plan.isShorteningOnNodes = false), Fault.LATE_REQUESTS),
                "where scripts only lengthen");
        assertEquals(0, overlaps(late.andThen(plan -> plan.kinds.add(FakeRedis.Kind.VALKEY_9)), Fault.LATE_REQUESTS),
                "where an extension replaces the expiry, and the client knows");
        assertTrue(isOverlapFound(late.andThen(plan -> plan.isShorteningOnNodes = true), Fault.LATE_REQUESTS),
                "where an old extension shortens what a later one has granted");
    }

    @Test
    void lostKeysCauseOnlyOverlapsThatTheyExplain() {
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 100;
        Fault[] faults = {Fault.LOSE_KEY, Fault.FLUSH_ALL};
        assertEquals(0, violations("", often, faults),
                "every overlap is explained, and every extension detects the loss");
        assertTrue(isCounted("EXPLAINED_BY_LOST_KEYS", often, faults), "overlaps occur");
        assertTrue(isCounted("LOST", often, faults), "and are reported as lost");
        assertTrue(isOverlapFound(often.andThen(plan -> plan.isKeyLossExcused = false), faults),
                "without the excuse the violation has to appear");
    }

    /** The clock watch cannot detect steps within the drift rate, so the validity has to allow for them. */
    @Test
    void clockStepsBelowTheDetectionLimitCauseNoViolation() {
        Consumer<SimPlan> small = plan -> {
            plan.faultPeriodMs = 100;
            plan.clientCount = 4;
            plan.resourceCount = 3;
            plan.workersPerResource = 2;
            plan.isExtending = false;
            plan.ttlMsMin = 50;
            plan.ttlMsMax = 100;
            plan.workMs = 6_000;
        };
        assertNoViolation("two hold", small, Fault.SMALL_STEPS);
        assertEquals(0, overlaps(small.andThen(plan -> plan.driftConstantMs = 12), Fault.SMALL_STEPS),
                "with an allowance for the time between two samples");
        assertTrue(isOverlapFound(small.andThen(plan -> plan.smallStepMsMax = 100), Fault.SMALL_STEPS),
                "large steps are detected, but too late for a short lock");
    }

    @Test
    void waitersGetFreeLocksAlthoughPushesAreDisturbed() {
        Fault[] pushes = {Fault.LOSE_PUSHES, Fault.DELAY_PUSHES, Fault.REPEAT_PUSHES, Fault.STRAY_PUSHES};
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 50;
        assertNoViolation("", often, pushes);
        Consumer<SimPlan> lost = plan -> plan.areAllPushesLost = true;
        assertNoViolation("", lost);
        Consumer<SimPlan> slow = plan -> {
            plan.retryDelayMs = 2_000;
            plan.isKeeping = false;
            // The waiters for plain locks look by times of their own.
            plan.readTenths = 1;
            plan.writeTenths = 9;
        };
        assertTrue(isFound("waits although the lock has been free", lost.andThen(slow)),
                "a retry policy that is slower than the backstop delays writers whose pushes are lost");
    }

    /** Readers, writers, sets and permits of one client change the keys that its other waiters wait for. */
    @Test
    void waitersAreWokenAlthoughTheirOwnClientChangesTheirKeys() {
        Consumer<SimPlan> mixed = WaitingRuns::mixKinds;
        assertNoViolation("", mixed);
        Consumer<SimPlan> sets = mixed.andThen(plan -> {
            plan.setTenths = 3;
            plan.kinds.addAll(List.of(FakeRedis.Kind.VALKEY_9, FakeRedis.Kind.REDIS_8_4, FakeRedis.Kind.VALKEY_9));
        });
        assertNoViolation("", sets);
        Consumer<SimPlan> permits = sets.andThen(plan -> {
            plan.permitTenths = 3;
            plan.permitCount = 2;
        });
        assertNoViolation("", permits, Fault.STRAY_PUSHES, Fault.REPEAT_PUSHES);
    }

    /** Workers that take one resource compete with those that take several. */
    @Test
    void overlappingSetsCauseNoViolation() {
        Fault[] faults = {Fault.BREAK, Fault.CUT, Fault.LOSE_REQUESTS, Fault.LOSE_REPLIES, Fault.CRASH_LOSE,
            Fault.PAUSE_NODE, Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.FLUSH_SCRIPTS, Fault.LATE_REQUESTS};
        Consumer<SimPlan> sets = plan -> {
            plan.resourceCount = 4;
            plan.setTenths = 7;
            plan.faultPeriodMs = 200;
        };
        assertNoViolation("", sets, faults);
        assertNoViolation("", sets.andThen(plan -> plan.isFenced = true), Fault.BREAK, Fault.LOSE_REPLIES);
        assertNoViolation("", sets.andThen(plan -> plan.thriftyClients = 0b01010101), faults);
        assertNoViolation("", sets, Fault.LOSE_PUSHES, Fault.STRAY_PUSHES);
        assertTrue(isOverlapFound(sets.andThen(SimulationTest::ignoreValidity), Fault.SLOW),
                "a holder of a set that relies on the whole ttl has to overlap with the next one");
    }

    private static void ignoreValidity(SimPlan plan) {
        plan.delayUsMax = 40_000;
        plan.isExtending = false;
        plan.isValidityIgnored = true;
    }

    /** No writer or plain lock is beside a reader. */
    @Test
    void readersAndWritersCauseNoViolation() {
        Fault[] faults = {Fault.BREAK, Fault.CUT, Fault.LOSE_REQUESTS, Fault.LOSE_REPLIES, Fault.CRASH_LOSE,
            Fault.PAUSE_NODE, Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.FLUSH_SCRIPTS, Fault.LATE_REQUESTS};
        Consumer<SimPlan> mixed = plan -> {
            plan.workersPerResource = 2;
            plan.readTenths = 6;
            plan.writeTenths = 3;
            plan.faultPeriodMs = 200;
        };
        assertNoViolation("", mixed, faults);
        assertNoViolation("", mixed.andThen(plan -> plan.isFenced = true), Fault.BREAK, Fault.LOSE_REPLIES);
        assertNoViolation("", mixed.andThen(plan -> plan.thriftyClients = 0b01010101), faults);
        assertNoViolation("", mixed, Fault.LOSE_PUSHES, Fault.STRAY_PUSHES);
        assertTrue(isOverlapFound(mixed.andThen(SimulationTest::ignoreValidity), Fault.SLOW),
                "a holder that relies on the whole ttl has to overlap with the next one");
    }

    /** Never more holders than permits, and no waiter sleeps while a permit is free. */
    @Test
    void semaphoresHaveNoMoreHoldersThanPermits() {
        Fault[] faults = {Fault.BREAK, Fault.CUT, Fault.LOSE_REPLIES, Fault.CRASH_KEEP, Fault.CRASH_LOSE,
            Fault.PAUSE_NODE, Fault.PAUSE_CLIENT, Fault.KILL_CLIENT, Fault.FLUSH_SCRIPTS, Fault.LATE_REQUESTS};
        Consumer<SimPlan> permits = plan -> {
            plan.workersPerResource = 2;
            plan.permitTenths = 10;
            plan.permitCount = 3;
            plan.faultPeriodMs = 200;
        };
        assertNoViolation("", permits, faults);
        assertNoViolation("", permits.andThen(plan -> plan.permitCount = 1), faults);
        assertNoViolation("", permits.andThen(plan -> plan.thriftyClients = 0b01010101), faults);
        assertNoViolation("", permits, Fault.LOSE_PUSHES, Fault.STRAY_PUSHES);
        assertNoViolation("", permits);
        assertTrue(isOverlapFound(permits.andThen(SimulationTest::ignoreValidity), Fault.SLOW),
                "a holder that relies on the whole ttl has to overlap with the next one");
    }

    /** Also after the end of the process that kept it. */
    @Test
    void aKeptLockExcludesOthersUntilItsTime() {
        Fault[] faults = {Fault.BREAK, Fault.LOSE_REPLIES, Fault.PAUSE_CLIENT, Fault.CLOSE_CLIENT, Fault.KILL_CLIENT};
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 200;
        assertNoViolation("", often, faults);
        assertTrue(isCounted("KEPT_CHECKED", often, faults), "some are kept");
    }

    @Test
    void anAllocatorThatThrowsCostsOnlyLocks() {
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 200;
        assertNoViolation("", often, Fault.NO_MEMORY, Fault.BREAK, Fault.CLOCK_FORWARD);
    }

    @Test
    void logHandlersThatThrowCostNothing() {
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 200;
        assertNoViolation("", often, Fault.THROWING_LOG, Fault.BREAK, Fault.CRASH_KEEP);
        assertTrue(isCounted("LOG_THREW", often, Fault.THROWING_LOG, Fault.BREAK, Fault.CRASH_KEEP), "it has thrown");
    }

    @Test
    void strayPushesCostNothing() {
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 100;
        assertNoViolation("", often, Fault.STRAY_PUSHES, Fault.BREAK);
        assertTrue(isCounted("STRAY_PUSH", often, Fault.STRAY_PUSHES), "they are sent");
    }

    @Test
    void callbacksThatThrowCostNothing() {
        Consumer<SimPlan> often = plan -> plan.faultPeriodMs = 200;
        assertEquals(0, violations("", often, Fault.THROWING_CALLBACKS, Fault.BREAK), "violations");
        assertTrue(isCounted("THROWN", often, Fault.THROWING_CALLBACKS, Fault.BREAK), "they have thrown");
    }

    /** A caller without a quorum retries before its callback returns, and so starves the sockets of its loop. */
    @Test
    void anOutageEndsDespiteImmediateRetries() {
        Consumer<SimPlan> often = plan -> {
            plan.faultPeriodMs = 200;
            plan.workMs = 4_000;
        };
        Fault[] faults = {Fault.RETRY_AT_ONCE, Fault.BREAK, Fault.CRASH_KEEP};
        assertNoViolation("a turn that does not end", often, faults);
        assertTrue(isCounted("RETRIED_AT_ONCE", often, faults), "they have tried");
    }

    /** Otherwise a build would hang forever, without the seed. */
    @Test
    void aStuckRunIsReportedAndFails() {
        Simulation simulation = stuck(world -> {
            while (true) {
                world.nowNs();
            }
        });
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        AssertionError thrown = assertThrows(AssertionError.class, () -> simulation
                .run(new PrintStream(text, true, StandardCharsets.UTF_8), () -> fail("it can be stopped")));
        assertTrue(thrown.getMessage().contains("no event for 400 ms"), thrown.getMessage());
        for (String part : List.of("no event for 400 ms", "seed 11: ", "node 0 acquire", getClass().getName())) {
            assertTrue(text.toString(StandardCharsets.UTF_8).contains(part), () -> part + " in " + text);
        }
    }

    @Test
    void aStuckRunThatDoesNotReadTheClockIsHalted() {
        AtomicBoolean isStopped = new AtomicBoolean();
        Simulation simulation = stuck(world -> {
            while (!isStopped.get()) {
                Thread.onSpinWait();
            }
        });
        assertThrows(AssertionError.class,
                () -> simulation.run(new PrintStream(OutputStream.nullOutputStream()), () -> isStopped.set(true)));
        assertTrue(isStopped.get(), "the last resort");
    }

    private static Simulation stuck(Consumer<VirtualWorld> loop) {
        SimPlan plan = SimPlan.only(11);
        plan.stuckMs = 400;
        Simulation simulation = new Simulation(plan);
        simulation.world.after(1_000_000_000, () -> loop.accept(simulation.world));
        return simulation;
    }

    private static void assertNoViolation(String kind, Consumer<SimPlan> change, Fault... faults) {
        assertEquals(0, violations(kind, change, faults), () -> "violations under " + List.of(faults));
    }

    private static long overlaps(Consumer<SimPlan> change, Fault... faults) {
        return violations("two hold", change, faults);
    }

    private static boolean isOverlapFound(Consumer<SimPlan> change, Fault... faults) {
        return isFound("two hold", change, faults);
    }

    /** Counts the violations whose text contains a string. */
    private static long violations(String kind, Consumer<SimPlan> change, Fault... faults) {
        return runs(SEEDS_OF_A_RULE, change, faults)
                .mapToLong(run -> run.violations().stream().filter(v -> v.contains(kind)).count())
                .sum();
    }

    /** Returns 1 if there is a violation, 0 otherwise. */
    private static boolean isFound(String kind, Consumer<SimPlan> change, Fault... faults) {
        return runs(SEEDS_OF_A_PROOF, change, faults)
                .anyMatch(run -> run.violations().stream().anyMatch(v -> v.contains(kind)));
    }

    private static boolean isCounted(String what, Consumer<SimPlan> change, Fault... faults) {
        return runs(SEEDS_OF_A_PROOF, change, faults).anyMatch(run -> run.counts().containsKey(what));
    }

    private static Stream<Simulation> runs(int seeds, Consumer<SimPlan> change, Fault... faults) {
        return LongStream.rangeClosed(1, seeds).mapToObj(seed -> {
            SimPlan plan = SimPlan.only(seed, faults);
            change.accept(plan);
            return new Simulation(plan).run();
        });
    }
}
