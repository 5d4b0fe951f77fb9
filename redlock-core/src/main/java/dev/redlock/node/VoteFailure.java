package dev.redlock.node;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * Why a node's vote is failed or unknown.
 *
 * @threading immutable
 */
public enum VoteFailure {
    /** The vote did not fail. */
    NONE("no failure"),
    /** There is no connection; nothing was sent. */
    NOT_CONNECTED("not connected"),
    /** The restart guard or the clock watch keeps the node from voting; nothing was sent. */
    QUARANTINED("in quarantine"),
    /** Too many requests or bytes wait for this node already; nothing was sent. */
    BACK_PRESSURE("too much unanswered or unsent"),
    /** The connection broke before the answer. */
    CONNECTION_LOST("connection lost before the answer"),
    /** No answer within the node timeout. */
    SILENT("no answer within the node timeout"),
    /** The node granted, but its clock jumped before the round was decided. */
    CLOCK_JUMPED("granted, but its clock jumped"),
    /** The node granted, but with a fencing counter further ahead than a counter can be. */
    FENCE_OUT_OF_RANGE("granted, but its fencing counter is out of range"),
    /** The node loads its data set. */
    LOADING("LOADING"),
    /** A script blocks the node. */
    BUSY("BUSY"),
    /** The node is out of memory. */
    OOM("OOM"),
    /** The node is a read-only replica. */
    READONLY("READONLY"),
    /** The node is a replica that lost its master. */
    MASTERDOWN("MASTERDOWN"),
    /** The user may not run the command. */
    NOPERM("NOPERM"),
    /** The connection is not authenticated. */
    NOAUTH("NOAUTH"),
    /** The node refuses writes because it cannot persist. */
    MISCONF("MISCONF"),
    /** The key is not a string. */
    WRONGTYPE("WRONGTYPE"),
    /** The fencing counter cannot be counted any further, or is no count. */
    FENCE("FENCE"),
    /** The script is not cached, and a second try was not wanted or not possible. */
    NOSCRIPT("NOSCRIPT"),
    /** Another error reply. */
    ERROR("error reply");

    private static final int FIRST_CODE = LOADING.ordinal();
    private static final VoteFailure[] VALUES = values();

    private final String text;

    VoteFailure(final String text) {
        this.text = text;
    }

    /**
     * The failure with an ordinal.
     *
     * @param ordinal 0 to the number of failures - 1
     * @return it
     */
    public static VoteFailure of(final int ordinal) {
        return VALUES[ordinal];
    }

    /** The kind of an error reply, from its first word. */
    static VoteFailure ofErrorReply(final ByteBuf buf, final int index, final int length) {
        for (int i = FIRST_CODE; i < ERROR.ordinal(); i++) {
            if (startsWithWord(buf, index, length, VALUES[i].name())) {
                return VALUES[i];
            }
        }
        return ERROR;
    }

    private static boolean startsWithWord(final ByteBuf buf, final int index, final int length, final String word) {
        if (length < word.length() || length > word.length() && buf.getByte(index + word.length()) != ' ') {
            return false;
        }
        return word.contentEquals(buf.getCharSequence(index, word.length(), StandardCharsets.US_ASCII));
    }

    /** @return a few words for people */
    public String text() {
        return text;
    }
}
