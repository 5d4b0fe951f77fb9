package dev.redlock.resp;

import io.netty.buffer.ByteBuf;

/**
 * Receives the values that a {@link RespParser} reads: one call for each scalar, and two around each aggregate.
 * <ul>
 * <li>Exactly one of {@link #onReplyEnd()} and {@link #onPushEnd()} follows the last event of a top-level value. A
 * client removes the oldest request from its queue in {@code onReplyEnd} and nowhere else, except in an override of
 * {@link #onIntegerReply} or {@link #onOkReply}, which replace two calls.
 * <li>The depth of a value is the number of {@link #onAggregateStart} calls without their {@link #onAggregateEnd}.
 * <li>Buffers are borrowed for the call. Do not change or release them or move their indices; copy or retain bytes that
 * must outlive the call.
 * <li>A visitor must implement {@link #onInteger}, {@link #onSimpleError} and {@link #onReplyEnd}. The other methods do
 * nothing by default.
 * <li>An exception of the visitor passes through {@link RespParser#parse}, and the parser delivers nothing more.
 * </ul>
 *
 * @threading caller-confined; called on the thread that calls the parser
 */
public interface RespVisitor {
    /**
     * An integer, {@code :42\r\n}.
     *
     * @param value the number
     */
    void onInteger(long value);

    /**
     * A simple error, {@code -ERR message\r\n}.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte of the text
     * @param length bytes of text, without marker and CRLF
     */
    void onSimpleError(ByteBuf buf, int index, int length);

    /** Ends a top-level value that is a reply. It is the last event of the reply. */
    void onReplyEnd();

    /**
     * A reply that is an integer. The parser may call this in place of {@link #onInteger} and {@link #onReplyEnd}.
     *
     * @param value the number
     */
    default void onIntegerReply(long value) {
        onInteger(value);
        onReplyEnd();
    }

    /**
     * A reply that is {@code +OK}. The parser may call this in place of {@link #onSimpleString} and {@link
     * #onReplyEnd}.
     *
     * @param buf   borrowed
     * @param index absolute index of the first of the two bytes of the text
     */
    default void onOkReply(ByteBuf buf, int index) {
        onSimpleString(buf, index, 2);
        onReplyEnd();
    }

    /** Ends a push, which is not a reply to a request. It is the last event of the push. */
    default void onPushEnd() {
    }

    /**
     * A simple string, {@code +OK\r\n}.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte of the text
     * @param length bytes of text
     */
    default void onSimpleString(ByteBuf buf, int index, int length) {
    }

    /**
     * A null, in one of its three forms.
     *
     * @param type {@link RespType#NULL} for {@code _\r\n}, {@link RespType#BULK_STRING} for {@code $-1\r\n},
     *             {@link RespType#ARRAY} for {@code *-1\r\n}
     */
    default void onNull(RespType type) {
    }

    /**
     * A boolean, {@code #t\r\n} or {@code #f\r\n}.
     *
     * @param value true for {@code t}
     */
    default void onBoolean(boolean value) {
    }

    /**
     * A double, {@code ,1.5\r\n}. Parsing allocates only for more than 15 digits or a power of ten outside 10^-22 to
     * 10^22, for which the parser calls {@link Double#parseDouble}.
     *
     * @param value the number, equal to the result of {@link Double#parseDouble} for the same text; {@link Double#NaN}
     *              for {@code ,nan}
     */
    default void onDouble(double value) {
    }

    /**
     * A big number, {@code (123\r\n}. The parser has validated its form, an optional sign and digits.
     *
     * @param buf    borrowed
     * @param index  absolute index of the sign or first digit
     * @param length bytes, sign included
     */
    default void onBigNumber(ByteBuf buf, int index, int length) {
    }

    /**
     * Chooses how the parser delivers the body of a bulk string, bulk error or verbatim string, unless it is empty:
     * <ul>
     * <li>in pieces: the parser delivers bytes as they arrive and keeps none;
     * <li>whole: the parser delivers the body once, and its caller gathers the bytes until the body is complete.
     * </ul>
     *
     * @param type   the type of the value
     * @param length bytes of the body without a verbatim string's format and colon; within the limits, but announced by
     *               the peer, so reserve no memory for it
     * @return true for {@link #onPiecesStart}, {@link #onPiece}, {@link #onPiecesEnd}; false, the default, for one
     *         call with the whole body
     */
    default boolean isWantedInPieces(RespType type, int length) {
        return false;
    }

    /**
     * A whole bulk string.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte
     * @param length bytes
     */
    default void onBulkString(ByteBuf buf, int index, int length) {
    }

    /**
     * A whole bulk error.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte
     * @param length bytes
     */
    default void onBulkError(ByteBuf buf, int index, int length) {
    }

    /**
     * A whole verbatim string.
     *
     * @param format the three bytes of its format, the first in bits 16 to 23; see {@link RespValue#formatText(int)}
     * @param buf    borrowed
     * @param index  absolute index of the first byte after the colon
     * @param length bytes after the colon
     */
    default void onVerbatimString(int format, ByteBuf buf, int index, int length) {
    }

    /**
     * Starts a body that is delivered in pieces.
     *
     * @param type   bulk string, bulk error or verbatim string
     * @param format a verbatim string's format as in {@link #onVerbatimString}, else 0
     * @param length bytes of all pieces together, as in {@link #isWantedInPieces}
     */
    default void onPiecesStart(RespType type, int format, int length) {
    }

    /**
     * The next bytes of a body that is delivered in pieces.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte
     * @param length bytes, at least 1
     */
    default void onPiece(ByteBuf buf, int index, int length) {
    }

    /** Ends a body that is delivered in pieces, after its CRLF. */
    default void onPiecesEnd() {
    }

    /**
     * Starts an aggregate.
     *
     * @param type         array, map, attribute, set or push
     * @param elementCount number of values inside it: two for each pair of a map or attribute, none for an attribute
     *                     inside it; within the limits, but announced by the peer, so reserve no memory for it
     */
    default void onAggregateStart(RespType type, int elementCount) {
    }

    /**
     * Ends an aggregate. The value that an attribute describes starts after the end of the attribute.
     *
     * @param type as in {@link #onAggregateStart}
     */
    default void onAggregateEnd(RespType type) {
    }
}
