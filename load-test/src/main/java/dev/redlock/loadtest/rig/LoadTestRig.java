package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.driver.AcquireVerdict;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.ReleaseVerdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;

/**
 * Runs one plan against one open session. The load runs on the client's own threads: each outcome starts the next call,
 * so nothing stands between the client and its measurement.
 *
 * @threading any thread; {@link #run} once
 */
public final class LoadTestRig {
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(10);
    private static final long RETRY_DELAY_NS = TimeUnit.MILLISECONDS.toNanos(1);

    private final LoadPlan plan;
    private final List<LockSession> sessions;
    private final long holdNs;
    private final MutualExclusionAuditor auditor;
    private final LongSupplier clock;
    private final LatencyRecorder acquireRecorder = new LatencyRecorder();
    private final LatencyRecorder releaseRecorder = new LatencyRecorder();
    private final LatencyRecorder cycleRecorder = new LatencyRecorder();
    private final AtomicLongArray acquires = new AtomicLongArray(AcquireVerdict.values().length);
    private final AtomicLongArray releases = new AtomicLongArray(ReleaseVerdict.values().length);
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private final CountDownLatch ended;
    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "load-later");
        thread.setDaemon(true);
        return thread;
    });
    private long startNs;
    private volatile boolean isStopping;

    /**
     * A rig on the machine's monotonic clock.
     *
     * @param plan    what to run
     * @param sessions open clients, over which the cycles are dealt in turn; they stay open
     */
    public LoadTestRig(LoadPlan plan, List<LockSession> sessions) {
        this(plan, sessions, new MutualExclusionAuditor(), System::nanoTime);
    }

    LoadTestRig(LoadPlan plan, List<LockSession> sessions, MutualExclusionAuditor auditor, LongSupplier clock) {
        this.plan = plan;
        this.sessions = List.copyOf(sessions);
        this.holdNs = plan.hold().toNanos();
        this.auditor = auditor;
        this.clock = clock;
        this.ended = new CountDownLatch(plan.outstanding());
    }

    /**
     * Runs the plan to its end.
     *
     * @param progress told how far it is
     * @return what was measured
     * @throws InterruptedException if the thread is interrupted or {@link #cancel()} is called; the load has stopped
     */
    public LoadResult run(LoadProgress progress) throws InterruptedException {
        startNs = nowNs();
        try {
            start();
            await(plan.warmup(), progress, false);
            long measureNs = nowNs();
            openRecorders();
            await(plan.duration(), progress, true);
            long elapsedNs = nowNs() - measureNs;
            closeRecorders();
            return result(elapsedNs, drain());
        } finally {
            isStopping = true;
            later.shutdownNow();
        }
    }

    /** Ends a run early; {@link #run} throws. */
    public void cancel() {
        cancelled.countDown();
    }

    private void start() {
        List<MutualExclusionAuditor.Resource> resources = new ArrayList<>();
        for (int i = 0; i < plan.resources(); i++) {
            resources.add(auditor.resource(plan.keyPrefix() + i));
        }
        for (int i = 0; i < plan.outstanding(); i++) {
            LockSession session = sessions.get(i % sessions.size());
            new LoadCycle(this, i, session, resources.get(i % plan.resources())).begin(nowNs());
        }
    }

    private void await(Duration span, LoadProgress progress, boolean isMeasuring) throws InterruptedException {
        long deadlineNs = nowNs() + span.toNanos();
        for (long leftNs = deadlineNs - nowNs(); leftNs > 0; leftNs = deadlineNs - nowNs()) {
            if (cancelled.await(Math.min(leftNs, TICK_NS), TimeUnit.NANOSECONDS)) {
                throw new InterruptedException("the run was cancelled");
            }
            progress.onProgress(nowNs() - startNs, isMeasuring);
        }
    }

    private int drain() throws InterruptedException {
        isStopping = true;
        return ended.await(DRAIN_LIMIT.toNanos(), TimeUnit.NANOSECONDS) ? 0 : (int) ended.getCount();
    }

    private void openRecorders() {
        acquireRecorder.open();
        releaseRecorder.open();
        cycleRecorder.open();
    }

    private void closeRecorders() {
        acquireRecorder.close();
        releaseRecorder.close();
        cycleRecorder.close();
    }

    private LoadResult result(long elapsedNs, int stuck) {
        Map<AcquireVerdict, Long> acquired = new EnumMap<>(AcquireVerdict.class);
        for (AcquireVerdict verdict : AcquireVerdict.values()) {
            acquired.put(verdict, acquires.get(verdict.ordinal()));
        }
        Map<ReleaseVerdict, Long> released = new EnumMap<>(ReleaseVerdict.class);
        for (ReleaseVerdict verdict : ReleaseVerdict.values()) {
            released.put(verdict, releases.get(verdict.ordinal()));
        }
        return new LoadResult(plan, elapsedNs, acquireRecorder.histogram(), releaseRecorder.histogram(),
                cycleRecorder.histogram(), acquired, released, stuck, auditor.holdingCount(), auditor.examples());
    }

    /** A cycle has ended: in a closed loop the next one is due at once. */
    void onIdle(LoadCycle cycle, long nowNs) {
        if (isStopping) {
            ended.countDown();
        } else {
            cycle.begin(nowNs);
        }
    }

    /** A failed attempt is made again a moment later, so that a client that fails at once is not spun. */
    void onFailed(LoadCycle cycle, AcquireVerdict verdict) {
        if (isStopping || verdict == AcquireVerdict.CLOSED) {
            ended.countDown();
        } else {
            later.schedule(() -> cycle.begin(nowNs()), RETRY_DELAY_NS, TimeUnit.NANOSECONDS);
        }
    }

    /** The lock is held: release it now, or when it has been held long enough. */
    void onHeld(LoadCycle cycle) {
        if (holdNs == 0 || isStopping) {
            cycle.turn();
        } else {
            later.schedule(cycle::turn, holdNs, TimeUnit.NANOSECONDS);
        }
    }

    void count(AcquireVerdict verdict) {
        acquires.incrementAndGet(verdict.ordinal());
    }

    void count(ReleaseVerdict verdict) {
        releases.incrementAndGet(verdict.ordinal());
    }

    long nowNs() {
        return clock.getAsLong();
    }

    LoadPlan plan() {
        return plan;
    }

    MutualExclusionAuditor auditor() {
        return auditor;
    }

    LatencyRecorder acquireRecorder() {
        return acquireRecorder;
    }

    LatencyRecorder releaseRecorder() {
        return releaseRecorder;
    }

    LatencyRecorder cycleRecorder() {
        return cycleRecorder;
    }
}
