package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

class NodeStatisticsTest {

    private final NodeStatistics statistics = new NodeStatistics();

    private void assertCounts(final long... expected) {
        assertArrayEquals(expected,
                new long[]{statistics.grantedCount(), statistics.refusedCount(), statistics.errorCount(),
                    statistics.disconnectCount(), statistics.clockJumpCount(), statistics.debtLength(),
                    statistics.debtDroppedCount(), statistics.debtPaidCount(), statistics.debtRefusedCount()});
    }

    @Test
    void eachEventHasItsCounter() {
        assertCounts(0, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.onReply(Verb.ACQUIRE, 1);
        assertCounts(1, 0, 0, 0, 0, 0, 0, 0, 0);
        statistics.onReply(Verb.ACQUIRE, 0);
        statistics.onReply(Verb.ACQUIRE_FENCED, -500);
        assertCounts(1, 2, 0, 0, 0, 0, 0, 0, 0);
        statistics.onError();
        assertCounts(1, 2, 1, 0, 0, 0, 0, 0, 0);
        statistics.onDisconnect();
        statistics.onClockJump();
        assertCounts(1, 2, 1, 1, 1, 0, 0, 0, 0);
        statistics.onDebt(7, 3);
        assertCounts(1, 2, 1, 1, 1, 7, 3, 0, 0);
        statistics.onDebt(2, 4);
        statistics.onDebtPaid();
        statistics.onDebtRefused();
        assertCounts(1, 2, 1, 1, 1, 2, 4, 1, 1);
    }

    @Test
    void onlyAcquiresAreGrantsAndRefusals() {
        statistics.onReply(Verb.RELEASE, 1);
        statistics.onReply(Verb.EXTEND, 0);
        statistics.onReply(Verb.RAISE, 1);
        statistics.onReply(Verb.RELEASE_FENCED, 1);
        assertCounts(0, 0, 0, 0, 0, 0, 0, 0, 0);
    }
}
