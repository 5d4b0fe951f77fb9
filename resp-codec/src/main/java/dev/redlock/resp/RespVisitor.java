package dev.redlock.resp;

import io.netty.buffer.ByteBuf;

/**
 * Receives what a {@link RespParser} reads, one call for each scalar and two around each aggregate.
 * <p>
 * For every top-level value exactly one of {@link #onReplyEnd()} and {@link #onPushEnd()} follows its last event, so
 * that a FIFO of requests advances in {@code onReplyEnd} and nowhere else. Whether a value is at the top level can be
 * known by counting {@link #onAggregateStart} and {@link #onAggregateEnd}.
 * <p>
 * Buffers are borrowed for the length of the call: do not keep, change, release or move the indices of them; copy or
 * retain what must live longer. All methods but three do nothing by default, so that a visitor names only what it
 * expects; {@link #onInteger}, {@link #onSimpleError} and {@link #onReplyEnd} are what every visitor has to answer.
 * <p>
 * A visitor that throws ends the parser: the exception passes through {@link RespParser#parse} and nothing more is
 * delivered.
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

    /** The last event of a top-level value that answers a request. */
    void onReplyEnd();

    /** The last event of a push, which answers no request. */
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
     * A double, {@code ,1.5\r\n}. Parsing allocates only where the number has more than 15 significant digits or an
     * exponent beyond 22, where exact rounding takes the JDK's own parser.
     *
     * @param value the number, equal to what {@link Double#parseDouble} makes of the text; {@code ,nan} is
     *              {@link Double#NaN}
     */
    default void onDouble(double value) {
    }

    /**
     * A big number, {@code (123\r\n}: an optional sign and digits, checked, in the buffer.
     *
     * @param buf    borrowed
     * @param index  absolute index of the sign or first digit
     * @param length bytes, sign included
     */
    default void onBigNumber(ByteBuf buf, int index, int length) {
    }

    /**
     * Asked before the body of a bulk string, bulk error or verbatim string that is longer than nothing: whole or in
     * pieces? Whole means that the caller of the parser has to accumulate the body until it is complete; in pieces
     * means that bytes are delivered as they arrive and nothing is kept.
     *
     * @param type   the type of the value
     * @param length bytes of the body, a verbatim string's format and colon not counted; a claim of the peer, within
     *               the limits; reserve no memory from it
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
     * @param format its three bytes of format, the first in bits 16 to 23; see {@link RespValue#formatText(int)}
     * @param buf    borrowed
     * @param index  absolute index of the first byte after the colon
     * @param length bytes after the colon
     */
    default void onVerbatimString(int format, ByteBuf buf, int index, int length) {
    }

    /**
     * A body is about to come in pieces.
     *
     * @param type   bulk string, bulk error or verbatim string
     * @param format a verbatim string's format as in {@link #onVerbatimString}, else 0
     * @param length bytes of the body in all
     */
    default void onPiecesStart(RespType type, int format, int length) {
    }

    /**
     * The next bytes of a body.
     *
     * @param buf    borrowed
     * @param index  absolute index of the first byte
     * @param length bytes, at least 1
     */
    default void onPiece(ByteBuf buf, int index, int length) {
    }

    /** The body is complete and its CRLF was seen. */
    default void onPiecesEnd() {
    }

    /**
     * An aggregate begins.
     *
     * @param type         array, map, attribute, set or push
     * @param elementCount how many values follow inside it (attributes not counted), two for each pair of a map or
     *                     attribute; a claim of the peer, within the limits; reserve no memory from it
     */
    default void onAggregateStart(RespType type, int elementCount) {
    }

    /**
     * An aggregate is complete. After an attribute the value that it describes is still to come.
     *
     * @param type as in {@link #onAggregateStart}
     */
    default void onAggregateEnd(RespType type) {
    }
}
