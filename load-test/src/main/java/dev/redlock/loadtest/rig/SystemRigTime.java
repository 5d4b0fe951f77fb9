package dev.redlock.loadtest.rig;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The machine's clock and two daemon threads: one for scheduled tasks and a pacer. Their CPU time and bytes are known,
 * so that the cost meter can subtract them.
 *
 * @threading any thread
 */
final class SystemRigTime implements RigTime {
    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "load-later");
        thread.setDaemon(true);
        return thread;
    });
    private volatile Pacer pacer;

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
            // Closed: the run is over, and the task is discarded.
            return;
        }
    }

    @Override
    public void pace(Pacer.Target target, double periodNs) {
        pacer = new Pacer(target, periodNs);
        pacer.start();
    }

    long pacerCpuNs() {
        return pacer == null ? 0 : pacer.cpuNs();
    }

    @Override
    public void close() {
        later.shutdownNow();
        if (pacer != null) {
            pacer.stop();
        }
    }
}
