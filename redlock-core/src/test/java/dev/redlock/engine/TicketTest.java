package dev.redlock.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TicketTest {

    private static final long TTL_MAX = (1L << 31) - 1;

    private static long refusal(long ttlMs, int ticket, int resource, int place) {
        return -(ttlMs * (1 << 22) + ticket * (1 << 12) + resource * (1 << 5) + place);
    }

    private static void assertRead(long ttlMs, int ticket, int resource, int place, long refusal) {
        assertEquals(ttlMs, Ticket.remainingTtlMsOfSet(refusal), () -> "ttl of " + refusal);
        assertEquals(ticket, Ticket.ofSet(refusal), () -> "ticket of " + refusal);
        assertEquals(resource, Ticket.resourceOf(refusal), () -> "resource of " + refusal);
        assertEquals(place, Ticket.positionOf(refusal), () -> "place of " + refusal);
    }

    @Test
    void readsWhatTheScriptWrites() {
        assertRead(0, Ticket.NONE, 0, 0, 0);
        assertRead(0, 2, 1, Ticket.FIRST_POSITION, refusal(0, 2, 1, 1));
        assertRead(10_000, 1_023, 127, 31, refusal(10_000, 1_023, 127, 31));
        assertRead(TTL_MAX - 1, 1, 2, 0, refusal(TTL_MAX - 1, 1, 2, 0));
        assertRead(Long.MAX_VALUE, 0, 2, 0, refusal(TTL_MAX, 0, 2, 0));
    }

    /** A faulty node may reply with any number. */
    @Test
    void anyReplyGivesValuesInRange() {
        for (long refusal : new long[]{Long.MIN_VALUE, Long.MIN_VALUE + 1, -9_007_199_254_740_991L, -1}) {
            int place = Ticket.positionOf(refusal);
            int ticket = Ticket.ofSet(refusal);
            int resource = Ticket.resourceOf(refusal);
            assertEquals(place, Math.max(0, Math.min(31, place)));
            assertEquals(ticket, Math.max(0, Math.min(1_023, ticket)));
            assertEquals(resource, Math.max(0, Math.min(127, resource)));
            assertEquals(refusal == -1 ? 0 : Long.MAX_VALUE, Ticket.remainingTtlMsOfSet(refusal));
        }
    }
}
