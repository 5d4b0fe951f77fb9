package dev.redlock.loadtest.rig;

import java.util.ArrayDeque;

/**
 * Deals intended send times to idle cycles. What finds no cycle idle waits here, and keeps its intended time.
 *
 * @threading any thread
 */
final class OpenLoop implements RigTime.Pacer {
    private final LoadTestRig rig;
    private final ArrayDeque<LoadCycle> idle = new ArrayDeque<>();
    private final double periodNs;
    private final long startNs;
    private final long sendsTotal;
    private final LatencyRecorder sendDelays = new LatencyRecorder("sendDelay");
    private long due;
    private long begun;
    private long finished;
    private long dropped;
    private boolean isStopping;

    OpenLoop(LoadTestRig rig, long startNs) {
        this.rig = rig;
        this.startNs = startNs;
        this.periodNs = 1e9 / rig.plan().ratePerSecond();
        long spanNs = rig.plan().warmup().plus(rig.plan().duration()).toNanos();
        this.sendsTotal = Math.max(1, (long) Math.ceil(spanNs / periodNs));
    }

    synchronized void add(LoadCycle cycle) {
        idle.add(cycle);
    }

    private long intendedNs(long send) {
        return startNs + (long) (send * periodNs);
    }

    /** How many sends are intended in a span that begins at the start of the run. */
    long intendedWithin(long spanNs) {
        return Math.min(sendsTotal, (long) Math.ceil(spanNs / periodNs));
    }

    @Override
    public synchronized long nextNs() {
        return intendedNs(due);
    }

    @Override
    public boolean onDue(long nowNs) {
        boolean isDealing = true;
        while (isDealing) {
            isDealing = dealOne(nowNs);
        }
        return hasMore();
    }

    private synchronized boolean hasMore() {
        return due < sendsTotal && !isStopping;
    }

    private boolean dealOne(long nowNs) {
        LoadCycle cycle;
        long intendedNs;
        synchronized (this) {
            if (isStopping || due == sendsTotal || intendedNs(due) - nowNs > 0) {
                return false;
            }
            due++;
            if (idle.isEmpty()) {
                return true;
            }
            // An idle cycle means that nothing waits, so this is the send that has just become due.
            cycle = idle.poll();
            intendedNs = intendedNs(begun++);
        }
        if (rig.isRecorded(intendedNs, nowNs)) {
            sendDelays.record(rig.nowNs() - intendedNs);
        }
        cycle.begin(intendedNs);
        return true;
    }

    /** A cycle has ended: it takes the longest waiting send, or is idle. */
    void onIdle(LoadCycle cycle) {
        long intendedNs;
        synchronized (this) {
            finished++;
            if (begun == due || isStopping && dropped > 0) {
                idle.add(cycle);
                rig.onDrained(isStopping && isDrained());
                return;
            }
            intendedNs = intendedNs(begun++);
        }
        cycle.begin(intendedNs);
    }

    /** Sends that should have been made by now and have not ended. */
    synchronized long unfinished() {
        return due - finished;
    }

    /**
     * Nothing more will be due. Sends that were not begun are begun yet, or dropped with the time they have waited as
     * their latency: too short, and long enough to be seen.
     */
    synchronized void stop(boolean isDropping, long nowNs) {
        isStopping = true;
        if (isDropping) {
            for (long send = begun; send < due; send++) {
                long intendedNs = intendedNs(send);
                if (rig.isRecorded(intendedNs, nowNs)) {
                    rig.acquireRecorder().record(nowNs - intendedNs);
                    rig.cycleRecorder().record(nowNs - intendedNs);
                }
            }
            dropped = due - begun;
        }
        rig.onDrained(isDrained());
    }

    private boolean isDrained() {
        return due - dropped == finished;
    }

    /** Sends that were begun and have not ended. */
    synchronized int pending() {
        return (int) (due - dropped - finished);
    }

    synchronized long dropped() {
        return dropped;
    }

    /** How late the pacer itself was, when a cycle stood idle. */
    LatencyRecorder sendDelays() {
        return sendDelays;
    }
}
