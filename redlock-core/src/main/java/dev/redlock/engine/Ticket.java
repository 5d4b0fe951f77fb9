package dev.redlock.engine;

/**
 * Reads the refusal of an acquire with a ticket. The coordinator numbers the clients that wait for a resource, in order
 * of their first refusals, and each refusal contains the position of the client. After a release, the client in the
 * first position starts at once and each of the others later, so that the first one meets no competitor. A client that
 * has a later position and takes the lock has not harmed anybody: no safety depends on tickets, which the coordinator
 * may lose, repeat or reorder, and which clients of earlier versions do not take.
 *
 * @threading immutable
 */
final class Ticket {

    /** The client has no ticket. */
    static final int NONE = 0;
    /** The client has no ticket, and yields: it takes the lock only if no other client has a ticket. */
    static final int YIELDING = -1;
    /** A set that does not ask its coordinator alone. */
    static final int NOT_WANTED = -1;
    /** The position of the client that is next. */
    static final int FIRST_POSITION = 1;
    private static final int POSITION_BITS = 5;
    private static final int TICKET_BITS = 15;
    private static final int GRANTED_BITS = 16;
    private static final long TTL_MS_MAX = (1L << 32) - 1;
    private static final int RESOURCE_BITS = 7;
    private static final int SET_TICKET_BITS = 10;
    private static final long SET_TTL_MS_MAX = (1L << 31) - 1;
    private static final long NO_EXPIRY = Long.MAX_VALUE;

    private Ticket() {
    }

    /** Returns the number of the ticket; {@link #NONE} if the coordinator cannot keep tickets. */
    static int numberOf(long refusal) {
        return (int) (-refusal >>> POSITION_BITS & (1 << TICKET_BITS) - 1);
    }

    /** Returns the position; 0 if the ticket has been passed. It is exact below 31, and the clients after share 31. */
    static int positionOf(long refusal) {
        return (int) (-refusal & (1 << POSITION_BITS) - 1);
    }

    /** Returns whether a client waits, by the count that the coordinator keeps; 0 without one. */
    static boolean isAwaited(long count) {
        return Math.floorMod((count >>> GRANTED_BITS) - (count & (1 << GRANTED_BITS) - 1), (1 << TICKET_BITS) - 1) > 0;
    }

    /** Returns the remaining ttl of the holder's key, milliseconds; {@link Long#MAX_VALUE} for a very long one. */
    static long remainingTtlMsOf(long refusal) {
        long ttlMs = -refusal >>> POSITION_BITS + TICKET_BITS;
        return ttlMs >= TTL_MS_MAX ? NO_EXPIRY : ttlMs;
    }

    /** Returns the number of the ticket for the resource that has refused a set. */
    static int ofSet(long refusal) {
        return (int) (-refusal >>> POSITION_BITS + RESOURCE_BITS & (1 << SET_TICKET_BITS) - 1);
    }

    /** Returns the number of the resource that has refused a set, from 1; 0 if it is unknown. */
    static int resourceOf(long refusal) {
        return (int) (-refusal >>> POSITION_BITS & (1 << RESOURCE_BITS) - 1);
    }

    /** Returns the {@link #remainingTtlMsOf} the reply to a set, whose other part is longer. */
    static long remainingTtlMsOfSet(long refusal) {
        long ttlMs = -refusal >>> POSITION_BITS + RESOURCE_BITS + SET_TICKET_BITS;
        return ttlMs >= SET_TTL_MS_MAX ? NO_EXPIRY : ttlMs;
    }
}
