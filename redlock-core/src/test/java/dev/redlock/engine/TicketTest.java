package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TicketTest {

    private static void assertRead(long ttlMs, int ticket, int place, long refusal) {
        assertEquals(ttlMs, Ticket.remainingTtlMsOf(refusal), () -> "ttl of " + refusal);
        assertEquals(ticket, Ticket.numberOf(refusal), () -> "ticket of " + refusal);
        assertEquals(place, Ticket.positionOf(refusal), () -> "place of " + refusal);
    }

    @Test
    void readsWhatTheScriptWrites() {
        assertRead(0, Ticket.NONE, 0, 0);
        assertRead(0, 2, Ticket.FIRST_POSITION, -(2 * 32 + 1));
        assertRead(10_000, 32_767, 31, -(10_000L * (1 << 20) + 32_767 * 32 + 31));
        assertRead((1L << 32) - 2, 1, 0, -(((1L << 32) - 2) * (1 << 20) + 32));
        assertRead(Long.MAX_VALUE, 1, 0, -(((1L << 32) - 1) * (1 << 20) + 32));
    }

    @Test
    void aTicketIsAwaitedUntilItIsGrantedOrPassed() {
        assertFalse(Ticket.isAwaited(0), "no key");
        assertTrue(Ticket.isAwaited(65_536));
        assertFalse(Ticket.isAwaited(65_536 + 1));
        assertTrue(Ticket.isAwaited(40_000L * 65_536 + 7_232));
        assertFalse(Ticket.isAwaited(40_000L * 65_536 + 7_233), "the numbers start again after 32767");
    }

    /** A faulty node may reply with any number. */
    @Test
    void anyReplyGivesValuesInRange() {
        for (long refusal : new long[]{Long.MIN_VALUE, Long.MIN_VALUE + 1, -9_007_199_254_740_991L, -1}) {
            int place = Ticket.positionOf(refusal);
            int ticket = Ticket.numberOf(refusal);
            assertEquals(place, Math.max(0, Math.min(31, place)));
            assertEquals(ticket, Math.max(0, Math.min(32_767, ticket)));
            assertEquals(refusal == -1 ? 0 : Long.MAX_VALUE, Ticket.remainingTtlMsOf(refusal));
        }
    }
}
