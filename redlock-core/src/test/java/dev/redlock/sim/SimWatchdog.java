package dev.redlock.sim;

import java.io.PrintStream;
import java.util.Map;

/**
 * Watches a run in real time. If the run is stuck, it prints the run and the stacks of all threads, and fails, instead
 * of blocking the build.
 */
final class SimWatchdog implements AutoCloseable {

    private static final int POLLS = 4;

    private final Simulation simulation;
    private final PrintStream out;
    private final Runnable lastResort;
    private final long pollMs;
    private final Thread thread = new Thread(this::watch, "simulation-watchdog");
    private boolean isClosed;

    /**
     * Starts to watch.
     *
     * @param lastResort what to do if the run cannot be stopped, because it does not even read the clock
     */
    SimWatchdog(Simulation simulation, PrintStream out, Runnable lastResort) {
        this.simulation = simulation;
        this.out = out;
        this.lastResort = lastResort;
        this.pollMs = Math.max(1, simulation.plan.stuckMs / POLLS);
        thread.setDaemon(true);
        thread.start();
    }

    private synchronized void watch() {
        long seen = -1;
        int polls = 0;
        boolean isAborted = false;
        try {
            while (!isClosed) {
                wait(pollMs);
                long now = simulation.world.stepCount();
                polls = now == seen ? polls + 1 : 0;
                seen = now;
                if (polls >= POLLS && !isClosed) {
                    polls = 0;
                    giveUp(isAborted);
                    isAborted = true;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void giveUp(boolean isAborted) {
        if (isAborted) {
            out.println("the run cannot be stopped");
            lastResort.run();
            return;
        }
        String what = "no event for " + simulation.plan.stuckMs + " ms of real time";
        out.println(what + "\n" + simulation.report());
        for (Map.Entry<Thread, StackTraceElement[]> one : Thread.getAllStackTraces().entrySet()) {
            out.println(one.getKey());
            for (StackTraceElement line : one.getValue()) {
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
