package dev.redlock.loadtest.rig;

import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The machine's clock and two daemon threads: one for what comes later, one that paces. The CPU time and the bytes of
 * both are known, so that they can be taken off the client's.
 *
 * @threading any thread
 */
final class SystemRigTime implements RigTime {
    /** A sleeping thread wakes up about this much too late, so the pacer spins for the last bit. */
    private static final long SPIN_NS_MAX = 60_000;
    /** The pacer takes at most this share of a core from the client and the servers; then it sends a little late. */
    private static final int SPIN_SHARE_OF_PERIOD = 5;

    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "load-later");
        thread.setDaemon(true);
        return thread;
    });
    private volatile boolean isClosed;
    private volatile Thread pacing;
    private volatile long pacedCpuNs;

    @Override
    public long nowNs() {
        return System.nanoTime();
    }

    @Override
    public boolean await(CountDownLatch latch, long deadlineNs) throws InterruptedException {
        return latch.await(Math.max(0, deadlineNs - nowNs()), TimeUnit.NANOSECONDS);
    }

    @Override
    public void schedule(Runnable task, long delayNs) {
        try {
            later.schedule(task, delayNs, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            // Closed: the run is over, and what would come later never comes.
            return;
        }
    }

    @Override
    public void pace(Pacer pacer, long periodNs) {
        long spinNs = Math.min(SPIN_NS_MAX, periodNs / SPIN_SHARE_OF_PERIOD);
        Thread thread = new Thread(() -> {
            boolean hasMore = true;
            while (hasMore && !isClosed) {
                awaitExactly(pacer.nextNs(), spinNs);
                hasMore = pacer.onDue(nowNs());
            }
            // A thread that has ended cannot be asked any more.
            pacedCpuNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        }, "load-pacer");
        thread.setDaemon(true);
        pacing = thread;
        thread.start();
    }

    private void awaitExactly(long dueNs, long spinNs) {
        for (long leftNs = dueNs - nowNs(); leftNs > 0 && !isClosed; leftNs = dueNs - nowNs()) {
            if (leftNs > spinNs) {
                LockSupport.parkNanos(leftNs - spinNs);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** CPU time of the pacing thread: not the client's. */
    long pacerCpuNs() {
        Thread thread = pacing;
        long aliveNs = thread == null ? 0 : ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId());
        return Math.max(pacedCpuNs, aliveNs);
    }

    @Override
    public void close() {
        isClosed = true;
        later.shutdownNow();
        LockSupport.unpark(pacing);
    }
}
