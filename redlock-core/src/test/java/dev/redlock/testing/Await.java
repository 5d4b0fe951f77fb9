package dev.redlock.testing;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for a condition instead of for a time. */
public final class Await {

    private static final long LIMIT_NS = Duration.ofSeconds(60).toNanos();
    /** A thread that looks without a pause takes the processor from those whose work it awaits. */
    private static final long PAUSE_US = 200;
    private static final long LONG_PAUSE_US = 2_000;
    /** Most conditions are met within this number of looks. */
    private static final int SHORT_PAUSES = 25;
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    private Await() {
    }

    /** Polls the condition; fails after 60 s. */
    public static void until(String what, BooleanSupplier condition) {
        until(() -> what, condition);
    }

    public static void until(Supplier<String> what, BooleanSupplier condition) {
        long startNs = System.nanoTime();
        for (int i = 0; !condition.getAsBoolean(); i++) {
            if (System.nanoTime() - startNs > LIMIT_NS) {
                fail("not within 60 s: " + what.get());
            }
            pause(i < SHORT_PAUSES ? PAUSE_US : LONG_PAUSE_US);
        }
    }

    /** Between the rounds of a load that lasts for a given time: without it, the load takes a whole processor. */
    public static void pauseOfLoad() {
        pause(LONG_PAUSE_US);
    }

    private static void pause(long us) {
        if (Thread.currentThread().isInterrupted()) {
            Thread.yield();
            return;
        }
        try {
            NEVER.await(us, TimeUnit.MICROSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
