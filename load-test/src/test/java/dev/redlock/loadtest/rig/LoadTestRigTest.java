package dev.redlock.loadtest.rig;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import dev.redlock.loadtest.driver.RedlockDriver;
import dev.redlock.loadtest.measure.Lab;
import dev.redlock.loadtest.result.Interval;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.SeriesSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** The rig in virtual time: deterministic, and done at once. */
class LoadTestRigTest {
    private static final long CYCLE_NS = ModelSession.ACQUIRE_NS + ModelSession.RELEASE_NS;
    private static final Duration SECOND = Duration.ofSeconds(1);

    /** Close to the clock's overflow, which must not matter. */
    private final VirtualRigTime time = new VirtualRigTime(Long.MAX_VALUE - 1_000);

    // ---- closed loop ---------------------------------------------------------------------------------------------

    @Test
    void latenciesAreThoseOfTheClient() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(1), new ModelSession(time));
        assertEquals(List.of(), result.failures());
        assertNear(ModelSession.ACQUIRE_NS, acquire(result).getMaxValue());
        assertNear(ModelSession.RELEASE_NS, operation(result, SeriesResult.RELEASE).histogram().getMinValue());
        assertNear(CYCLE_NS, cycle(result).getValueAtPercentile(50));
        assertEquals(10_000, result.tally().cycles(), 1);
        assertEquals(10_000, result.tally().cyclesPerSecond(), 1);
    }

    @Test
    void nothingIsRecordedDuringTheWarmup() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(1).warmup(Duration.ofSeconds(20)), new ModelSession(time));
        assertEquals(210_000, result.tally().acquires().get("ACQUIRED"), 2);
        assertEquals(10_000, cycle(result).getTotalCount(), 1);
        assertEquals(20_000, result.span().offsetMs());
        assertEquals(20_000, result.span().warmupMs());
    }

    @Test
    void intervalsAddUpToTheWhole() throws InterruptedException {
        List<Long> logged = new ArrayList<>();
        LoadResult result = rig(LoadPlan.closed(2).interval(Duration.ofMillis(200)), new ModelSession(time)).run(
                (elapsedNs, isMeasuring) -> {
                }, new IntervalLog() {
                    @Override
                    public void append(String operation, Interval interval, Histogram histogram) {
                        if (operation.equals(SeriesResult.CYCLE)) {
                            logged.add(histogram.getTotalCount());
                        }
                    }

                    @Override
                    public void close() {
                        throw new AssertionError("the log is the caller's");
                    }
                }, time.nowNs() - TimeUnit.SECONDS.toNanos(3));
        List<Interval> intervals = operation(result, SeriesResult.CYCLE).intervals();
        assertEquals(List.of(3000L, 3200L, 3400L, 3600L, 3800L), intervals.stream().map(Interval::offsetMs).toList());
        assertEquals(cycle(result).getTotalCount(), intervals.stream().mapToLong(Interval::count).sum());
        assertEquals(intervals.stream().map(Interval::count).toList(), logged);
        assertEquals(4_000, intervals.get(2).count(), 4);
    }

    @Test
    void outcomesThatComeBeforeTheCallReturnsDoNotRecurse() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(1), new ModelSession(time).inline());
        assertEquals(0, result.evidence().stuck());
        assertTrue(result.tally().acquires().get("ACQUIRED") >= 100_000, "deeper than any stack");
    }

    @Test
    void twoHoldersOfOneResourceFailTheRun() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(2).resources(1).hold(Duration.ofMillis(2));
        LoadResult result = run(plan, new ModelSession(time).grantingEverything());
        assertTrue(result.tally().overlaps() > 0, "the model client grants everything");
        assertTrue(result.failures().get(0).contains("entered while holder"), result.failures()::toString);
        assertTrue(result.failures().toString().contains("more overlaps"), result.failures()::toString);
    }

    /** Each session excludes its own cycles only, as a client would that ignores the others. */
    @Test
    void theExclusionCheckFindsClientsThatIgnoreEachOther() throws InterruptedException {
        LoadPlan plan = Lab.contestPlan(Duration.ofSeconds(30), false);
        List<LockSession> sessions = List.of(new ModelSession(time), new ModelSession(time));
        assertEquals(Lab.RIVAL_CLIENTS, sessions.size());
        LoadResult result = run(plan, sessions);
        assertTrue(result.tally().overlaps() > 100, result.tally()::toString);
    }

    @Test
    void anExclusionCheckInWhichAResourceHasOneClientIsRejected() {
        List<LockSession> sessions = List.of(new ModelSession(time), new ModelSession(time));
        LoadPlan plan = LoadPlan.closed(3).resources(2).amongClients();
        refused("resource 1 of 2 has cycles of one of 2 clients: expected several",
                () -> new LoadTestRig(plan, sessions, new MutualExclusionAuditor(), time, null));
    }

    @Test
    void theCyclesOfEachResourceAreSharedByAsManyClientsAsPossible() throws InterruptedException {
        for (int clients : new int[]{1, 2, 3, 4, 6, 64}) {
            for (int resources : new int[]{1, 2, 3, 4, 6, 8}) {
                for (int cycles : new int[]{resources, 2 * resources, 64, 96}) {
                    assertShared(clients, resources, cycles);
                }
            }
        }
    }

    private void assertShared(int clients, int resources, int cycles) throws InterruptedException {
        List<NamingSession> sessions = Stream.generate(NamingSession::new).limit(clients).toList();
        LoadPlan plan = LoadPlan.closed(cycles).resources(resources).duration(Duration.ofMillis(1));
        String title = clients + " clients, " + resources + " resources, " + cycles + " cycles";
        run(plan, List.copyOf(sessions));
        for (NamingSession session : sessions) {
            int count = session.names.size();
            assertTrue(count == cycles / clients || count == (cycles + clients - 1) / clients, title + ": " + count);
        }
        for (int i = 0; i < resources; i++) {
            String name = plan.names.apply(i);
            int own = (cycles - i + resources - 1) / resources;
            assertEquals(Math.min(clients, own),
                    sessions.stream().filter(session -> session.names.contains(name)).count(), title);
        }
    }

    /** Records the names of its handles, and is closed. */
    private static final class NamingSession implements LockSession {
        private final List<String> names = new ArrayList<>();

        @Override
        public LockHandle handle(LockSpec spec, LockListener listener) {
            names.add(spec.resource());
            return new LockHandle() {
                @Override
                public void acquire() {
                    listener.onAcquire(AcquireOutcome.Kind.CLOSED, 0);
                }

                @Override
                public void release() {
                    throw new AssertionError("nothing is held");
                }
            };
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }

    @Test
    void aRunWithoutAuditCountsTheSameCycles() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(2).interval(SECOND).audited(false), new ModelSession(time));
        assertEquals(List.of(), result.failures());
        assertEquals(20_000, result.tally().cycles(), 2);
        assertNear(ModelSession.ACQUIRE_NS, acquire(result).getValueAtPercentile(50));
        assertNear(CYCLE_NS, cycle(result).getValueAtPercentile(50));
        assertEquals(0, result.tally().holdings(), "nothing is audited");
        assertEquals(List.of(1_000L), operation(result, SeriesResult.CYCLE).intervals()
                .stream()
                .map(Interval::lengthMs)
                .toList(), "one interval");
    }

    @Test
    void failedAcquiresFailAnUncontendedRun() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(2), new ModelSession(time).failing(1, AcquireOutcome.Kind.CONTENDED));
        assertTrue(result.failures().toString().contains("acquires ended CONTENDED"), result.failures()::toString);
        assertTrue(result.failures().contains("no cycle was completed"));
    }

    @Test
    void errorsUpToTheBoundPass() throws InterruptedException {
        ModelSession client = new ModelSession(time).failing(1000, AcquireOutcome.Kind.NO_QUORUM);
        LoadResult borne = run(LoadPlan.closed(4).errorShareMax(0.002), client);
        assertEquals(List.of(), borne.failures());
        assertTrue(borne.tally().acquires().get("NO_QUORUM") > 30, borne::toString);
        LoadResult tooMany = new LoadResult(LoadPlan.closed(4).errorShareMax(0.0005), borne.span(), borne.tally(),
                borne.operations(), borne.usage(), borne.cyclesByThread(), borne.figures(), borne.evidence());
        assertTrue(tooMany.failures().toString().contains("acquires ended NO_QUORUM"), tooMany.failures()::toString);
    }

    @Test
    void closedClientEndsItsCycles() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(2), new ModelSession(time).failing(1, AcquireOutcome.Kind.CLOSED));
        assertEquals(2, result.tally().acquires().get("CLOSED"));
        assertEquals(0, result.evidence().stuck());
    }

    @Test
    void clientThatNeverRepliesIsReportedAsStuck() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(3), new ModelSession(time).silent());
        assertTrue(result.failures().contains("3 cycles never ended"), result.failures()::toString);
    }

    @Test
    void cancelEndsTheRun() {
        LoadTestRig rig = rig(LoadPlan.closed(1).duration(Duration.ofHours(1)), new ModelSession(time));
        rig.cancel();
        assertThrows(InterruptedException.class, () -> rig.run((elapsedNs, isMeasuring) -> {
        }));
    }

    @Test
    void finishedRunCountsCyclesSoFar() throws InterruptedException {
        for (LoadPlan plan : List.of(LoadPlan.closed(2), LoadPlan.open(1_000, 8))) {
            LoadTestRig rig = rig(plan.duration(Duration.ofHours(1)), new ModelSession(time));
            LoadResult result = rig.run((elapsedNs, isMeasuring) -> {
                if (elapsedNs >= 300_000_000) {
                    rig.finish();
                }
            });
            assertEquals(List.of(), result.failures());
            assertEquals(300, result.span().recordedMs());
            assertEquals(result.tally().cyclesPerSecond() * 0.3, result.tally().cycles(), 2);
            assertTrue(result.tally().cycles() >= 299, result::toString);
        }
    }

    // ---- open loop -----------------------------------------------------------------------------------------------

    @Test
    void openLoopStartsTheIntendedNumberOfCycles() throws InterruptedException {
        LoadResult result = run(LoadPlan.open(1_000, 8).warmup(SECOND), new ModelSession(time));
        assertEquals(List.of(), result.failures());
        assertEquals(1_000, result.evidence().intended());
        assertEquals(1_000, cycle(result).getTotalCount());
        assertEquals(1_000, result.tally().cyclesPerSecond());
        assertEquals(2_000, result.tally().acquires().get("ACQUIRED"));
        assertNear(CYCLE_NS, cycle(result).getMaxValue());
    }

    @Test
    void stallShowsInEveryDelayedSend() throws InterruptedException {
        ModelSession client = new ModelSession(time).stalling(Duration.ofMillis(400), Duration.ofMillis(200));
        LoadResult result = run(LoadPlan.open(1_000, 1), client);
        assertEquals(1_000, acquire(result).getTotalCount(), "every intended send has a latency");
        assertNear(200_000_000 + ModelSession.ACQUIRE_NS, acquire(result).getMaxValue());
        // The sends of the stalled 200 ms waited 200, 199, 198, ... ms.
        assertEquals(100, acquire(result).getCountBetweenValues(100_000_000, 210_000_000), 15);
        assertEquals(200, acquire(result).getCountBetweenValues(1_000_000, 210_000_000), 25);
        assertEquals(List.of(), result.failures(), "it caught up");
    }

    @Test
    void closedLoopHidesTheStall() throws InterruptedException {
        ModelSession client = new ModelSession(time).stalling(Duration.ofMillis(400), Duration.ofMillis(200));
        LoadResult result = run(LoadPlan.closed(1), client);
        assertEquals(1, cycle(result).getCountBetweenValues(1_000_000, 1_000_000_000), "one slow cycle, that is all");
    }

    /** On a busy machine, a short run may get no time at all. */
    @Test
    void closedLoopRunsUntilACycleHasEnded() throws InterruptedException {
        ModelSession client = new ModelSession(time).stalling(Duration.ZERO, Duration.ofMillis(400));
        LoadResult result = run(LoadPlan.closed(1).duration(Duration.ofMillis(200)), client);
        assertEquals(List.of(), result.failures());
        long recordedMs = result.span().recordedMs();
        assertTrue(recordedMs >= 400 && recordedMs <= 600, recordedMs + " ms");
        assertEquals(result.tally().cycles() * 1_000.0 / recordedMs, result.tally().cyclesPerSecond(), 1);
    }

    @Test
    void closedLoopOverADeadClientEndsAllTheSame() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(1).duration(Duration.ofMillis(200)), new ModelSession(time).silent());
        assertTrue(result.failures().contains("no cycle was completed"), result.failures()::toString);
    }

    @Test
    void stallAtTheEndIsCounted() throws InterruptedException {
        ModelSession client = new ModelSession(time).stalling(Duration.ofMillis(950), Duration.ofMillis(300));
        LoadResult result = run(LoadPlan.open(1_000, 64), client);
        assertEquals(1_000, acquire(result).getTotalCount());
        assertNear(300_000_000 + ModelSession.ACQUIRE_NS, acquire(result).getMaxValue());
    }

    @Test
    void missedRateFailsWithNumbers() throws InterruptedException {
        LoadResult result = run(LoadPlan.open(20_000, 1).duration(Duration.ofSeconds(2)), new ModelSession(time));
        assertTrue(result.isRateMissed());
        String failure = result.failures().get(0);
        assertTrue(failure.startsWith("missed the rate: of 40000 cycles intended at 20000/s, 2000"), failure);
        assertTrue(failure.matches(".* 1000[01]/s were done"), failure);
        assertEquals(List.of(), result.failuresBesideRate());
        assertEquals(40_000, cycle(result).getTotalCount(), "dropped sends are in the latencies");
        assertTrue(cycle(result).getMaxValue() > 900_000_000, "with the time that it had waited");
    }

    @Test
    void missedRateIsDetectedForAnyNumberOfHandles() throws InterruptedException {
        ModelSession client = new ModelSession(time).stalling(Duration.ofMillis(100), Duration.ofSeconds(5));
        LoadResult result = run(LoadPlan.open(1_000, 4_096), client);
        assertTrue(result.isRateMissed(), result.failures()::toString);
    }

    @Test
    void overlapFailsAnOpenLoopToo() throws InterruptedException {
        LoadPlan plan = LoadPlan.open(1_000, 4).resources(1).hold(Duration.ofMillis(3));
        LoadResult result = run(plan, new ModelSession(time).grantingEverything());
        assertTrue(result.failures().get(0).contains("entered while holder"), result.failures()::toString);
    }

    @Test
    void openLoopOverADeadClientIsStuckAndMissesItsRate() throws InterruptedException {
        LoadResult result = run(LoadPlan.open(100, 2), new ModelSession(time).silent());
        assertTrue(result.failures().contains("2 cycles never ended"), result.failures()::toString);
        assertTrue(result.isRateMissed());
    }

    // ---- contention ----------------------------------------------------------------------------------------------

    @Test
    void waitersGetTheLockInTurnAndTheHandoffIsMeasured() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(4).resources(1).hold(Duration.ofMillis(1)).waitUpTo(SECOND, false);
        LoadResult result = run(plan, new ModelSession(time));
        assertEquals(List.of(), result.failures());
        assertEquals(0, result.tally().acquires().get("CONTENDED"), "an attempt is not a cycle");
        assertTrue(result.figures().get("refusedAttempts") > 0);
        assertTrue(result.figures().get("jainIndex") > 0.8, result.figures()::toString);
        Histogram handoff = operation(result, LoadTestRig.HANDOFF).histogram();
        assertTrue(handoff.getTotalCount() > 50, "handed over " + handoff.getTotalCount() + " times");
        assertTrue(handoff.getMinValue() >= ModelSession.RELEASE_NS * 99 / 100, "not before it was free");
    }

    @Test
    void waitThatIsTooShortTimesOut() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(8)
                .resources(1)
                .hold(Duration.ofMillis(50))
                .waitUpTo(Duration.ofMillis(60), false);
        LoadResult result = run(plan, new ModelSession(time));
        assertEquals(List.of(), result.failures(), "to be expected where cycles share a resource");
        long timedOut = result.tally().acquires().get("TIMED_OUT");
        long acquired = result.tally().acquires().get("ACQUIRED");
        assertTrue(timedOut > 0 && acquired > 0);
        assertEquals((double) acquired / (acquired + timedOut), result.figures().get("successShare"), 1e-9);
    }

    @Test
    void hotShareMakesCyclesMeet() throws InterruptedException {
        LoadResult none = run(LoadPlan.closed(8).resources(64), new ModelSession(time));
        assertEquals(List.of(), none.failures(), "every cycle has eight resources of its own");
        LoadResult hot = run(LoadPlan.closed(8).resources(64).hotShare(0.5).seed(7), new ModelSession(time));
        assertTrue(hot.tally().acquires().get("CONTENDED") > 0);
        assertEquals(List.of(), hot.failures());
    }

    // ---- a resource of two clients ---------------------------------------------------------------------------------

    @Test
    void theLastClientMakesItsShareOfTheCycles() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(2).resources(6).foreignShare(0.1).seed(3);
        LoadResult result = runMixed(plan, new ModelSession(time), new ModelSession(time).slower());
        assertEquals(List.of(), result.failures());
        Histogram local = operation(result, LoadTestRig.LOCAL).histogram();
        Histogram foreign = operation(result, LoadTestRig.FOREIGN).histogram();
        assertEquals(0.1, (double) foreign.getTotalCount() / acquire(result).getTotalCount(), 0.01);
        assertEquals(acquire(result).getTotalCount(), local.getTotalCount() + foreign.getTotalCount());
        assertNear(ModelSession.ACQUIRE_NS, local.getMaxValue());
        assertNear(10 * ModelSession.ACQUIRE_NS, foreign.getMinValue());
    }

    @Test
    void theLastClientComesAfterARunOfOthers() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(1).resources(3).foreignAfter(4, ReleaseOutcome.RETAINED);
        LoadResult result = runMixed(plan, new ModelSession(time).retaining(), new ModelSession(time).slower());
        assertEquals(List.of(), result.failures(), "a retained lock is no error");
        long foreign = operation(result, LoadTestRig.FOREIGN).histogram().getTotalCount();
        assertEquals(operation(result, LoadTestRig.LOCAL).histogram().getTotalCount(), 4 * foreign, 4);
        assertTrue(foreign > 100, result::toString);
        LoadResult none = runMixed(plan, new ModelSession(time), new ModelSession(time).slower());
        assertEquals(0, operation(none, LoadTestRig.FOREIGN).histogram().getTotalCount(), "nothing is retained");
    }

    private LoadResult runMixed(LoadPlan plan, ModelSession local, ModelSession foreign) throws InterruptedException {
        return run(plan, List.of(local, foreign));
    }

    @Test
    void localGrantsAreAShareOfTheAcquires() throws InterruptedException {
        LoadResult result = run(LoadPlan.closed(1), new ModelSession(time));
        SeriesSpec spec = new SeriesSpec("model", 1, LoopKind.CLOSED, 1, 0, 1);
        long acquired = result.tally().acquires().get("ACQUIRED");
        SeriesResult series = result.series(spec, Map.of(RedlockDriver.LOCAL_GRANTS, acquired / 2), List.of(),
                List.of());
        assertEquals(0.5, series.figures().get(LoadResult.LOCAL_GRANT_SHARE), 0.001);
        assertEquals(result.figures(), result.series(spec, Map.of(), List.of(), List.of()).figures());
    }

    @Test
    void runsOfOneSeedAreEqual() throws InterruptedException {
        LoadPlan plan = LoadPlan.closed(8).hotShare(0.3).waitUpTo(SECOND, false).seed(42);
        LoadResult one = run(plan, new ModelSession(time));
        LoadResult other = run(plan, new ModelSession(time));
        assertEquals(one.tally(), other.tally());
    }

    // ---- the plan ------------------------------------------------------------------------------------------------

    @Test
    void plansOutOfRangeReportTheRange() {
        refused("inFlight is 0: expected at least 1", () -> LoadPlan.closed(0));
        refused("ratePerSecond is 0.0: expected more than 0", () -> LoadPlan.open(0, 1));
        refused("resources is 0: expected at least 1", () -> LoadPlan.closed(1).resources(0));
        refused("hotShare is 1.1: expected 0 to 1", () -> LoadPlan.closed(1).hotShare(1.1));
        refused("foreignShare is -1.0: expected 0 to 1", () -> LoadPlan.closed(1).foreignShare(-1));
        refused("foreignAfter is 0: expected at least 1",
                () -> LoadPlan.closed(1).foreignAfter(0, ReleaseOutcome.RETAINED));
        refused("errorShareMax is -0.1: expected 0 to 1", () -> LoadPlan.closed(1).errorShareMax(-0.1));
        refused("duration is PT0S: expected more than zero", () -> LoadPlan.closed(1).duration(Duration.ZERO));
        refused("hold is PT-1S: expected zero or more", () -> LoadPlan.closed(1).hold(SECOND.negated()));
    }

    @Test
    void intervalsAreATwentiethWithinBounds() {
        assertEquals(Duration.ofMillis(100), LoadPlan.closed(1).duration(Duration.ofMillis(50)).interval());
        assertEquals(Duration.ofMillis(225), LoadPlan.closed(1).duration(Duration.ofMillis(4500)).interval());
        assertEquals(Duration.ofSeconds(10), LoadPlan.closed(1).duration(Duration.ofHours(5)).interval());
        assertFalse(LoadPlan.closed(1).hotShare(1).isContended(), "a single cycle meets nobody");
    }

    @Test
    void jainIndexIsOneForEqualShares() {
        assertEquals(1, LoadTestRig.jainIndex(List.of(5L, 5L, 5L)), 1e-9);
        assertEquals(0.25, LoadTestRig.jainIndex(List.of(9L, 0L, 0L, 0L)), 1e-9);
        assertEquals(0, LoadTestRig.jainIndex(List.of(0L, 0L)), 1e-9);
    }

    private static void refused(String message, Runnable call) {
        String said = assertThrows(IllegalArgumentException.class, call::run).getMessage();
        assertTrue(said.startsWith(message), said);
    }

    private LoadTestRig rig(LoadPlan plan, ModelSession client) {
        return new LoadTestRig(plan, List.of(client), new MutualExclusionAuditor(), time, null);
    }

    private LoadResult run(LoadPlan plan, ModelSession client) throws InterruptedException {
        return rig(plan, client).run((elapsedNs, isMeasuring) -> {
        });
    }

    private LoadResult run(LoadPlan plan, List<LockSession> clients) throws InterruptedException {
        return new LoadTestRig(plan, clients, new MutualExclusionAuditor(), time, null).run(
                (elapsedNs, isMeasuring) -> {
                });
    }

    private static OperationResult operation(LoadResult result, String name) {
        return result.operations().get(name);
    }

    private static Histogram acquire(LoadResult result) {
        return operation(result, SeriesResult.ACQUIRE).histogram();
    }

    private static Histogram cycle(LoadResult result) {
        return operation(result, SeriesResult.CYCLE).histogram();
    }

    private static void assertNear(long expected, long actual) {
        assertTrue(Math.abs(actual - expected) <= expected / 50, actual + " is not within 2 % of " + expected);
    }
}
