package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WakeOrderTest {

    private static final long DELAY_NS_MAX = 200_000;
    private final WakeOrder order = new WakeOrder();

    private void wonAfter(int lossCount) {
        for (int i = 0; i < 100; i++) {
            order.onWon(lossCount);
        }
    }

    @Test
    void nobodyIsDelayedWhereNobodyLoses() {
        assertEquals(0, order.delayNs(0, DELAY_NS_MAX));
        wonAfter(0);
        assertEquals(0, order.delayNs(0, DELAY_NS_MAX));
    }

    @Test
    void aWaiterWithMoreLossesStartsSooner() {
        wonAfter(10);
        long before = order.delayNs(0, DELAY_NS_MAX);
        assertTrue(before > DELAY_NS_MAX * 9 / 10, () -> "first race: " + before);
        for (int lossCount = 1; lossCount < 10; lossCount++) {
            long delayNs = order.delayNs(lossCount, DELAY_NS_MAX);
            assertTrue(delayNs < order.delayNs(lossCount - 1, DELAY_NS_MAX), "after " + lossCount + " losses");
        }
        assertEquals(0, order.delayNs(10, DELAY_NS_MAX));
        assertEquals(0, order.delayNs(Integer.MAX_VALUE, DELAY_NS_MAX));
    }

    @Test
    void theAverageFollowsFewerLosses() {
        wonAfter(1_000);
        wonAfter(0);
        assertEquals(0, order.delayNs(0, DELAY_NS_MAX));
    }
}
