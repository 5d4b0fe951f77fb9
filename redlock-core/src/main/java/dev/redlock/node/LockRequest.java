package dev.redlock.node;

import dev.redlock.quorum.Token;

/**
 * One attempt's token and key as the nodes see it, and where their answers go. For each command that was sent to a node
 * exactly one of {@link #onReply}, {@link #onError} and {@link #onUnknown} is called, and {@link #onNotSent} for each
 * node that could not be sent to.
 *
 * @threading event-loop-confined
 */
public interface LockRequest {

    /** Reply to an acquire that was refused by a node which does not tell how long the holder's key will stand. */
    long REFUSED_TTL_UNKNOWN = Long.MIN_VALUE;

    /** @return the resource as a complete bulk string, {@code $6\r\norders\r\n}; borrowed, not to be changed */
    byte[] resourceBulk();

    /** @return a hash of the resource */
    int resourceHash();

    /**
     * Whether a refused acquire shall tell how long the holder's key will stand. If not, the node may be asked by a
     * cheaper command, whose refusal is {@link #REFUSED_TTL_UNKNOWN}.
     *
     * @return true if it shall
     */
    boolean isRemainingTtlWanted();

    /** @return the counter's key as a complete bulk string; borrowed. Asked for fenced verbs only. */
    byte[] counterBulk();

    /** @return the expiry of the counter, milliseconds. Asked for fenced verbs only. */
    long counterTtlMs();

    /** @return the highest counter value seen. Asked for fenced verbs only. */
    long highestFence();

    /** @return the token of the attempt */
    Token token();

    /** @return the ttl to write, milliseconds */
    long ttlMs();

    /**
     * An integer reply came.
     *
     * @param nodeIndex which node
     * @param kind      what was asked
     * @param sequence  as given when it was sent
     * @param value     the integer
     */
    void onReply(int nodeIndex, CommandKind kind, int sequence, long value);

    /**
     * An error reply came: the node did not execute the command.
     *
     * @param nodeIndex which node
     * @param kind      what was asked
     * @param sequence  as given when it was sent
     * @param failure   its kind
     */
    void onError(int nodeIndex, CommandKind kind, int sequence, VoteFailure failure);

    /**
     * The node does not hold the token: the extension was refused. Called ahead of the reply, which may be that of a
     * second command that is sent to learn why, and may never come.
     *
     * @param nodeIndex which node
     */
    default void onRefusedAhead(final int nodeIndex) {
    }

    /**
     * The connection broke before the answer, as {@link #onUnknown} tells next, and the command replaces the expiry of
     * the key: should the node execute it late, it shortens what a longer one has set meanwhile.
     *
     * @param nodeIndex which node
     * @param sequence  as given when it was sent
     */
    default void onMayShortenLate(final int nodeIndex, final int sequence) {
    }

    /**
     * The connection broke before the answer.
     *
     * @param nodeIndex which node
     * @param kind      what was asked
     * @param sequence  as given when it was sent
     */
    void onUnknown(int nodeIndex, CommandKind kind, int sequence);

    /**
     * The command was not sent to this node.
     *
     * @param nodeIndex which node
     * @param kind      what was asked
     * @param sequence  as given when it was to be sent
     * @param failure   why
     */
    void onNotSent(int nodeIndex, CommandKind kind, int sequence, VoteFailure failure);

    /**
     * Asked when a node does not know the script: may the same command be sent once more, now? It may not once a
     * release of this token has been written, because the second try would overtake it.
     *
     * @param kind     what was asked
     * @param sequence as given when it was sent
     * @return true to send it again
     */
    boolean isSecondTryWanted(CommandKind kind, int sequence);
}
