package dev.redlock.loadtest.scenario;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Prints the events of a scenario with their times, and fails the scenario at an unexpected state.
 *
 * @threading caller-confined
 */
public final class Timeline {
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);
    private static final long POLL_MS = 2;

    private final PrintWriter out;
    private final long startNs = System.nanoTime();

    public Timeline(PrintWriter out) {
        this.out = out;
    }

    void log(String what) {
        out.printf("  %9.1f ms  %s%n", (System.nanoTime() - startNs) / 1e6, what);
        out.flush();
    }

    /** Prints a state, or fails if it is not met. */
    void expect(String what, boolean isSo) {
        if (!isSo) {
            throw new AssertionError("not so: " + what);
        }
        log(what);
    }

    void await(String what, Callable<Boolean> isMet) throws Exception {
        long deadlineNs = System.nanoTime() + LIMIT_NS;
        while (!isMet.call()) {
            if (deadlineNs - System.nanoTime() < 0) {
                throw new AssertionError("not within " + TimeUnit.NANOSECONDS.toMillis(LIMIT_NS) + " ms: " + what);
            }
            new CountDownLatch(1).await(POLL_MS, TimeUnit.MILLISECONDS);
        }
        log(what);
    }
}
