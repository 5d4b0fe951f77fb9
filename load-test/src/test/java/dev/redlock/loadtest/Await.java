package dev.redlock.loadtest;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Waits for conditions on real servers: looks again and again, up to a limit. */
public final class Await {
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);
    private static final long POLL_MS = 5;

    private Await() {
    }

    /** Something that may throw. */
    @FunctionalInterface
    public interface Condition {
        boolean isMet() throws Exception;
    }

    public static void until(String what, Condition condition) throws Exception {
        until(what, TimeUnit.NANOSECONDS.toMillis(LIMIT_NS), condition);
    }

    public static void until(String what, long limitMs, Condition condition) throws Exception {
        until(() -> what, limitMs, condition);
    }

    /** What is awaited may show what there is instead. */
    public static void until(Supplier<String> what, Condition condition) throws Exception {
        until(what, TimeUnit.NANOSECONDS.toMillis(LIMIT_NS), condition);
    }

    private static void until(Supplier<String> what, long limitMs, Condition condition) throws Exception {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs);
        while (!condition.isMet()) {
            if (deadlineNs - System.nanoTime() < 0) {
                throw new AssertionError("not within " + limitMs + " ms: " + what.get());
            }
            new CountDownLatch(1).await(POLL_MS, TimeUnit.MILLISECONDS);
        }
    }
}
