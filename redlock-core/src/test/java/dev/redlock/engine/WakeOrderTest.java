package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class WakeOrderTest {

    private static final long UNIT_NS = 200_000;
    private static final int DRAWS = 10_000;
    private final WakeOrder order = new WakeOrder(new Random(1));

    private void wonAfter(int lossCount) {
        for (int i = 0; i < 100; i++) {
            order.onWon(lossCount);
        }
    }

    private long longestDelayNs() {
        long longest = 0;
        for (int i = 0; i < DRAWS; i++) {
            long delayNs = order.delayNs(UNIT_NS);
            assertTrue(delayNs >= 0, () -> "negative delay: " + delayNs);
            longest = Math.max(longest, delayNs);
        }
        return longest;
    }

    private void assertRange(long expectedNs) {
        long longestNs = longestDelayNs();
        assertTrue(longestNs <= expectedNs && longestNs > expectedNs * 95 / 100,
                () -> "longest of " + DRAWS + " delays: " + longestNs + " ns, of a range of " + expectedNs);
    }

    @Test
    void nobodyIsDelayedWhereNobodyLoses() {
        assertEquals(0, longestDelayNs());
        wonAfter(0);
        assertEquals(0, longestDelayNs());
    }

    @Test
    void theRangeGrowsWithTheLossesBeforeAWin() {
        wonAfter(5);
        assertRange(2 * 5 * UNIT_NS);
        wonAfter(10);
        assertRange(2 * 10 * UNIT_NS);
    }

    @Test
    void theRangeIsBounded() {
        wonAfter(Integer.MAX_VALUE);
        assertRange(2L * WakeOrder.LOSSES_MAX * UNIT_NS);
    }

    @Test
    void delaysAreSpreadOverTheRange() {
        wonAfter(4);
        int[] counts = new int[8];
        for (int i = 0; i < DRAWS; i++) {
            counts[(int) (order.delayNs(UNIT_NS) * counts.length / (2 * 4 * UNIT_NS + 1))]++;
        }
        for (int count : counts) {
            // The average stays a little below 4 losses, so the last part gets fewer.
            assertTrue(count > DRAWS / counts.length / 2, () -> "delays are not even: " + count);
        }
    }

    @Test
    void theAverageFollowsFewerLosses() {
        wonAfter(1_000);
        wonAfter(0);
        assertEquals(0, longestDelayNs());
    }

    @Test
    void nobodyIsDelayedWithoutADoorkeeper() {
        wonAfter(10);
        assertEquals(0, order.delayNs(0));
    }
}
