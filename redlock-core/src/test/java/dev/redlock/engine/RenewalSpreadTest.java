package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RenewalSpreadTest {

    private static final long MS = 1_000_000;
    private static final long INTERVAL_NS = 10_000 * MS;
    private static final long GROUP_NS = 1 << 21;
    private final RenewalSpread spread = new RenewalSpread(new SplittableRandom(1));

    @Test
    void oneLeaseIsExtendedAfterItsInterval() {
        for (long nowNs = 0; nowNs < 1_000; nowNs++) {
            assertEquals(INTERVAL_NS, spread.firstInNs(nowNs, INTERVAL_NS, 1));
            assertEquals(INTERVAL_NS, spread.nextInNs(nowNs, INTERVAL_NS, 1));
        }
    }

    @Test
    void aFewLeasesAreHardlyMoved() {
        for (int i = 0; i < 10_000; i++) {
            long firstNs = spread.firstInNs(i, INTERVAL_NS, 10);
            assertTrue(firstNs > INTERVAL_NS - 90 * MS - GROUP_NS && firstNs <= INTERVAL_NS, () -> firstNs + " ns");
        }
    }

    @Test
    void firstExtensionsOfManyLeasesFillTheInterval() {
        int[] parts = parts(() -> spread.firstInNs(0, INTERVAL_NS, 100_000));
        assertTrue(Arrays.stream(parts).min().orElseThrow() > 800, () -> Arrays.toString(parts));
        assertTrue(Arrays.stream(parts).max().orElseThrow() < 1_200, () -> Arrays.toString(parts));
    }

    @Test
    void laterExtensionsOfManyLeasesAreAtMostAnEighthEarlier() {
        int[] parts = parts(() -> spread.nextInNs(0, INTERVAL_NS, 100_000));
        assertEquals(0, Arrays.stream(parts, 0, 87).sum(), () -> Arrays.toString(parts));
        assertTrue(Arrays.stream(parts, 88, 100).min().orElseThrow() > 7_000, () -> Arrays.toString(parts));
    }

    /** Draws 100 000 times, and counts them in hundredths of the interval. */
    private static int[] parts(LongSupplier draw) {
        int[] parts = new int[100];
        for (int i = 0; i < 100_000; i++) {
            long inNs = draw.getAsLong();
            assertTrue(inNs >= 0 && inNs <= INTERVAL_NS, () -> inNs + " ns");
            parts[(int) Math.min(99, inNs * 100 / INTERVAL_NS)]++;
        }
        return parts;
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, GROUP_NS - 1, Long.MAX_VALUE - 5, Long.MIN_VALUE, -1})
    void extensionsOfManyLeasesAreDueInGroups(long startNs) {
        long phase = startNs + spread.firstInNs(startNs, INTERVAL_NS, 100_000) & GROUP_NS - 1;
        for (int i = 0; i < 1_000; i++) {
            long nowNs = startNs + i * 7_919L;
            assertEquals(phase, nowNs + spread.nextInNs(nowNs, INTERVAL_NS, 100_000) & GROUP_NS - 1);
        }
    }

    @Test
    void loopsExtendAtDifferentTimes() {
        RenewalSpread other = new RenewalSpread(new SplittableRandom(2));
        assertTrue((spread.firstInNs(0, INTERVAL_NS, 100_000) - other.firstInNs(0, INTERVAL_NS, 100_000)
                & GROUP_NS - 1) != 0);
    }

    @Test
    void aShortIntervalIsNeverNegative() {
        for (int i = 0; i < 10_000; i++) {
            long inNs = spread.firstInNs(i, 2 * MS, 100_000);
            assertTrue(inNs >= 0 && inNs <= 2 * MS, () -> inNs + " ns");
        }
    }

    /** A spread of less than a group is not rounded down to a group: the lease would be extended all the time. */
    @Test
    void laterExtensionsAfterAShortIntervalAreAtMostAnEighthEarlier() {
        for (int i = 0; i < 10_000; i++) {
            long inNs = spread.nextInNs(i, 8 * MS, 100_000);
            assertTrue(inNs > 7 * MS && inNs <= 8 * MS, () -> inNs + " ns");
        }
    }

    @Test
    void extensionsThatSpreadOverOneGroupAreDueInGroups() {
        long phase = spread.firstInNs(0, INTERVAL_NS, 100_000) & GROUP_NS - 1;
        for (int i = 0; i < 1_000; i++) {
            assertEquals(phase, i + spread.nextInNs(i, 8 * GROUP_NS, 100_000) & GROUP_NS - 1);
        }
    }
}
