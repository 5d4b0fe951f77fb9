package dev.redlock.node.send;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * The reason of a node's failed or unknown vote.
 *
 * @threading immutable
 */
public enum VoteFailure {
    /** The vote did not fail. */
    NONE("no failure"),
    /** The node is not connected; nothing was sent. */
    NOT_CONNECTED("not connected"),
    /** The restart guard or the clock watch keeps the node from voting; nothing was sent. */
    QUARANTINED("in quarantine"),
    /** The slot of the key has a new owner or is being moved; nothing was sent, or the reply came later. */
    SLOT_MOVED("silent: the slot has a new owner or is being moved"),
    /** Too many requests in flight or unsent bytes; nothing was sent. */
    BACK_PRESSURE("too much unanswered or unsent"),
    /** The connection was lost before the reply. */
    CONNECTION_LOST("connection lost before the answer"),
    /** No reply within the node timeout. */
    SILENT("no answer within the node timeout"),
    /** The node granted, but its clock jumped before the round was decided. */
    CLOCK_JUMPED("granted, but its clock jumped"),
    /** The node granted, but was a replica before the round was decided. */
    PROMOTED("granted, but it was promoted again"),
    /** The node granted, but a database of it was flushed, or it was restarted, before the round was decided. */
    KEYS_LOST("granted, but a database of it was flushed, or it was restarted"),
    /** The node granted, but with a fencing counter further ahead than a counter can be. */
    FENCE_OUT_OF_RANGE("granted, but its fencing counter is out of range"),
    /** The node is loading its data set. */
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
    /** The node is part of a cluster and the key belongs to another one. */
    MOVED("MOVED"),
    /** The slot of the key is being moved, and the key is at the other master; the redirection was not followed. */
    ASK("ASK"),
    /** The slot of the keys is being moved, and the keys are not at the same master. */
    TRYAGAIN("TRYAGAIN"),
    /** The keys of the command have different slots. */
    CROSSSLOT("CROSSSLOT"),
    /** The node is part of a cluster that is down. */
    CLUSTERDOWN("CLUSTERDOWN"),
    /** The node refuses writes because it has too few replicas. */
    NOREPLICAS("NOREPLICAS"),
    /** The key is not a string. */
    WRONGTYPE("WRONGTYPE"),
    /** The fencing counter has reached its maximum, is negative, or is no number. */
    FENCE("FENCE"),
    /** The script is not cached, and there was no second try. */
    NOSCRIPT("NOSCRIPT"),
    /** Another error reply. */
    ERROR("error reply");

    private static final int FIRST_CODE = LOADING.ordinal();
    private static final VoteFailure[] VALUES = values();
    /** {@code ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: -OOM command not allowed}. */
    private static final String SCRIPT_ERROR = "ERR Error running script";
    /** The error of a command that a script returns: {@code @user_script: 1: -OOM command not allowed}. */
    private static final String SCRIPT_PLACE = "@user_script:";
    /** The errors of {@code INCR}, which only counters get. */
    private static final String NO_COUNT = "ERR value is not an integer";
    private static final String COUNT_OVERFLOW = "ERR increment or decrement would overflow";
    private static final String SCRIPT_NOPERM = "ERR The user executing the script can't";
    private static final int SCRIPT_ERROR_LENGTH_MAX = 256;
    private static final int CODE_LENGTH_MAX = 20;

    private final String text;

    VoteFailure(String text) {
        this.text = text;
    }

    /** The failure with an ordinal. */
    public static VoteFailure of(int ordinal) {
        return VALUES[ordinal];
    }

    /** @return whether the state of the node is the cause, so that its problem explains the vote */
    public boolean isOfNode() {
        return this == NOT_CONNECTED || this == QUARANTINED || this == CONNECTION_LOST;
    }

    /** Whether another server of the cluster has the key. */
    boolean isRedirection() {
        return this == MOVED || this == ASK;
    }

    /** @return whether the node replied with an error */
    public boolean isErrorReply() {
        return ordinal() >= FIRST_CODE;
    }

    /** Whether the server may execute the same command later, without a change of the client's rights or of the key. */
    public boolean isTemporary() {
        return switch (this) {
            case LOADING, BUSY, OOM, READONLY, MASTERDOWN, MISCONF, NOREPLICAS, TRYAGAIN, CLUSTERDOWN -> true;
            default -> false;
        };
    }

    /**
     * Whether the server behind the address is no master that serves now. Another one may be there, so the client
     * connects again.
     */
    public boolean isOfServer() {
        return this == LOADING || this == READONLY || this == MASTERDOWN;
    }

    /** The kind of an error reply: its first word, or that of the error inside a script error. */
    static VoteFailure ofErrorReply(ByteBuf buf, int index, int length) {
        for (int i = FIRST_CODE; i < ERROR.ordinal(); i++) {
            String code = VALUES[i].name();
            if (startsWith(buf, index, length, code)
                    && (length == code.length() || buf.getByte(index + code.length()) == ' ')) {
                return VALUES[i];
            }
        }
        return startsWith(buf, index, length, SCRIPT_ERROR) || startsWith(buf, index, length, SCRIPT_NOPERM)
                || startsWith(buf, index, length, SCRIPT_PLACE)
                        ? ofScriptError(buf.toString(index, Math.min(length, SCRIPT_ERROR_LENGTH_MAX),
                                StandardCharsets.ISO_8859_1))
                        : startsWith(buf, index, length, NO_COUNT) || startsWith(buf, index, length, COUNT_OVERFLOW)
                                ? FENCE
                                : ERROR;
    }

    /** The kind of an error reply with a code as its first word. */
    public static VoteFailure ofCode(String code) {
        for (int i = FIRST_CODE; i < ERROR.ordinal(); i++) {
            if (VALUES[i].name().equals(code)) {
                return VALUES[i];
            }
        }
        return ERROR;
    }

    private static boolean startsWith(ByteBuf buf, int index, int length, String text) {
        if (length < text.length()) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if (buf.getByte(index + i) != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** The error of a command in a script, in the format of servers before version 7. */
    private static VoteFailure ofScriptError(String text) {
        if (text.contains(SCRIPT_NOPERM.substring(4))) {
            return NOPERM;
        }
        int place = text.lastIndexOf(SCRIPT_PLACE);
        int colon = place < 0 ? -1 : text.indexOf(": ", place + SCRIPT_PLACE.length() + 1);
        if (colon < 0) {
            return ERROR;
        }
        String error = text.substring(text.startsWith("-", colon + 2) ? colon + 3 : colon + 2);
        for (int i = FIRST_CODE; i < NOSCRIPT.ordinal(); i++) {
            if (error.equals(VALUES[i].name()) || error.startsWith(VALUES[i].name() + " ")) {
                return VALUES[i];
            }
        }
        return error.startsWith(NO_COUNT) || error.startsWith(COUNT_OVERFLOW) ? FENCE : ERROR;
    }

    /**
     * The first word of an error reply if it looks like a code: capitals, digits and underscores. Anything else is
     * {@link #ERROR}'s text, because it may repeat the command.
     *
     * @param before the last result, returned again if it is the same
     */
    static String codeOf(ByteBuf buf, int index, int length, String before) {
        int end = 0;
        while (end < length && isOfCode(buf.getByte(index + end))) {
            end++;
        }
        if (end == 0 || end > CODE_LENGTH_MAX || end < length && buf.getByte(index + end) != ' ') {
            return ERROR.text;
        }
        return end == before.length() && startsWith(buf, index, length, before)
                ? before
                : buf.toString(index, end, StandardCharsets.US_ASCII);
    }

    private static boolean isOfCode(byte b) {
        return b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_';
    }

    /** @return a short text */
    public String text() {
        return text;
    }
}
