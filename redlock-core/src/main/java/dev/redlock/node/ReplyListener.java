package dev.redlock.node;

/**
 * Gets the outcome of each command on each node.
 *
 * <p>Guarantee: for each command that was sent to a node there is exactly one call of {@link #onReply}, {@link
 * #onError} or {@link #onUnknown}. For each node that the command could not be sent to there is one call of {@link
 * #onNotSent}.
 *
 * @threading event-loop-confined
 */
public interface ReplyListener {

    /** Reply to a refused acquire without the remaining ttl of the holder's key. */
    long REFUSED_TTL_UNKNOWN = Long.MIN_VALUE;

    /**
     * The node replied with an integer.
     *
     * @param nodeIndex which node
     * @param kind      which command
     * @param sequence  the sequence that the command was sent with
     * @param value     the integer
     */
    void onReply(int nodeIndex, CommandKind kind, int sequence, long value);

    /**
     * The node replied with an error: it did not execute the command.
     *
     * @param nodeIndex which node
     * @param kind      which command
     * @param sequence  the sequence that the command was sent with
     * @param failure   the kind of error
     */
    void onError(int nodeIndex, CommandKind kind, int sequence, VoteFailure failure);

    /**
     * The node rejected an extension, so it does not hold the token. This call precedes the reply. The reply may be
     * that of a second command, which finds the reason; it may also be missing.
     *
     * @param nodeIndex which node
     */
    default void onRefusedAhead(int nodeIndex) {
    }

    /**
     * The connection was lost before the reply, and the command replaces the expiry of the key. If the node executes it
     * late, it shortens a longer expiry that a later command has set. {@link #onUnknown} follows.
     *
     * @param nodeIndex which node
     * @param sequence  the sequence that the command was sent with
     */
    default void onMayShortenLate(int nodeIndex, int sequence) {
    }

    /**
     * The connection was lost before the reply.
     *
     * @param nodeIndex which node
     * @param kind      which command
     * @param sequence  the sequence that the command was sent with
     */
    void onUnknown(int nodeIndex, CommandKind kind, int sequence);

    /**
     * The command was not sent to this node.
     *
     * @param nodeIndex which node
     * @param kind      which command
     * @param sequence  the sequence of the command
     * @param failure   the reason
     */
    void onNotSent(int nodeIndex, CommandKind kind, int sequence, VoteFailure failure);

    /**
     * Whether the client may send the same command again now, because the node does not have the script. It may not
     * after a release of this token, which the second try would overtake.
     *
     * @param kind     which command
     * @param sequence the sequence that the command was sent with
     * @return true to send it again
     */
    boolean isSecondTryWanted(CommandKind kind, int sequence);
}
