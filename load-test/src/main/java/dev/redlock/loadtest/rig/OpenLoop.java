package dev.redlock.loadtest.rig;

import java.util.ArrayDeque;

/**
 * Assigns intended send times to idle cycles. A send without an idle cycle is queued here and keeps its intended time.
 *
 * @threading any thread
 */
final class OpenLoop implements Pacer.Target {
    private final LoadTestRig rig;
    private final ArrayDeque<LoadCycle> idle = new ArrayDeque<>();
    private final SendSchedule schedule;
    private final LatencyRecorder sendDelays = new LatencyRecorder("sendDelay", false);
    private long due;
    private long begun;
    private long finished;
    private long dropped;
    private boolean isStopping;

    OpenLoop(LoadTestRig rig, long startNs) {
        this.rig = rig;
        this.schedule = SendSchedule.of(startNs, rig.plan().ratePerSecond,
                rig.plan().warmup.plus(rig.plan().duration).toNanos());
    }

    synchronized void add(LoadCycle cycle) {
        idle.add(cycle);
    }

    SendSchedule schedule() {
        return schedule;
    }

    @Override
    public synchronized long nextNs() {
        return schedule.intendedNs(due);
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
        return due < schedule.total() && !isStopping;
    }

    private boolean dealOne(long nowNs) {
        LoadCycle cycle;
        long intendedNs;
        synchronized (this) {
            if (isStopping || due == schedule.total() || schedule.intendedNs(due) - nowNs > 0) {
                return false;
            }
            due++;
            if (idle.isEmpty()) {
                return true;
            }
            // An idle cycle means an empty queue, so this is the send that has just become due.
            cycle = idle.poll();
            intendedNs = schedule.intendedNs(begun++);
        }
        begin(cycle, intendedNs, nowNs);
        return true;
    }

    private void begin(LoadCycle cycle, long intendedNs, long nowNs) {
        sendDelays.writer().record(rig.outside(intendedNs, nowNs), rig.nowNs() - intendedNs);
        cycle.begin(intendedNs);
    }

    /**
     * A cycle has ended: it takes the oldest queued send, or one that has just become due, because its thread is awake
     * and that of the pacer may not be; otherwise it becomes idle.
     */
    void onIdle(LoadCycle cycle, long nowNs) {
        long intendedNs;
        boolean wasQueued;
        synchronized (this) {
            finished++;
            wasQueued = begun < due;
            if (!wasQueued && hasMore() && schedule.intendedNs(due) - nowNs <= 0) {
                due++;
            }
            if (begun == due || isStopping && dropped > 0) {
                idle.add(cycle);
                rig.onDrained(isStopping && isDrained());
                return;
            }
            intendedNs = schedule.intendedNs(begun++);
        }
        if (wasQueued) {
            cycle.begin(intendedNs);
        } else {
            begin(cycle, intendedNs, nowNs);
        }
    }

    /** Sends that are due and have not ended. */
    synchronized long unfinished() {
        return due - finished;
    }

    /**
     * Stops the schedule. Queued sends still start, or are dropped with the time in the queue as their latency. This
     * latency is too short, but long enough to be noticed.
     */
    synchronized void stop(boolean isDropping, long nowNs) {
        isStopping = true;
        if (isDropping) {
            for (long send = begun; send < due; send++) {
                long intendedNs = schedule.intendedNs(send);
                int outside = rig.outside(intendedNs, nowNs);
                rig.acquireRecorder.writer().record(outside, nowNs - intendedNs);
                rig.cycleRecorder.writer().record(outside, nowNs - intendedNs);
            }
            dropped = due - begun;
        }
        rig.onDrained(isDrained());
    }

    private boolean isDrained() {
        return due - dropped == finished;
    }

    /** Sends that have started and have not ended. */
    synchronized int pending() {
        return (int) (due - dropped - finished);
    }

    synchronized long dropped() {
        return dropped;
    }

    /** The delays of the sends that were not queued. */
    LatencyRecorder sendDelays() {
        return sendDelays;
    }
}
