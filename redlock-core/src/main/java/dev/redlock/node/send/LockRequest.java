package dev.redlock.node.send;

import dev.redlock.quorum.Token;

/**
 * A claim as the nodes see it: its keys, its token, and the listener for the replies to its commands. What only some
 * commands need is in {@link ScriptArguments}.
 *
 * <p>Guarantee: for each command and each of its nodes there is exactly one call of {@link #onReply}, {@link #onFailed}
 * or {@link #onUnknown}, with the detail that the command was sent with.
 *
 * @threading event-loop-confined
 */
public abstract class LockRequest extends InFlightRequest implements SlotKey {

    /** Reply to a refused acquire without the remaining ttl of the holder's key. */
    public static final long REFUSED_TTL_UNKNOWN = Long.MIN_VALUE;

    /** The token of the claim. */
    public final Token token;
    /** The ttl to write, milliseconds. */
    public long ttlMs;
    /**
     * Whether the reply to a refused acquire includes the remaining ttl of the holder's key. If not, the node may get a
     * cheaper command, whose refusal is {@link #REFUSED_TTL_UNKNOWN}.
     */
    public boolean isRemainingTtlWanted;
    /** Whether the node registers the connection for a push if it refuses an acquire. The acquire is a script then. */
    public boolean isWakeUpWanted;

    /** A request with the token of its claim. */
    protected LockRequest(Token token) {
        this.token = token;
    }

    /** @return the kind of lock, which chooses the scripts */
    public abstract LockKind lockKind();

    /** @return the number of resources: more than one for a {@link LockKind#SET} */
    public abstract int keyCount();

    /**
     * @return the resource as a complete bulk string, {@code $6\r\norders\r\n}, or those of a set one after another;
     *         borrowed, not to be changed
     */
    public abstract byte[] resourceBulk();

    /** One of the {@link #keyCount} resources as a complete bulk string, borrowed. */
    public abstract byte[] resourceBulk(int index);

    /** A hash of one of the {@link #keyCount} resources, by which the commands of other locks for it are found. */
    public abstract int resourceHash(int index);

    /**
     * @return the counter's key as {@link #resourceBulk} has the resource; borrowed. For commands that name the counter
     *         or a key beside it.
     */
    public abstract byte[] counterBulk();

    /** @return what only some commands need, read while one is written; {@link ScriptArguments#NONE} for none */
    public abstract ScriptArguments arguments();

    /** The node replied with an integer. */
    public abstract void onReply(int nodeIndex, CommandKind kind, int detail, long value);

    /** The node did not execute the command: it replied with an error, or the command was not sent. */
    public abstract void onFailed(int nodeIndex, CommandKind kind, int detail, VoteFailure failure);

    /**
     * The node rejected an extension, so it does not hold the token. This call precedes the reply. The reply may be
     * that of a second command, which finds the reason; it may also be missing.
     */
    public void onRefusedAhead(int nodeIndex) {
    }

    /** Whether the node is expected to lack the key, so that a refusal does not show that another client has it. */
    public boolean isKeyMissing() {
        return false;
    }

    /**
     * The connection was lost before the reply, and the command replaces the expiry of the key. If the node executes it
     * late, it shortens a longer expiry that a later command has set. {@link #onUnknown} follows.
     */
    public void onMayShortenLate(int nodeIndex, int detail) {
    }

    /** The connection was lost before the reply. */
    public abstract void onUnknown(int nodeIndex, CommandKind kind, int detail);

    /**
     * Whether the client may send the same command again now, because the node does not have the script or, for {@link
     * CommandKind#ACQUIRE_MANY}, has executed nothing of a batch. It may not after a release of this token: the second
     * try would set the key after it.
     */
    public abstract boolean isSecondTryWanted(CommandKind kind, int detail);
}
