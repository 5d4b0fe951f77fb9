package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

/** Each event increments its counter. */
class NodeStatisticsTest {

    private final NodeStatistics statistics = new NodeStatistics();

    private void assertCounts(long... expected) {
        assertArrayEquals(expected,
                new long[]{statistics.grantedCount(), statistics.refusedCount(), statistics.errorCount(),
                    statistics.disconnectCount(), statistics.clockJumpCount(), statistics.undeliveredReleaseCount(),
                    statistics.undeliveredReleaseDroppedCount(), statistics.undeliveredReleaseDeliveredCount(),
                    statistics.undeliveredReleaseRefusedCount()});
    }

    @Test
    void eachEventHasItsCounter() {
        assertCounts(0, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.onVote(true);
        assertCounts(1, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.onVote(false);
        statistics.onVote(false);
        assertCounts(1, 2, 0, 0, 0, 0, 0, 0, 0);
        statistics.onError();
        assertCounts(1, 2, 1, 0, 0, 0, 0, 0, 0);
        statistics.onDisconnect();
        statistics.onClockJump();
        assertCounts(1, 2, 1, 1, 1, 0, 0, 0, 0);
        statistics.onUndeliveredReleases(7, 3);
        assertCounts(1, 2, 1, 1, 1, 7, 3, 0, 0);
        statistics.onUndeliveredReleases(2, 4);
        statistics.onUndeliveredReleaseDelivered();
        statistics.onUndeliveredReleaseRefused();
        assertCounts(1, 2, 1, 1, 1, 2, 4, 1, 1);
    }
}
