package dev.redlock.loadtest.rig;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.LoopKind;
import dev.redlock.loadtest.result.OperationResult;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.result.Span;
import dev.redlock.loadtest.result.Tally;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Runs one plan against open sessions. In a closed loop the load runs on the client's own threads: each outcome starts
 * the next call, without a thread switch in between. In an open loop a thread of the rig starts the calls at their
 * intended times.
 *
 * @threading any thread; {@link #run} once
 */
public final class LoadTestRig {
    /** The time from the start of a holder's release to the notification of the waiter that acquires the lock. */
    public static final String HANDOFF = "handoff";

    /** Acquires of the clients that make most cycles of a resource, and of the other client. */
    public static final String LOCAL = "localAcquire";
    /** See {@link #LOCAL}. */
    public static final String FOREIGN = "foreignAcquire";

    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(10);
    private static final Duration RESULT_LIMIT = Duration.ofSeconds(10);
    private static final long RETRY_NS_MIN = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long RETRY_NS_MAX = TimeUnit.MILLISECONDS.toNanos(5);
    private static final double NS_PER_US = 1e3;

    private final LoadPlan plan;
    private final List<LockSession> sessions;
    private final long holdNs;
    private final boolean isContended;
    private final MutualExclusionAuditor auditor;
    private final RigTime time;
    private final CostMeter costMeter;
    final LatencyRecorder acquireRecorder;
    final LatencyRecorder releaseRecorder;
    final LatencyRecorder cycleRecorder;
    final LatencyRecorder handoffRecorder;
    final LatencyRecorder localRecorder;
    final LatencyRecorder foreignRecorder;
    private final List<LatencyRecorder> recorders;
    private final AtomicLong refusedAttempts = new AtomicLong();
    private final List<LoadCycle> cycles = new ArrayList<>();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private final CountDownLatch ended;
    private IntervalLog log = IntervalLog.NONE;
    private SlowCycles slowCycles;
    private OpenLoop openLoop;
    private volatile long runStartNs;
    private long startNs;
    private long measureStartNs;
    private volatile long measureEndNs;
    private long nextRotationNs;
    private long rotatedNs;
    private volatile boolean isStopping;
    private volatile boolean isFinishing;

    /** @threading caller-confined to the thread that runs the rig */
    @FunctionalInterface
    public interface Progress {
        /** Time has passed since the start of the run, warm-up included. */
        void onProgress(long elapsedNs, boolean isMeasuring);
    }

    public LoadTestRig(LoadPlan plan, List<LockSession> sessions) {
        this(plan, sessions, (CostMeter.Scope) null);
    }

    /** A rig that also measures CPU time outside the client's own code. */
    public LoadTestRig(LoadPlan plan, List<LockSession> sessions, CostMeter.Scope scope) {
        this(plan, sessions, new SystemRigTime(), scope);
    }

    private LoadTestRig(LoadPlan plan, List<LockSession> sessions, SystemRigTime time, CostMeter.Scope scope) {
        this(plan, sessions, new MutualExclusionAuditor(), time,
                plan.isCostMeasured ? new CostMeter(time::pacerCpuNs, scope) : null);
    }

    LoadTestRig(LoadPlan plan, List<LockSession> sessions, MutualExclusionAuditor auditor, RigTime time,
            CostMeter costMeter) {
        this.plan = plan;
        this.sessions = List.copyOf(sessions);
        this.holdNs = plan.hold.toNanos();
        this.isContended = plan.isContended();
        this.auditor = auditor;
        this.time = time;
        this.costMeter = costMeter;
        if (plan.isAmongClients && sessions.size() > 1) {
            requireRivals();
        }
        this.ended = new CountDownLatch(plan.loop == LoopKind.OPEN ? 1 : plan.inFlight);
        boolean isSeries = plan.interval().compareTo(plan.duration) < 0;
        this.acquireRecorder = new LatencyRecorder(SeriesResult.ACQUIRE, isSeries);
        this.releaseRecorder = new LatencyRecorder(SeriesResult.RELEASE, isSeries);
        this.cycleRecorder = new LatencyRecorder(SeriesResult.CYCLE, isSeries);
        this.handoffRecorder = new LatencyRecorder(HANDOFF, isSeries);
        this.localRecorder = new LatencyRecorder(LOCAL, isSeries);
        this.foreignRecorder = new LatencyRecorder(FOREIGN, isSeries);
        this.recorders = new ArrayList<>(List.of(acquireRecorder, releaseRecorder, cycleRecorder));
        if (isContended) {
            recorders.add(handoffRecorder);
        }
        if (plan.isMixed()) {
            recorders.addAll(List.of(localRecorder, foreignRecorder));
        }
    }

    private void requireRivals() {
        for (int k = 0; k < plan.resources; k++) {
            Set<Integer> places = new HashSet<>();
            for (int i = k; i < plan.inFlight; i += plan.resources) {
                places.add(place(i, sessions.size()));
            }
            if (places.size() < 2) {
                throw new IllegalArgumentException("resource " + k + " of " + plan.resources + " has cycles of one of "
                        + sessions.size() + " clients: expected several");
            }
        }
    }

    /**
     * Returns the place of a cycle's session. The sessions take turns, and skip one after each common multiple of the
     * numbers of sessions and of resources: otherwise a resource would have cycles of a part of the sessions only.
     */
    private int place(int cycle, int sessionCount) {
        long multiple = (long) sessionCount / commonDivisor(sessionCount, plan.resources) * plan.resources;
        return (int) ((cycle + cycle / multiple) % sessionCount);
    }

    private static int commonDivisor(int one, int other) {
        return other == 0 ? one : commonDivisor(other, one % other);
    }

    /** Collects the slow cycles of the run, which has not started; null for none. */
    public LoadTestRig collect(SlowCycles slow) {
        slowCycles = slow;
        return this;
    }

    /** Runs the plan to its end. Throws InterruptedException after {@link #cancel()} too; the load has stopped. */
    public LoadResult run(Progress progress) throws InterruptedException {
        return run(progress, IntervalLog.NONE, time.nowNs());
    }

    /** The same as part of a longer run; the log gets the histograms of each interval. */
    public LoadResult run(Progress progress, IntervalLog intervalLog, long zeroNs) throws InterruptedException {
        log = intervalLog;
        runStartNs = zeroNs;
        startNs = nowNs();
        measureStartNs = startNs + plan.warmup.toNanos();
        measureEndNs = measureStartNs + plan.duration.toNanos();
        rotatedNs = measureStartNs;
        nextRotationNs = measureStartNs + plan.interval().toNanos();
        try {
            start();
            await(measureStartNs, progress, false);
            if (costMeter != null) {
                costMeter.begin();
            }
            await(measureEndNs, progress, true);
            awaitResult(progress);
            Usage usage = costMeter == null ? null : costMeter.end();
            LoadResult.Evidence evidence = stop();
            rotate(nowNs());
            return result(usage, evidence);
        } finally {
            isStopping = true;
            time.close();
        }
    }

    /** Ends a run early; {@link #run} throws. */
    public void cancel() {
        cancelled.countDown();
    }

    /** Ends a run early with its results so far; during the warm-up it equals {@link #cancel()}. */
    public void finish() {
        isFinishing = true;
        cancelled.countDown();
    }

    private void start() {
        List<RigResource> resources = new ArrayList<>();
        for (int i = 0; i < plan.resources; i++) {
            resources.add(new RigResource(auditor.resource(plan.names.apply(i))));
        }
        RigResource hot = plan.hotShare > 0
                ? new RigResource(auditor.resource(plan.names.apply(LoadPlan.COMMON)))
                : null;
        for (int i = 0; i < plan.inFlight; i++) {
            List<RigResource> own = new ArrayList<>();
            for (int k = i % plan.resources; k < plan.resources; k += plan.inFlight) {
                own.add(resources.get(k));
            }
            int locals = sessions.size() - (plan.isMixed() ? 1 : 0);
            LoadCycle cycle = new LoadCycle(this, i, sessions.get(place(i, locals)), own, hot);
            if (plan.isMixed()) {
                cycle.shareWith(sessions.get(locals), own);
            }
            cycles.add(cycle);
        }
        if (plan.loop == LoopKind.OPEN) {
            openLoop = new OpenLoop(this, startNs);
            cycles.forEach(openLoop::add);
            time.pace(openLoop, openLoop.schedule().periodNs());
        } else {
            cycles.forEach(cycle -> cycle.begin(nowNs()));
        }
    }

    private void await(long deadlineNs, Progress progress, boolean isMeasuring) throws InterruptedException {
        for (long leftNs = deadlineNs - nowNs(); leftNs > 0; leftNs = deadlineNs - nowNs()) {
            if (time.await(cancelled, nowNs() + Math.min(leftNs, TICK_NS))) {
                if (isFinishing && isMeasuring) {
                    measureEndNs = nowNs();
                    return;
                }
                throw new InterruptedException("the run was cancelled");
            }
            long nowNs = nowNs();
            if (isMeasuring && nowNs - nextRotationNs >= 0 && measureEndNs - nowNs > 0) {
                rotate(nowNs);
                nextRotationNs += plan.interval().toNanos();
            }
            progress.onProgress(nowNs - startNs, isMeasuring);
        }
    }

    /** A busy machine may give this process no time until the end: a closed loop then runs until a cycle has ended. */
    private void awaitResult(Progress progress) throws InterruptedException {
        long limitNs = measureEndNs + RESULT_LIMIT.toNanos();
        while (openLoop == null && !isFinishing && limitNs - measureEndNs > 0
                && cycles.stream().noneMatch(LoadCycle::hasResult)) {
            measureEndNs = nowNs() + TICK_NS;
            await(measureEndNs, progress, true);
        }
    }

    private void rotate(long nowNs) {
        long fromMs = offsetMs(rotatedNs);
        for (LatencyRecorder recorder : recorders) {
            recorder.rotate(fromMs, offsetMs(nowNs) - fromMs, log);
        }
        rotatedNs = nowNs;
    }

    /** Starts no more cycles and waits for those in flight. The result is the state at the end of the recorded time. */
    private LoadResult.Evidence stop() throws InterruptedException {
        long nowNs = nowNs();
        long intended = 0;
        long unfinished = 0;
        long unfinishedMax = 0;
        isStopping = true;
        if (openLoop != null) {
            // The pacer may be late with the last sends.
            openLoop.onDue(nowNs);
            SendSchedule schedule = openLoop.schedule();
            intended = schedule.intendedWithin(measureEndNs - startNs)
                    - schedule.intendedWithin(measureStartNs - startNs);
            unfinished = openLoop.unfinished();
            unfinishedMax = schedule.unfinishedMax(intended, plan.hold.plus(plan.waitBudget));
            openLoop.stop(unfinished > unfinishedMax, nowNs);
        }
        Duration limit = DRAIN_LIMIT.plus(plan.hold).plus(plan.waitBudget);
        boolean isDrained = time.await(ended, nowNs + limit.toNanos());
        int left = openLoop == null ? (int) ended.getCount() : openLoop.pending();
        return new LoadResult.Evidence(isDrained ? 0 : left, intended, unfinished, unfinishedMax, auditor.examples());
    }

    private LoadResult result(Usage usage, LoadResult.Evidence evidence) {
        Map<String, OperationResult> operations = new LinkedHashMap<>();
        recorders.forEach(recorder -> operations.put(recorder.operation(), recorder.result()));
        Map<String, Long> acquired = new LinkedHashMap<>();
        for (AcquireOutcome.Kind verdict : AcquireOutcome.Kind.values()) {
            acquired.put(verdict.name(), count(verdict));
        }
        Map<String, Long> released = new LinkedHashMap<>();
        for (ReleaseOutcome verdict : ReleaseOutcome.values()) {
            released.put(verdict.name(), cycles.stream().mapToLong(cycle -> cycle.count(verdict)).sum());
        }
        long done = cycleRecorder.count() - (openLoop == null ? 0 : openLoop.dropped());
        Tally tally = new Tally(done, done * 1e9 / (measureEndNs - measureStartNs), acquired, released,
                auditor.holdingCount(), auditor.overlapCount());
        Span span = new Span(offsetMs(measureStartNs), plan.warmup.toMillis(),
                TimeUnit.NANOSECONDS.toMillis(measureEndNs - measureStartNs));
        return new LoadResult(plan, span, tally, operations, usage, cycleRecorder.countByThread(), figures(),
                evidence);
    }

    private Map<String, Double> figures() {
        Map<String, Double> figures = new LinkedHashMap<>();
        if (plan.isContended()) {
            List<Long> held = cycles.stream().map(LoadCycle::heldCount).toList();
            figures.put("jainIndex", jainIndex(held));
            figures.put("heldPerWaiterMin", (double) held.stream().mapToLong(Long::longValue).min().orElse(0));
            figures.put("heldPerWaiterMax", (double) held.stream().mapToLong(Long::longValue).max().orElse(0));
            figures.put("neverServed", (double) held.stream().filter(count -> count == 0).count());
            figures.put("successShare", successShare());
            figures.put("refusedAttempts", (double) refusedAttempts.get());
        }
        if (openLoop != null) {
            LatencyRecorder delays = openLoop.sendDelays();
            delays.rotate(0, 0, IntervalLog.NONE);
            figures.put("sendDelayP50Us", delays.result().us(50));
            figures.put("sendDelayP99Us", delays.result().us(99));
            figures.put("sendDelayMaxUs", delays.result().histogram().getMaxValue() / NS_PER_US);
        }
        return figures;
    }

    /** Jain's index, (sum of x)^2 / (n * sum of x^2): 1 if all are equal, 1/n if one has everything, 0 if all are 0. */
    static double jainIndex(List<Long> shares) {
        double sum = shares.stream().mapToDouble(Long::doubleValue).sum();
        double squares = shares.stream().mapToDouble(share -> (double) share * share).sum();
        return squares == 0 ? 0 : sum * sum / (shares.size() * squares);
    }

    private double successShare() {
        long all = Stream.of(AcquireOutcome.Kind.values()).mapToLong(this::count).sum();
        return all == 0 ? 0 : (double) count(AcquireOutcome.Kind.ACQUIRED) / all;
    }

    private long count(AcquireOutcome.Kind verdict) {
        return cycles.stream().mapToLong(cycle -> cycle.count(verdict)).sum();
    }

    private long offsetMs(long ns) {
        return TimeUnit.NANOSECONDS.toMillis(ns - runStartNs);
    }

    /**
     * Whether a cycle belongs to the recorded time: by its end (closed loop) or its intended time (open loop). Without
     * a branch, which would first be taken at the start of the recorded time and cost compiled code.
     *
     * @return 0 if it does, otherwise 1
     */
    int outside(long intendedNs, long nowNs) {
        long decidingNs = openLoop == null ? nowNs : intendedNs;
        return (int) ((decidingNs - measureStartNs | measureEndNs - 1 - decidingNs) >>> 63);
    }

    /** The same for an acquire, except that a wait across the end of the recorded time counts with its full length. */
    int outsideOfWait(long intendedNs, long nowNs) {
        boolean isLateWait = openLoop == null && nowNs - measureEndNs >= 0
                && intendedNs - measureEndNs < 0;
        return isLateWait ? 0 : outside(intendedNs, nowNs);
    }

    /** A cycle has ended: in a closed loop the next one is due at once. */
    void onIdle(LoadCycle cycle, long nowNs) {
        if (openLoop != null) {
            openLoop.onIdle(cycle, nowNs);
        } else if (isStopping) {
            ended.countDown();
        } else {
            cycle.begin(nowNs);
        }
    }

    void onDrained(boolean isDrained) {
        if (isDrained) {
            ended.countDown();
        }
    }

    /** Retries a rejected attempt as long as its cycle may wait; any other failure ends the cycle. */
    void onFailed(LoadCycle cycle, AcquireOutcome.Kind verdict, long nowNs) {
        boolean isRefused = verdict == AcquireOutcome.Kind.CONTENDED && !plan.waitBudget.isZero();
        if (isRefused) {
            refusedAttempts.incrementAndGet();
            if (isStopping) {
                onIdle(cycle, nowNs);
                return;
            }
            if (cycle.intendedNs() + plan.waitBudget.toNanos() - nowNs > 0) {
                time.schedule(cycle::proceed, cycle.randomNs(RETRY_NS_MIN, RETRY_NS_MAX));
                return;
            }
        }
        cycle.onOutcome(isRefused ? AcquireOutcome.Kind.TIMED_OUT : verdict);
        onFailedCycle(cycle, verdict, nowNs);
    }

    /** In a closed loop the next cycle starts after a delay, so that a client that fails at once does not spin. */
    private void onFailedCycle(LoadCycle cycle, AcquireOutcome.Kind verdict, long nowNs) {
        if (openLoop != null) {
            openLoop.onIdle(cycle, nowNs);
        } else if (isStopping || verdict == AcquireOutcome.Kind.CLOSED) {
            ended.countDown();
        } else {
            time.schedule(() -> cycle.begin(nowNs()), RETRY_NS_MIN);
        }
    }

    /** The lock is held: releases it now, or after the hold time. */
    void onHeld(LoadCycle cycle) {
        if (holdNs == 0 || isStopping) {
            cycle.proceed();
        } else {
            time.schedule(cycle::proceed, holdNs);
        }
    }

    long nowNs() {
        return time.nowNs();
    }

    LoadPlan plan() {
        return plan;
    }

    SlowCycles slowCycles() {
        return slowCycles;
    }
}
