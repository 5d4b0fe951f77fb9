package dev.redlock.node;

import dev.redlock.quorum.Token;

/**
 * The arguments of a claim's commands: key, token, ttl and fencing counter.
 *
 * @threading event-loop-confined
 */
public interface LockCommand extends SlotKey {

    /** @return the kind of lock, which chooses the scripts */
    LockKind lockKind();

    /** @return the number of resources: more than one for a {@link LockKind#SET} */
    int keyCount();

    /**
     * @return the resource as a complete bulk string, {@code $6\r\norders\r\n}, or those of a set one after another;
     *         borrowed, not to be changed
     */
    byte[] resourceBulk();

    /**
     * One resource as a complete bulk string, borrowed.
     *
     * @param index which of the {@link #keyCount} resources
     * @return its bulk string
     */
    byte[] resourceBulk(int index);

    /**
     * A hash of one resource, by which the commands of other locks for it are found.
     *
     * @param index which of the {@link #keyCount} resources
     * @return the hash
     */
    int resourceHash(int index);

    /** @return the token of the claim */
    Token token();

    /**
     * The name of the intention that a waiting writer leaves beside readers, and a waiting set beside its keys.
     *
     * @return the name; null for none
     */
    Token intention();

    /**
     * Whether a refused command leaves its intention. If not, it still respects those of others.
     *
     * @return true if it does
     */
    boolean isIntentionLeft();

    /** @return the ttl to write, milliseconds */
    long ttlMs();

    /**
     * Whether the reply to a refused acquire includes the remaining ttl of the holder's key. If not, the node may get a
     * cheaper command, whose refusal is {@link ReplyListener#REFUSED_TTL_UNKNOWN}.
     *
     * @return true if it does
     */
    boolean isRemainingTtlWanted();

    /**
     * Whether the node registers the connection for a push if it refuses an acquire. The acquire is a script then.
     *
     * @return true if it does
     */
    boolean isWakeUpWanted();

    /**
     * @return the counter's key as {@link #resourceBulk} has the resource; borrowed. For commands with a counter or a
     *         ticket only.
     */
    byte[] counterBulk();

    /**
     * @return the number of the client's ticket, which orders it among the waiting clients; 0 for none; -1 for a client
     *         without one that yields to those that have one
     */
    int ticket();

    /** @return the number of free slots that a search for a permit wants to know */
    int wantedCount();

    /** @return the expiry of the counter, milliseconds. For fenced commands only. */
    long counterTtlMs();

    /** @return the highest counter value seen. For fenced commands only. */
    long highestFence();
}
