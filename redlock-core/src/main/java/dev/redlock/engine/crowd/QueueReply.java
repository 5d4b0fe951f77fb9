package dev.redlock.engine.crowd;

/**
 * Reads the refusal of an acquire in order: how long the lock is held, and the clients that precede.
 *
 * @threading immutable
 */
public final class QueueReply {

    /** The client has no entry that it knows of: an old one gets a new place. */
    public static final byte FIRST = 'f';
    /** The client has an entry, which keeps the earlier place. */
    public static final byte ENTER = 'e';
    /** As {@link #ENTER}; beside a free lock it wakes the client that is next, or drops it. */
    public static final byte CHECK = 'c';

    /** The turn of the client is not over: a free lock is granted though others wait. */
    public static final byte PASS = 'p';

    /** The lock is granted, and others wait. */
    public static final long GRANTED_OTHERS_WAIT = 2;
    /** The place is not known: the node cannot keep a queue. */
    public static final int RANK_UNKNOWN = (1 << 20) - 2;
    private static final int RANK_BITS = 20;
    private static final long TTL_MS_MAX = (1L << 32) - 1;

    private QueueReply() {
    }

    /** Returns the clients that precede; {@link #RANK_UNKNOWN} or more if it is not known. */
    public static int rankOf(long refusal) {
        return (int) (-refusal & (1 << RANK_BITS) - 1) - 1;
    }

    /** Returns the remaining ttl of the lock, milliseconds; 0 if it is free, {@link Long#MAX_VALUE} if very long. */
    public static long remainingTtlMsOf(long refusal) {
        long ttlMs = -refusal >>> RANK_BITS;
        return ttlMs >= TTL_MS_MAX ? Long.MAX_VALUE : ttlMs;
    }
}
