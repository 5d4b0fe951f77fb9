package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Each counter changes alone. */
class CountersTest {

    private final Counters counters = new Counters(3);

    private void assertCounts(long first, long second, long third) {
        assertEquals(first, counters.read(0));
        assertEquals(second, counters.read(1));
        assertEquals(third, counters.read(2));
    }

    @Test
    void aChangeAddsToOneCounter() {
        assertCounts(0, 0, 0);
        counters.add(0, 1);
        assertCounts(1, 0, 0);
        counters.add(1, 2);
        counters.add(1, -1);
        assertCounts(1, 1, 0);
    }

    @Test
    void aSetReplacesOneCounter() {
        counters.add(1, 5);
        counters.set(2, 7);
        assertCounts(0, 5, 7);
        counters.set(2, 3);
        assertCounts(0, 5, 3);
    }
}
