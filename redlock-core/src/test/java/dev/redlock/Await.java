package dev.redlock;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for a condition instead of for a time. */
public final class Await {

    private static final long LIMIT_NS = Duration.ofSeconds(20).toNanos();
    /** A thread that looks without a pause takes the processor from those whose work it awaits. */
    private static final long PAUSE_US = 200;
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    private Await() {
    }

    /** Polls the condition; fails after 20 s. */
    public static void until(String what, BooleanSupplier condition) {
        until(() -> what, condition);
    }

    public static void until(Supplier<String> what, BooleanSupplier condition) {
        long startNs = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - startNs > LIMIT_NS) {
                fail("not within 20 s: " + what.get());
            }
            pause();
        }
    }

    private static void pause() {
        if (Thread.currentThread().isInterrupted()) {
            Thread.yield();
            return;
        }
        try {
            NEVER.await(PAUSE_US, TimeUnit.MICROSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
