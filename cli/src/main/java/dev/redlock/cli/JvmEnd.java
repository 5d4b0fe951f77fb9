package dev.redlock.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Whether the JVM is ending. A signal to the whole process group ends servers too, and their end may be seen before
 * this JVM starts its own.
 *
 * @threading any thread
 */
public final class JvmEnd {
    private static final long LIMIT_MS = 200;
    private static final CountDownLatch ENDING = new CountDownLatch(1);

    private JvmEnd() {
    }

    /** Called once, at the start of the program. */
    public static void watch() {
        Runtime.getRuntime().addShutdownHook(new Thread(ENDING::countDown, "jvm-end"));
    }

    /** Waits for a moment, because a failure that was caused by a signal may come first. */
    static boolean isNear() {
        try {
            return ENDING.await(LIMIT_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
