package dev.redlock.jmh.lock;

import java.util.concurrent.locks.LockSupport;

/**
 * A thread that calls when something is due. It sleeps in between; a sleeper wakes up some 50 us late, so it spins for
 * the last bit, but for a fifth of the time at most: the cores belong to what is measured. Whoever is called late
 * counts from the intended time all the same.
 *
 * @threading any thread
 */
final class Pacer {

    private static final long SPIN_NS_MAX = 60_000;
    private static final int SPIN_SHARE_OF_PERIOD = 5;
    /** How soon what found no slot is tried again. */
    private static final long BACKLOG_NS = 20_000;

    private final CycleLoad load;
    private final SendSchedule schedule;
    private final Thread thread = new Thread(this::run, "pacer");
    private volatile boolean isStopping;

    Pacer(final CycleLoad load, final SendSchedule schedule) {
        this.load = load;
        this.schedule = schedule;
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    private void run() {
        final long spinNs = Math.min(SPIN_NS_MAX, (long) schedule.periodNs() / SPIN_SHARE_OF_PERIOD);
        boolean isBehind = false;
        long due = 0;
        while (!isStopping && (isBehind || due < schedule.total())) {
            awaitUntil(isBehind ? System.nanoTime() + BACKLOG_NS : schedule.intendedNs(due), spinNs);
            final long nowNs = System.nanoTime();
            isBehind = load.onDue(nowNs);
            due = schedule.due(nowNs);
        }
    }

    private void awaitUntil(final long untilNs, final long spinNs) {
        for (long leftNs = untilNs - System.nanoTime(); leftNs > 0 && !isStopping; leftNs = untilNs
                - System.nanoTime()) {
            if (leftNs > spinNs) {
                LockSupport.parkNanos(leftNs - spinNs);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** Waits until everything that was due has begun. */
    void awaitEnd() throws InterruptedException {
        thread.join();
    }

    /** Calls no more. */
    void stop() {
        isStopping = true;
        LockSupport.unpark(thread);
    }
}
