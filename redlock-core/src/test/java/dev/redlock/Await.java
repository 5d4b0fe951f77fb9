package dev.redlock;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for a condition instead of for a time. */
public final class Await {

    private static final long LIMIT_NS = Duration.ofSeconds(20).toNanos();

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
            Thread.yield();
        }
    }
}
