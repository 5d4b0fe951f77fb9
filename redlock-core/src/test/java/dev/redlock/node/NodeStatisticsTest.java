package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

/** Each event increments its counter. */
class NodeStatisticsTest {

    private final NodeStatistics statistics = new NodeStatistics();

    private void assertCounts(long... expected) {
        assertArrayEquals(expected,
                new long[]{statistics.read(NodeCounter.GRANTED), statistics.read(NodeCounter.REFUSED),
                    statistics.read(NodeCounter.ERRORS),
                    statistics.read(NodeCounter.DISCONNECTS), statistics.read(NodeCounter.CLOCK_JUMPS),
                    statistics.read(NodeCounter.UNDELIVERED),
                    statistics.read(NodeCounter.UNDELIVERED_DROPPED),
                    statistics.read(NodeCounter.UNDELIVERED_DELIVERED),
                    statistics.read(NodeCounter.UNDELIVERED_REFUSED)});
    }

    @Test
    void eachEventHasItsCounter() {
        assertCounts(0, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.add(NodeCounter.GRANTED);
        assertCounts(1, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.add(NodeCounter.REFUSED);
        statistics.add(NodeCounter.REFUSED);
        assertCounts(1, 2, 0, 0, 0, 0, 0, 0, 0);
        statistics.add(NodeCounter.ERRORS);
        assertCounts(1, 2, 1, 0, 0, 0, 0, 0, 0);
        statistics.add(NodeCounter.DISCONNECTS);
        statistics.add(NodeCounter.CLOCK_JUMPS);
        assertCounts(1, 2, 1, 1, 1, 0, 0, 0, 0);
        statistics.set(NodeCounter.UNDELIVERED, 7);
        statistics.set(NodeCounter.UNDELIVERED_DROPPED, 3);
        assertCounts(1, 2, 1, 1, 1, 7, 3, 0, 0);
        statistics.set(NodeCounter.UNDELIVERED, 2);
        statistics.set(NodeCounter.UNDELIVERED_DROPPED, 4);
        statistics.add(NodeCounter.UNDELIVERED_DELIVERED);
        statistics.add(NodeCounter.UNDELIVERED_REFUSED);
        assertCounts(1, 2, 1, 1, 1, 2, 4, 1, 1);
    }
}
