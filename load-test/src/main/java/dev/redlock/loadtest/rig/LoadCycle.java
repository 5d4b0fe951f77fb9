package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.driver.AcquireVerdict;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.LockSpec;
import dev.redlock.loadtest.driver.ReleaseVerdict;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One cycle in flight: acquire, release, and again when the rig starts it. A driver may report an outcome before its
 * call returns; the turn counter turns this recursion into a loop.
 *
 * @threading any thread, one turn at a time
 */
final class LoadCycle implements LockListener {
    private final LoadTestRig rig;
    private final long holder;
    private final List<Target> own = new ArrayList<>();
    private final Target hot;
    private final SplittableRandom random;
    private final AtomicInteger turns = new AtomicInteger();
    private Target target;
    private int nextOwn;
    private boolean isHolding;
    private long intendedNs;
    private long releaseNs;
    private long heldCount;

    /**
     * A resource, and the handle to lock it.
     *
     * @param resource the resource
     * @param handle   the handle of this cycle
     * @threading immutable
     */
    private record Target(RigResource resource, LockHandle handle) {
    }

    LoadCycle(LoadTestRig rig, long holder, LockSession session, List<RigResource> own, RigResource hot) {
        this.rig = rig;
        this.holder = holder;
        this.random = new SplittableRandom(rig.plan().seed() + holder);
        own.forEach(resource -> this.own.add(target(session, resource)));
        this.hot = hot == null ? null : target(session, hot);
    }

    private Target target(LockSession session, RigResource resource) {
        LoadPlan plan = rig.plan();
        LockSpec spec = LockSpec.of(resource.name(), plan.ttl());
        if (plan.isWaitingByClient() || plan.isFenced()) {
            spec = new LockSpec(resource.name(), plan.ttl(),
                    plan.isWaitingByClient() ? plan.waitBudget() : spec.waitBudget(),
                    plan.isFenced());
        }
        return new Target(resource, session.handle(spec, this));
    }

    /** Starts a cycle; latency counts from the intended time. */
    void begin(long atNs) {
        intendedNs = atNs;
        target = next();
        turn();
    }

    private Target next() {
        if (hot != null && random.nextDouble() < rig.plan().hotShare()) {
            return hot;
        }
        nextOwn = nextOwn + 1 == own.size() ? 0 : nextOwn + 1;
        return own.get(nextOwn);
    }

    /** Takes the next step: releases the lock if it is held, otherwise acquires it. */
    void turn() {
        if (turns.getAndIncrement() != 0) {
            return;
        }
        do {
            step();
        } while (turns.decrementAndGet() != 0);
    }

    private void step() {
        if (isHolding) {
            releaseNs = rig.nowNs();
            target.resource().leave(holder, releaseNs);
            target.handle().release();
        } else {
            target.handle().acquire();
        }
    }

    @Override
    public void onAcquire(AcquireVerdict verdict, long validityNs) {
        long nowNs = rig.nowNs();
        if (verdict != AcquireVerdict.ACQUIRED) {
            rig.onFailed(this, verdict, nowNs);
            return;
        }
        rig.count(verdict);
        long handoverNs = target.resource().enter(holder, intendedNs, nowNs, nowNs + validityNs);
        if (rig.isRecorded(intendedNs, nowNs)) {
            heldCount++;
        }
        if (rig.isWaitRecorded(intendedNs, nowNs)) {
            rig.acquireRecorder().record(nowNs - intendedNs);
            if (handoverNs >= 0) {
                rig.handoverRecorder().record(handoverNs);
            }
        }
        isHolding = true;
        rig.onHeld(this);
    }

    @Override
    public void onRelease(ReleaseVerdict verdict) {
        long nowNs = rig.nowNs();
        rig.count(verdict);
        if (rig.isRecorded(intendedNs, nowNs)) {
            rig.releaseRecorder().record(nowNs - releaseNs);
            rig.cycleRecorder().record(nowNs - intendedNs);
        }
        isHolding = false;
        rig.onCycled();
        rig.onIdle(this, nowNs);
    }

    long intendedNs() {
        return intendedNs;
    }

    /** A random delay, different for each cycle. */
    long randomNs(long minNs, long maxNs) {
        return random.nextLong(minNs, maxNs + 1);
    }

    /** Locks held in the recorded time; valid after the load has stopped. */
    long heldCount() {
        return heldCount;
    }
}
