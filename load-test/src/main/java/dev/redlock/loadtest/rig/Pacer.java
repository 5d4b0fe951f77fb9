package dev.redlock.loadtest.rig;

import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * A daemon thread that calls a target at its exact times. It sleeps in between; a sleeper wakes up some 50 us late, so
 * it spins for the last bit. A target that is called late counts from the intended time.
 *
 * @threading any thread
 */
public final class Pacer {
    static final String THREAD = "load-pacer";
    private static final long SPIN_NS_MAX = 60_000;
    /** The pacer takes at most this share of a core from the client and the servers; then it calls a little late. */
    private static final int SPIN_SHARE_OF_PERIOD = 5;

    private final Target target;
    private final long spinNs;
    private final Thread thread = new Thread(this::run, THREAD);
    private volatile boolean isStopping;
    private volatile long endedCpuNs;

    /** A pacer that has not started, with a period from one call to the next. */
    public Pacer(Target target, double periodNs) {
        this.target = target;
        this.spinNs = Math.min(SPIN_NS_MAX, (long) periodNs / SPIN_SHARE_OF_PERIOD);
        thread.setDaemon(true);
    }

    public void start() {
        thread.start();
    }

    private void run() {
        boolean hasMore = true;
        while (hasMore && !isStopping) {
            awaitUntil(target.nextNs());
            hasMore = target.onDue(System.nanoTime());
        }
        // The CPU time of a thread that has ended cannot be read from outside.
        endedCpuNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private void awaitUntil(long dueNs) {
        for (long leftNs = dueNs - System.nanoTime(); leftNs > 0 && !isStopping; leftNs = dueNs - System.nanoTime()) {
            if (leftNs > spinNs) {
                LockSupport.parkNanos(leftNs - spinNs);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** The CPU time of the thread so far: not the client's. */
    long cpuNs() {
        return Math.max(endedCpuNs, ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId()));
    }

    /** Waits until the target has no more to do, or {@link #stop()} was called. */
    public void awaitEnd() throws InterruptedException {
        thread.join();
    }

    public void stop() {
        isStopping = true;
        LockSupport.unpark(thread);
    }

    /** @threading caller-confined to the pacing thread */
    public interface Target {
        /** Its time has come. Returns whether there is more to do. */
        boolean onDue(long nowNs);

        /** When to call next, on the clock of {@link System#nanoTime}; no meaning if there is nothing more to do. */
        long nextNs();
    }
}
