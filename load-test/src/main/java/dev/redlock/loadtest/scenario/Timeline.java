package dev.redlock.loadtest.scenario;

import java.io.PrintWriter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Tells what happens and when, and ends a scenario that does not go as told.
 *
 * @threading caller-confined
 */
public final class Timeline {
    private static final long LIMIT_NS = 20_000_000_000L;
    private static final long POLL_MS = 2;

    private final PrintWriter out;
    private final long startNs = System.nanoTime();

    /**
     * Starts now.
     *
     * @param out where the lines go
     */
    public Timeline(PrintWriter out) {
        this.out = out;
    }

    /**
     * Something that may be so, and may throw.
     *
     * @threading caller-confined
     */
    @FunctionalInterface
    interface Condition {
        boolean isMet() throws Exception;
    }

    /** One line. */
    void tell(String what) {
        out.printf("  %9.1f ms  %s%n", (System.nanoTime() - startNs) / 1e6, what);
        out.flush();
    }

    /** One line, if it is so. */
    void expect(String what, boolean isSo) {
        if (!isSo) {
            throw new AssertionError("not so: " + what);
        }
        tell(what);
    }

    /** One line, when it has become so. */
    void await(String what, Condition condition) throws Exception {
        long deadlineNs = System.nanoTime() + LIMIT_NS;
        while (!condition.isMet()) {
            if (deadlineNs - System.nanoTime() < 0) {
                throw new AssertionError("not within " + LIMIT_NS / 1_000_000 + " ms: " + what);
            }
            new CountDownLatch(1).await(POLL_MS, TimeUnit.MILLISECONDS);
        }
        tell(what);
    }
}
