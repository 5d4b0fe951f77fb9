package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.driver.AcquireVerdict;
import dev.redlock.loadtest.driver.LockHandle;
import dev.redlock.loadtest.driver.LockListener;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.ReleaseVerdict;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One cycle in flight: acquire, release, again. A driver may report an outcome before its call returns; the turn
 * counter makes that a loop instead of a recursion.
 *
 * @threading any thread, one turn at a time
 */
final class LoadCycle implements LockListener {
    private final LoadTestRig rig;
    private final long holder;
    private final LockHandle handle;
    private final MutualExclusionAuditor.Resource audited;
    private final AtomicInteger turns = new AtomicInteger();
    private boolean isHolding;
    private long intendedNs;
    private long releaseNs;

    LoadCycle(LoadTestRig rig, long holder, LockSession session, MutualExclusionAuditor.Resource audited) {
        this.rig = rig;
        this.holder = holder;
        this.audited = audited;
        this.handle = session.handle(audited.name(), rig.plan().ttl(), this);
    }

    /** Begins a cycle; latency counts from the intended time, whenever the driver gets to it. */
    void begin(long atNs) {
        intendedNs = atNs;
        turn();
    }

    /** Takes the next step: releases what is held, or tries to get it. */
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
            audited.leave(holder);
            releaseNs = rig.nowNs();
            handle.release();
        } else {
            handle.acquire();
        }
    }

    @Override
    public void onAcquire(AcquireVerdict verdict, long validityNs) {
        long nowNs = rig.nowNs();
        rig.count(verdict);
        if (verdict != AcquireVerdict.ACQUIRED) {
            rig.onFailed(this, verdict);
            return;
        }
        rig.acquireRecorder().record(nowNs - intendedNs);
        audited.enter(holder, nowNs, nowNs + validityNs);
        isHolding = true;
        rig.onHeld(this);
    }

    @Override
    public void onRelease(ReleaseVerdict verdict) {
        long nowNs = rig.nowNs();
        rig.count(verdict);
        rig.releaseRecorder().record(nowNs - releaseNs);
        rig.cycleRecorder().record(nowNs - intendedNs);
        isHolding = false;
        rig.onIdle(this, nowNs);
    }
}
