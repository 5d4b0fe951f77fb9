package dev.redlock.engine.crowd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The refusal of an acquire in order. */
class QueueReplyTest {

    private static final long[] TTLS_MS = {0, 1, 2, 29_999, 30_000, 1L << 20, (1L << 31) - 1, (1L << 32) - 2};
    private static final int[] RANKS = {0, 1, 2, 31, 511, 1 << 16, QueueReply.RANK_UNKNOWN - 1,
        QueueReply.RANK_UNKNOWN};

    private static long refusal(long ttlMs, int rank) {
        return -(ttlMs * (1L << 20) + rank + 1);
    }

    @Test
    void hasTheTtlAndThePlace() {
        for (long ttlMs : TTLS_MS) {
            for (int rank : RANKS) {
                long refusal = refusal(ttlMs, rank);
                assertTrue(refusal < 0, "a refusal is no grant");
                assertTrue(refusal > -(1L << 53), "Lua has exact integers up to there");
                assertEquals(ttlMs, QueueReply.remainingTtlMsOf(refusal));
                assertEquals(rank, QueueReply.rankOf(refusal));
            }
        }
    }

    @Test
    void theLongestTtlIsNone() {
        assertEquals(Long.MAX_VALUE, QueueReply.remainingTtlMsOf(refusal((1L << 32) - 1, 7)));
        assertEquals(7, QueueReply.rankOf(refusal((1L << 32) - 1, 7)));
    }

    /** A hostile node may send any integer. */
    @Test
    void anyNumberIsAPlace() {
        for (long refusal : new long[]{-1, 0, -(1L << 20), Long.MIN_VALUE, Long.MIN_VALUE + 1, -(1L << 53)}) {
            int rank = QueueReply.rankOf(refusal);
            assertTrue(rank >= -1 && rank <= QueueReply.RANK_UNKNOWN, refusal + " has the place " + rank);
            assertTrue(QueueReply.remainingTtlMsOf(refusal) >= 0, refusal + " has a ttl");
        }
    }
}
