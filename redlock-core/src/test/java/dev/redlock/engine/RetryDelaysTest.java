package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** Random delays reach both ends of their range, so that the attempts of many clients spread out. */
class RetryDelaysTest {

    private static final long MS = 1_000_000;
    private static final int DRAWS = 10_000;

    private final RetryDelays delays = new RetryDelays(new SplittableRandom(0x5EED_0003L), null);

    /** The delays are in a range, and some are in the first and the last millisecond of it. */
    private static void assertSpread(long minMs, long maxMs, LongSupplier delayNs) {
        long shortestNs = Long.MAX_VALUE;
        long longestNs = Long.MIN_VALUE;
        for (int i = 0; i < DRAWS; i++) {
            long drawnNs = delayNs.getAsLong();
            shortestNs = Math.min(shortestNs, drawnNs);
            longestNs = Math.max(longestNs, drawnNs);
        }
        String range = shortestNs + " to " + longestNs + " ns";
        assertTrue(shortestNs >= minMs * MS && shortestNs < (minMs + 1) * MS, range);
        assertTrue(longestNs >= (maxMs - 1) * MS && longestNs < maxMs * MS, range);
    }

    @Test
    void backstopsAreSpread() {
        assertSpread(250, 500, delays::backstopNs);
    }

    @Test
    void delaysAfterALostRegistrationAreSpread() {
        assertSpread(0, 25, delays::unregisteredNs);
    }
}
