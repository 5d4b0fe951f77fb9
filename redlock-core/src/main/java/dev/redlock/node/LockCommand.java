package dev.redlock.node;

import dev.redlock.quorum.Token;

/**
 * The arguments of a claim's commands: key, token, ttl and fencing counter.
 *
 * @threading event-loop-confined
 */
public interface LockCommand extends SlotKey {

    /** @return the resource as a complete bulk string, {@code $6\r\norders\r\n}; borrowed, not to be changed */
    byte[] resourceBulk();

    /** @return a hash of the resource */
    int resourceHash();

    /** @return the token of the claim */
    Token token();

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

    /** @return the counter's key as a complete bulk string; borrowed. For fenced commands only. */
    byte[] counterBulk();

    /** @return the expiry of the counter, milliseconds. For fenced commands only. */
    long counterTtlMs();

    /** @return the highest counter value seen. For fenced commands only. */
    long highestFence();
}
