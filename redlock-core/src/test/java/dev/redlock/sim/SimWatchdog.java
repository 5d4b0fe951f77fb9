package dev.redlock.sim;

import java.io.PrintStream;
import java.util.Map;

/**
 * Watches a run in real time: one in which nothing happens any more prints what it was and what every thread does, and
 * fails, instead of hanging the build.
 */
final class SimWatchdog implements AutoCloseable {

    private static final int LOOKS = 4;

    private final Simulation simulation;
    private final PrintStream out;
    private final Runnable lastResort;
    private final long lookMs;
    private final Thread thread = new Thread(this::watch, "simulation-watchdog");
    private boolean isClosed;

    /**
     * Starts to watch.
     *
     * @param lastResort what to do if the run cannot be stopped, because it does not even read the clock
     */
    SimWatchdog(final Simulation simulation, final PrintStream out, final Runnable lastResort) {
        this.simulation = simulation;
        this.out = out;
        this.lastResort = lastResort;
        this.lookMs = Math.max(1, simulation.plan.stuckMs / LOOKS);
        thread.setDaemon(true);
        thread.start();
    }

    private synchronized void watch() {
        long seen = -1;
        int looks = 0;
        boolean isAborted = false;
        try {
            while (!isClosed) {
                wait(lookMs);
                final long now = simulation.world.stepCount();
                looks = now == seen ? looks + 1 : 0;
                seen = now;
                if (looks >= LOOKS && !isClosed) {
                    looks = 0;
                    giveUp(isAborted);
                    isAborted = true;
                }
            }
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void giveUp(final boolean isAborted) {
        if (isAborted) {
            out.println("the run cannot be stopped");
            lastResort.run();
            return;
        }
        final String what = "no event for " + simulation.plan.stuckMs + " ms of real time";
        out.println(what + "\n" + simulation.report());
        for (final Map.Entry<Thread, StackTraceElement[]> one : Thread.getAllStackTraces().entrySet()) {
            out.println(one.getKey());
            for (final StackTraceElement line : one.getValue()) {
                out.println("    at " + line);
            }
        }
        out.flush();
        simulation.world.abort(new AssertionError(what));
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        notifyAll();
    }
}
