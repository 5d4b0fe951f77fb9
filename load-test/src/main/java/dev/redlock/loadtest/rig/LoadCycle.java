package dev.redlock.loadtest.rig;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * One cycle in flight: acquire, release, and again when the rig starts it. A driver may report an outcome before its
 * call returns; {@link #proceed} turns this recursion into a loop. Every call has one outcome, so either the calling
 * thread continues or another one does. This needs no atomic operation: a fast client has few nanoseconds per cycle.
 *
 * @threading any thread, one step at a time
 */
final class LoadCycle implements LockListener {
    private final LoadTestRig rig;
    private final long holder;
    private final boolean isAudited;
    /** Null if nobody asks for slow cycles. */
    private final SlowCycles slowCycles;
    private final boolean isContended;
    private final List<Target> own = new ArrayList<>();
    private final Target hot;
    private final boolean isOneTarget;
    /** Whether another client makes a part of the cycles. */
    private final boolean isMixed;
    /** The same resources as handles of that client. */
    private final List<Target> foreign = new ArrayList<>();
    private final SplittableRandom random;
    /** The thread inside {@link #step}. Threads may overwrite each other's mark, which costs one level of recursion. */
    private Thread stepping;
    /** The thread whose step has ended inside its own call, so that it takes the next one. */
    private Thread continuing;
    private Target target;
    private LockHandle handle;
    private int nextOwn;
    private boolean isForeign;
    /** Local cycles in a row that have ended as the plan asks. */
    private int localCount;
    private boolean isHolding;
    private long intendedNs;
    /** Known if somebody asks for slow cycles. */
    private long begunNs;
    private long releaseNs;
    private long heldCount;
    private long endedCount;
    private Thread writer;
    private LatencyRecorder.Writer acquireLatencies;
    private LatencyRecorder.Writer releaseLatencies;
    private LatencyRecorder.Writer cycleLatencies;
    // Written by one step at a time; read after the load has stopped. The usual outcomes have fields of their own,
    // because the servers clear the caches between two steps of a cycle, and each object that a step touches counts.
    private long acquiredCount;
    private long releasedCount;
    private final long[] otherAcquires = new long[AcquireOutcome.Kind.values().length];
    private final long[] otherReleases = new long[ReleaseOutcome.values().length];

    /** @threading immutable */
    private record Target(RigResource resource, LockHandle handle) {
    }

    LoadCycle(LoadTestRig rig, long holder, LockSession session, List<RigResource> own, RigResource hot) {
        this.rig = rig;
        this.holder = holder;
        this.isAudited = rig.plan().isAudited;
        this.slowCycles = rig.slowCycles();
        this.isContended = rig.plan().isContended();
        this.random = new SplittableRandom(rig.plan().seed + holder);
        own.forEach(resource -> this.own.add(target(session, resource)));
        this.hot = hot == null ? null : target(session, hot);
        this.isMixed = rig.plan().isMixed();
        this.isOneTarget = hot == null && own.size() == 1 && !isMixed;
        use(this.own.get(0));
    }

    /** The client that makes a part of the cycles of a mixed plan. */
    void shareWith(LockSession session, List<RigResource> resources) {
        resources.forEach(resource -> foreign.add(target(session, resource)));
    }

    private Target target(LockSession session, RigResource resource) {
        LoadPlan plan = rig.plan();
        Duration waitBudget = plan.isWaitingByClient ? plan.waitBudget : Duration.ZERO;
        return new Target(resource, session.handle(
                new LockSpec(resource.name(), plan.ttl, waitBudget, plan.isFenced, plan.isAudited), this));
    }

    /** Starts a cycle; latency counts from the intended time. */
    void begin(long atNs) {
        intendedNs = atNs;
        if (slowCycles != null) {
            begunNs = rig.nowNs();
        }
        if (!isOneTarget) {
            use(next());
        }
        proceed();
    }

    private void use(Target next) {
        target = next;
        handle = next.handle();
    }

    private Target next() {
        if (hot != null && random.nextDouble() < rig.plan().hotShare) {
            return hot;
        }
        // A run of local cycles stays with its resource, and so does the foreign one after it.
        if (localCount == 0) {
            nextOwn = nextOwn + 1 == own.size() ? 0 : nextOwn + 1;
        }
        if (!isMixed) {
            return own.get(nextOwn);
        }
        LoadPlan plan = rig.plan();
        isForeign = plan.foreignAfter > 0
                ? localCount >= plan.foreignAfter
                : random.nextDouble() < plan.foreignShare;
        return (isForeign ? foreign : own).get(nextOwn);
    }

    /** Takes the next step: releases the lock if it is held, otherwise acquires it. */
    void proceed() {
        Thread current = Thread.currentThread();
        if (stepping == current) {
            continuing = current;
            return;
        }
        boolean isContinuing = true;
        while (isContinuing) {
            stepping = current;
            step();
            // The other thread has this cycle, unless the outcome came inside the call.
            isContinuing = continuing == current;
            if (isContinuing) {
                continuing = null;
            }
        }
        if (stepping == current) {
            stepping = null;
        }
    }

    private void step() {
        if (isHolding) {
            if (isAudited) {
                releaseNs = rig.nowNs();
                target.resource().leave(holder, releaseNs);
            }
            handle.release();
        } else {
            handle.acquire();
        }
    }

    /** Finds the latencies of this thread. The thread of a cycle seldom changes. */
    private void useOwnLatencies() {
        Thread current = Thread.currentThread();
        if (writer != current) {
            writer = current;
            acquireLatencies = rig.acquireRecorder.writer();
            releaseLatencies = rig.releaseRecorder.writer();
            cycleLatencies = rig.cycleRecorder.writer();
        }
    }

    @Override
    public void onAcquire(AcquireOutcome.Kind verdict, long validityNs) {
        long nowNs = rig.nowNs();
        useOwnLatencies();
        if (verdict != AcquireOutcome.Kind.ACQUIRED) {
            rig.onFailed(this, verdict, nowNs);
            return;
        }
        onOutcome(verdict);
        int outside = rig.outside(intendedNs, nowNs);
        heldCount += 1 - outside;
        if (isContended) {
            outside = rig.outsideOfWait(intendedNs, nowNs);
        }
        acquireLatencies.record(outside, nowNs - intendedNs);
        if (isMixed) {
            (isForeign ? rig.foreignRecorder : rig.localRecorder).writer().record(outside, nowNs - intendedNs);
        }
        if (isAudited) {
            long handoffNs = target.resource().enter(holder, intendedNs, nowNs, nowNs + validityNs);
            if (handoffNs >= 0) {
                rig.handoffRecorder.writer().record(outside, handoffNs);
            }
        }
        isHolding = true;
        rig.onHeld(this);
    }

    @Override
    public void onRelease(ReleaseOutcome verdict) {
        long nowNs = rig.nowNs();
        useOwnLatencies();
        if (verdict == ReleaseOutcome.RELEASED) {
            releasedCount++;
        } else {
            otherReleases[verdict.ordinal()]++;
        }
        int outside = rig.outside(intendedNs, nowNs);
        endedCount += 1 - outside;
        if (isAudited) {
            releaseLatencies.record(outside, nowNs - releaseNs);
        }
        cycleLatencies.record(outside, nowNs - intendedNs);
        if (slowCycles != null && outside == 0 && nowNs - intendedNs > slowCycles.limitNs()) {
            slowCycles.add(intendedNs, begunNs, nowNs);
        }
        isHolding = false;
        if (isMixed) {
            localCount = !isForeign && verdict == rig.plan().foreignAfterOutcome ? localCount + 1 : 0;
        }
        rig.onIdle(this, nowNs);
    }

    /** An acquire has ended, with all attempts of the rig. */
    void onOutcome(AcquireOutcome.Kind verdict) {
        if (verdict == AcquireOutcome.Kind.ACQUIRED) {
            acquiredCount++;
        } else {
            otherAcquires[verdict.ordinal()]++;
        }
    }

    long count(AcquireOutcome.Kind verdict) {
        return verdict == AcquireOutcome.Kind.ACQUIRED ? acquiredCount : otherAcquires[verdict.ordinal()];
    }

    long count(ReleaseOutcome verdict) {
        return verdict == ReleaseOutcome.RELEASED ? releasedCount : otherReleases[verdict.ordinal()];
    }

    long intendedNs() {
        return intendedNs;
    }

    /** A random delay, different for each cycle. */
    long randomNs(long minNs, long maxNs) {
        return random.nextLong(minNs, maxNs + 1);
    }

    /** Whether a cycle has ended in the recorded time, or an acquire has failed. While the load runs, a late value. */
    boolean hasResult() {
        return endedCount > 0 || LongStream.of(otherAcquires).anyMatch(count -> count > 0);
    }

    /** Locks held in the recorded time; valid after the load has stopped. */
    long heldCount() {
        return heldCount;
    }
}
