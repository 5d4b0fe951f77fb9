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
    /** A sleeping thread wakes up about this much too late; the pacer yields instead for the last bit. */
    private static final long WAKE_UP_NS = 80_000;

    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "load-later");
        thread.setDaemon(true);
        return thread;
    });
    private volatile boolean isClosed;
    private volatile Thread pacing;

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
    public void pace(Pacer pacer) {
        Thread thread = new Thread(() -> {
            boolean hasMore = true;
            while (hasMore && !isClosed) {
                awaitExactly(pacer.nextNs());
                hasMore = pacer.onDue(nowNs());
            }
        }, "load-pacer");
        thread.setDaemon(true);
        pacing = thread;
        thread.start();
    }

    private void awaitExactly(long dueNs) {
        for (long leftNs = dueNs - nowNs(); leftNs > 0 && !isClosed; leftNs = dueNs - nowNs()) {
            if (leftNs > WAKE_UP_NS) {
                LockSupport.parkNanos(leftNs - WAKE_UP_NS);
            } else {
                Thread.yield();
            }
        }
    }

    /** CPU time of the pacing thread: not the client's. */
    long pacerCpuNs() {
        Thread thread = pacing;
        return thread == null ? 0 : Math.max(0, ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId()));
    }

    @Override
    public void close() {
        isClosed = true;
        later.shutdownNow();
        LockSupport.unpark(pacing);
    }
}
