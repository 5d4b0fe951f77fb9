package dev.redlock.engine;

/**
 * Reads the refusal of a set. The coordinator of the set numbers the clients whose sets wait for a resource, in the
 * order of their first refusals, and each refusal contains the position of the client. After a release, the client in
 * the first position starts at once and each of the others later, so that the first one meets no competitor. A client
 * that has a later position and takes its set has not harmed anybody: no safety depends on tickets, which the
 * coordinator may lose, repeat or reorder.
 *
 * @threading immutable
 */
final class Ticket {

    /** The client has no ticket. */
    static final int NONE = 0;
    /** The position of the client that is next. */
    static final int FIRST_POSITION = 1;
    private static final int POSITION_BITS = 5;
    private static final int RESOURCE_BITS = 7;
    private static final int TICKET_BITS = 10;
    private static final long TTL_MS_MAX = (1L << 31) - 1;
    private static final long NO_EXPIRY = Long.MAX_VALUE;

    private Ticket() {
    }

    /** Returns the position; 0 without a ticket. It is exact below 31, and the clients after share 31. */
    static int positionOf(long refusal) {
        return (int) (-refusal & (1 << POSITION_BITS) - 1);
    }

    /** Returns the number of the ticket; {@link #NONE} if the coordinator cannot keep tickets. */
    static int ofSet(long refusal) {
        return (int) (-refusal >>> POSITION_BITS + RESOURCE_BITS & (1 << TICKET_BITS) - 1);
    }

    /** Returns the number of the resource that has refused a set, from 1; 0 if it is unknown. */
    static int resourceOf(long refusal) {
        return (int) (-refusal >>> POSITION_BITS & (1 << RESOURCE_BITS) - 1);
    }

    /** Returns the remaining ttl of the keys in use, milliseconds; {@link Long#MAX_VALUE} for a very long one. */
    static long remainingTtlMsOfSet(long refusal) {
        long ttlMs = -refusal >>> POSITION_BITS + RESOURCE_BITS + TICKET_BITS;
        return ttlMs >= TTL_MS_MAX ? NO_EXPIRY : ttlMs;
    }
}
