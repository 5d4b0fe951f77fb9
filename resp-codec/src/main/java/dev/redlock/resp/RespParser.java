package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * An incremental push parser: give it bytes as they come, it tells a {@link RespVisitor} what they mean. Any split of
 * the input gives the same events (a body delivered in pieces may have other pieces).
 * <p>
 * <b>Assumptions.</b> One thread calls at a time. Bytes that {@link #parse} leaves unread are the first bytes of the
 * buffer of the next call, in the same or another buffer, with more behind them.
 * <p>
 * <b>Guarantees.</b> No allocation for input that breaks no rule, but for the growth of a small stack when values nest
 * more than eight deep and for the doubles named at {@link RespVisitor#onDouble}. No memory is reserved from a length
 * on the wire. No byte is searched twice for the end of its line. After the first failure nothing more is delivered.
 *
 * @threading caller-confined
 */
public final class RespParser {
    private static final int STACK_START = 8;
    private static final int CRLF_BYTES = 2;
    private static final int FORMAT_BYTES = 4;
    private static final int RESP2_NULL = -1;
    /** The one-digit integer line {@code :0\r\n} as a little-endian word, its digit's low bits aside. */
    private static final long DIGIT_LINE = 0x0A0D303AL;
    private static final long DIGIT_LINE_MASK = 0xFFFFF0FFL;
    private static final int DIGIT_LINE_BYTES = 4;

    private final RespLimits limits;
    private final boolean isForRequests;

    private State state = State.VALUE;
    private RuntimeException failure;

    /** Bytes consumed before the current call's reader index, over the whole stream. */
    private long offset;
    /** Bytes consumed of the current top-level value. */
    private long replyBytes;
    /** Bytes after the marker of an unfinished line that are known to hold no CR. */
    private int scanned;

    private int depth;
    private int[] remaining = new int[STACK_START];
    private RespType[] types = new RespType[STACK_START];

    private RespType bodyType;
    private int bodyLength;
    private int bodyRemaining;
    private int bodyFormat;
    private boolean isInPieces;

    private RespParser(RespLimits limits, boolean isForRequests) {
        this.limits = limits;
        this.isForRequests = isForRequests;
    }

    /**
     * A parser of what a server sends: any value.
     *
     * @param limits what to accept at most
     * @return a new parser
     */
    public static RespParser forReplies(RespLimits limits) {
        return new RespParser(limits, false);
    }

    /**
     * A parser of what a client sends: arrays of bulk strings and nothing else. Each request ends with
     * {@link RespVisitor#onReplyEnd()}.
     *
     * @param limits what to accept at most
     * @return a new parser
     */
    public static RespParser forRequests(RespLimits limits) {
        return new RespParser(limits, true);
    }

    /**
     * Reads as much as is complete and moves the reader index behind it. What stays unread is an unfinished line, or
     * an unfinished body that the visitor wants whole.
     *
     * @param in      borrowed; read, never written
     * @param visitor who is told
     * @throws RespProtocolException the first time a rule is broken, and the same one on every call after that
     * @throws IllegalStateException on every call after one in which the visitor threw
     */
    public void parse(ByteBuf in, RespVisitor visitor) {
        if (failure != null) {
            throw failure;
        }
        boolean isDone = false;
        try {
            while (step(in, visitor)) {
                // Each step reads one value's line, one body or one piece.
            }
            isDone = true;
        } catch (RespProtocolException e) {
            failure = e;
            throw e;
        } finally {
            if (!isDone) {
                fail();
            }
        }
    }

    private void fail() {
        state = State.FAILED;
        if (failure == null) {
            failure = new IllegalStateException("the visitor threw before offset " + offset + "; the parser is done");
        }
    }

    /**
     * Whether the bytes so far end with the end of a top-level value. False inside a value, after an attribute whose
     * value has not come, and after a failure. Bytes left unread in the buffer are not known here.
     *
     * @return true if nothing is half read
     */
    public boolean isBetweenReplies() {
        return replyBytes == 0 && scanned == 0 && state == State.VALUE;
    }

    /**
     * Whether a rule was broken or a visitor threw.
     *
     * @return true if {@link #parse} will only throw from here on
     */
    public boolean hasFailed() {
        return failure != null;
    }

    /**
     * How many bytes were consumed since this parser was made.
     *
     * @return bytes
     */
    public long offset() {
        return offset;
    }

    private boolean step(ByteBuf in, RespVisitor visitor) {
        return switch (state) {
            case VALUE -> readValue(in, visitor);
            case VERBATIM_FORMAT -> readVerbatimFormat(in, visitor);
            case WHOLE_BODY -> readWholeBody(in, visitor);
            case BODY_PIECES -> readPieces(in, visitor);
            case BODY_END -> readBodyEnd(in, visitor);
            case FAILED -> false;
        };
    }

    // ---- values

    private boolean readValue(ByteBuf in, RespVisitor visitor) {
        if (replyBytes == 0 && !isForRequests) {
            readShortIntegers(in, visitor);
        }
        int readable = in.readableBytes();
        if (readable >= ShortNumberLine.WORD_BYTES) {
            long word = in.getLongLE(in.readerIndex());
            int crIndex = ShortNumberLine.crIndex(word);
            int number = ShortNumberLine.decode(word, crIndex);
            if (number != ShortNumberLine.NOT_SHORT) {
                return readNumberLine(in, visitor, number, crIndex);
            }
        }
        return readable > 0 && readLine(in, visitor);
    }

    /** The hot path: top-level replies {@code :1\r\n:0\r\n...} as a pipeline of lock commands brings them. */
    private void readShortIntegers(ByteBuf in, RespVisitor visitor) {
        int start = in.readerIndex();
        int end = in.writerIndex();
        int index = start;
        while (end - index >= ShortNumberLine.WORD_BYTES) {
            long word = in.getLongLE(index);
            if (ShortNumberLine.isTwoDigitLines(word)) {
                deliverReply(visitor, word >>> 8 & 0xF);
                deliverReply(visitor, word >>> 40 & 0xF);
                index += ShortNumberLine.WORD_BYTES;
                continue;
            }
            int lineBytes = readOneInteger(in, visitor, index, end, word);
            if (lineBytes == 0) {
                break;
            }
            index += lineBytes;
        }
        index = readLastDigit(in, visitor, index, end);
        if (index > start) {
            in.readerIndex(index);
            offset += index - start;
            scanned = 0;
        }
    }

    /** Tells one integer reply; answers how many bytes it took, or 0 if the slow path has to judge it. */
    private int readOneInteger(ByteBuf in, RespVisitor visitor, int index, int end, long word) {
        if ((byte) word != ':') {
            return 0;
        }
        int crIndex = ShortNumberLine.crIndex(word);
        int number = ShortNumberLine.decode(word, crIndex);
        if (number != ShortNumberLine.NOT_SHORT) {
            deliverReply(visitor, number);
            return crIndex + CRLF_BYTES;
        }
        boolean isNegative = (byte) (word >>> 8) == '-';
        int from = isNegative ? index + 2 : index + 1;
        int digits = ShortNumberLine.longDigits(in, from, end);
        if (digits == 0) {
            return 0;
        }
        long magnitude = ShortNumberLine.longNumber(in, from, digits);
        deliverReply(visitor, isNegative ? -magnitude : magnitude);
        return from - index + digits + CRLF_BYTES;
    }

    private static void deliverReply(RespVisitor visitor, long value) {
        visitor.onInteger(value);
        visitor.onReplyEnd();
    }

    /** The four bytes {@code :1\r\n} at the very end of the input, where there is no whole word left to read. */
    private static int readLastDigit(ByteBuf in, RespVisitor visitor, int index, int end) {
        if (end - index == DIGIT_LINE_BYTES) {
            int word = in.getIntLE(index);
            int digit = word >>> 8 & 0xF;
            if ((word & DIGIT_LINE_MASK) == DIGIT_LINE && digit <= 9) {
                visitor.onInteger(digit);
                visitor.onReplyEnd();
                return end;
            }
        }
        return index;
    }

    private boolean readNumberLine(ByteBuf in, RespVisitor visitor, int number, int crIndex) {
        RespType type = typeAt(in);
        if (type == RespType.INTEGER) {
            advance(in, crIndex + CRLF_BYTES);
            visitor.onInteger(number);
            endValue(visitor, type);
            return true;
        }
        if (type.isBody()) {
            return beginBody(in, visitor, type, number, crIndex + CRLF_BYTES);
        }
        if (type.isAggregate()) {
            return beginAggregate(in, visitor, type, number, crIndex + CRLF_BYTES);
        }
        return readLine(in, visitor);
    }

    private boolean readLine(ByteBuf in, RespVisitor visitor) {
        RespType type = typeAt(in);
        int from = in.readerIndex() + 1;
        int to = findCr(in, from);
        if (to < 0) {
            return false;
        }
        int lineBytes = to + CRLF_BYTES - in.readerIndex();
        if (type.isBody() || type.isAggregate()) {
            return readLengthLine(in, visitor, type, to, lineBytes);
        }
        checkScalar(in, type, from, to);
        advance(in, lineBytes);
        deliverScalar(in, visitor, type, from, to);
        endValue(visitor, type);
        return true;
    }

    private RespType typeAt(ByteBuf in) {
        byte marker = in.getByte(in.readerIndex());
        RespType type = RespType.ofMarker(marker);
        if (isForRequests) {
            checkRequestMarker(in, type);
        } else if (type == null) {
            throw malformed(marker == ';' || marker == '.' ? RespRule.STREAMED : RespRule.MARKER, in,
                    in.readerIndex());
        } else if (type == RespType.PUSH && depth > 0) {
            throw malformed(RespRule.PUSH_INSIDE, in, in.readerIndex());
        }
        return type;
    }

    private void checkRequestMarker(ByteBuf in, RespType type) {
        if (type != (depth == 0 ? RespType.ARRAY : RespType.BULK_STRING)) {
            throw malformed(RespRule.REQUEST, in, in.readerIndex());
        }
    }

    /** The index of the CR of the current line, or -1 if its CRLF is not here yet. */
    private int findCr(ByteBuf in, int from) {
        int available = in.writerIndex() - from;
        int window = Math.min(available, limits.lineLengthMax() + 1);
        int cr = in.indexOf(from + scanned, from + window, (byte) '\r');
        if (cr < 0) {
            scanned = window;
            if (window > limits.lineLengthMax()) {
                throw overLimit(RespRule.LINE_LENGTH_MAX, "a line without CR in its first " + window + " bytes");
            }
            return -1;
        }
        if (cr + 1 == in.writerIndex()) {
            scanned = cr - from;
            return -1;
        }
        if (in.getByte(cr + 1) != '\n') {
            throw malformed(RespRule.CR_LF, in, cr + 1);
        }
        return cr;
    }

    // ---- scalars

    private void checkScalar(ByteBuf in, RespType type, int from, int to) {
        switch (type) {
            case SIMPLE_STRING, SIMPLE_ERROR -> refuseAt(RespRule.BARE_LF, in, in.indexOf(from, to, (byte) '\n'));
            case INTEGER -> checkInteger(in, from, to);
            case NULL -> refuseAt(RespRule.NULL_FORM, in, from == to ? -1 : from);
            case BOOLEAN -> refuseAt(RespRule.BOOLEAN_FORM, in, indexOfNonBoolean(in, from, to));
            case DOUBLE -> refuseAt(RespRule.DOUBLE_FORM, in, RespNumbers.indexOfNonDouble(in, from, to));
            case BIG_NUMBER -> refuseAt(RespRule.BIG_NUMBER_FORM, in, RespNumbers.indexOfNonInteger(in, from, to));
            default -> throw new AssertionError(type);
        }
    }

    private void checkInteger(ByteBuf in, int from, int to) {
        refuseAt(RespRule.INTEGER_FORM, in, RespNumbers.indexOfNonInteger(in, from, to));
        refuseAt(RespRule.INTEGER_RANGE, in, RespNumbers.indexOfOverflow(in, from, to));
    }

    private static int indexOfNonBoolean(ByteBuf in, int from, int to) {
        byte first = in.getByte(from);
        if (first != 't' && first != 'f') {
            return from;
        }
        return to == from + 1 ? -1 : from + 1;
    }

    private static void deliverScalar(ByteBuf in, RespVisitor visitor, RespType type, int from, int to) {
        switch (type) {
            case SIMPLE_STRING -> visitor.onSimpleString(in, from, to - from);
            case SIMPLE_ERROR -> visitor.onSimpleError(in, from, to - from);
            case INTEGER -> visitor.onInteger(RespNumbers.integer(in, from, to));
            case NULL -> visitor.onNull(RespType.NULL);
            case BOOLEAN -> visitor.onBoolean(in.getByte(from) == 't');
            case DOUBLE -> visitor.onDouble(RespNumbers.decimal(in, from, to));
            case BIG_NUMBER -> visitor.onBigNumber(in, from, to - from);
            default -> throw new AssertionError(type);
        }
    }

    // ---- lengths and counts

    private boolean readLengthLine(ByteBuf in, RespVisitor visitor, RespType type, int to, int lineBytes) {
        int from = in.readerIndex() + 1;
        if (type.hasResp2Null() && to - from == 2 && in.getByte(from) == '-' && in.getByte(from + 1) == '1') {
            return readResp2Null(in, visitor, type, lineBytes);
        }
        int end = RespNumbers.endOfDigits(in, from, to);
        if (end < to || end == from) {
            throw malformedLength(in, from, to, end);
        }
        long number = RespNumbers.cappedDigits(in, from, to, Integer.MAX_VALUE);
        return type.isBody()
                ? beginBody(in, visitor, type, number, lineBytes)
                : beginAggregate(in, visitor, type, number, lineBytes);
    }

    private RespProtocolException malformedLength(ByteBuf in, int from, int to, int index) {
        boolean isStreamed = index == from && to - from == 1 && in.getByte(from) == '?';
        return malformed(isStreamed ? RespRule.STREAMED : RespRule.LENGTH_FORM, in, index);
    }

    private boolean readResp2Null(ByteBuf in, RespVisitor visitor, RespType type, int lineBytes) {
        if (isForRequests) {
            throw malformed(RespRule.REQUEST, in, in.readerIndex() + 1);
        }
        advance(in, lineBytes);
        visitor.onNull(type);
        endValue(visitor, type);
        return true;
    }

    // ---- aggregates

    private boolean beginAggregate(ByteBuf in, RespVisitor visitor, RespType type, long number, int lineBytes) {
        long elements = type.isPairs() ? number * 2 : number;
        if (elements > limits.elementCountMax()) {
            throw overLimit(RespRule.ELEMENT_COUNT_MAX, count(number, elements, type));
        }
        if (depth == limits.depthMax()) {
            throw overLimit(RespRule.DEPTH_MAX, "an aggregate at depth " + (depth + 1) + " with a limit of " + depth);
        }
        advance(in, lineBytes);
        visitor.onAggregateStart(type, (int) elements);
        if (elements == 0) {
            endEmptyAggregate(visitor, type);
        } else {
            push(type, (int) elements);
        }
        return true;
    }

    private void endEmptyAggregate(RespVisitor visitor, RespType type) {
        visitor.onAggregateEnd(type);
        if (type != RespType.ATTRIBUTE) {
            endValue(visitor, type);
        }
    }

    private String count(long number, long elements, RespType type) {
        String many = number > Integer.MAX_VALUE ? "more than " + Integer.MAX_VALUE : Long.toString(elements);
        return many + " elements of " + type + " with a limit of " + limits.elementCountMax();
    }

    private void push(RespType type, int elements) {
        if (depth == types.length) {
            int size = Math.min(depth * 2, limits.depthMax());
            types = Arrays.copyOf(types, size);
            remaining = Arrays.copyOf(remaining, size);
        }
        types[depth] = type;
        remaining[depth++] = elements;
    }

    /** A value is complete; so may be the aggregates that it was the last element of. */
    private void endValue(RespVisitor visitor, RespType type) {
        RespType ended = type;
        while (depth > 0) {
            if (--remaining[depth - 1] > 0) {
                return;
            }
            ended = types[--depth];
            visitor.onAggregateEnd(ended);
            if (ended == RespType.ATTRIBUTE) {
                // An attribute is no value: nothing around it is complete because of it.
                return;
            }
        }
        endTop(visitor, ended);
    }

    private void endTop(RespVisitor visitor, RespType type) {
        replyBytes = 0;
        if (type == RespType.PUSH) {
            visitor.onPushEnd();
        } else {
            visitor.onReplyEnd();
        }
    }

    // ---- bodies

    private boolean beginBody(ByteBuf in, RespVisitor visitor, RespType type, long length, int lineBytes) {
        if (length > limits.bulkLengthMax()) {
            throw overLimit(RespRule.BULK_LENGTH_MAX, bodyOf(length) + " with a limit of " + limits.bulkLengthMax());
        }
        if (replyBytes + lineBytes + length + CRLF_BYTES > limits.replyBytesMax()) {
            throw overLimit(RespRule.REPLY_BYTES_MAX, bodyOf(length) + " after " + (replyBytes + lineBytes)
                    + " bytes with a limit of " + limits.replyBytesMax());
        }
        if (type == RespType.VERBATIM_STRING && length < FORMAT_BYTES) {
            throw malformed(RespRule.VERBATIM_FORM, in, in.readerIndex() + 1);
        }
        advance(in, lineBytes);
        bodyType = type;
        bodyLength = (int) length;
        bodyFormat = 0;
        if (type == RespType.VERBATIM_STRING) {
            state = State.VERBATIM_FORMAT;
        } else {
            beginContent(visitor);
        }
        return true;
    }

    private static String bodyOf(long length) {
        return length > Integer.MAX_VALUE
                ? "a body of more than " + Integer.MAX_VALUE + " bytes"
                : "a body of " + length + " bytes";
    }

    private void beginContent(RespVisitor visitor) {
        isInPieces = bodyLength > 0 && visitor.isWantedInPieces(bodyType, bodyLength);
        state = isInPieces ? State.BODY_PIECES : State.WHOLE_BODY;
        if (isInPieces) {
            bodyRemaining = bodyLength;
            visitor.onPiecesStart(bodyType, bodyFormat, bodyLength);
        }
    }

    private boolean readVerbatimFormat(ByteBuf in, RespVisitor visitor) {
        if (in.readableBytes() < FORMAT_BYTES) {
            return false;
        }
        int index = in.readerIndex();
        if (in.getByte(index + 3) != ':') {
            throw malformed(RespRule.VERBATIM_FORM, in, index + 3);
        }
        bodyFormat = in.getMedium(index) & 0xFFFFFF;
        bodyLength -= FORMAT_BYTES;
        advance(in, FORMAT_BYTES);
        beginContent(visitor);
        return true;
    }

    private boolean readWholeBody(ByteBuf in, RespVisitor visitor) {
        if (in.readableBytes() - CRLF_BYTES < bodyLength) {
            return false;
        }
        int index = in.readerIndex();
        checkBodyEnd(in, index + bodyLength);
        advance(in, bodyLength + CRLF_BYTES);
        state = State.VALUE;
        deliverBody(in, visitor, index);
        endValue(visitor, bodyType);
        return true;
    }

    private void deliverBody(ByteBuf in, RespVisitor visitor, int index) {
        if (bodyType == RespType.BULK_STRING) {
            visitor.onBulkString(in, index, bodyLength);
        } else if (bodyType == RespType.VERBATIM_STRING) {
            visitor.onVerbatimString(bodyFormat, in, index, bodyLength);
        } else {
            visitor.onBulkError(in, index, bodyLength);
        }
    }

    private boolean readPieces(ByteBuf in, RespVisitor visitor) {
        int length = Math.min(in.readableBytes(), bodyRemaining);
        if (length == 0) {
            return false;
        }
        int index = in.readerIndex();
        advance(in, length);
        bodyRemaining -= length;
        if (bodyRemaining == 0) {
            state = State.BODY_END;
        }
        visitor.onPiece(in, index, length);
        return true;
    }

    private boolean readBodyEnd(ByteBuf in, RespVisitor visitor) {
        if (in.readableBytes() < CRLF_BYTES) {
            return false;
        }
        checkBodyEnd(in, in.readerIndex());
        advance(in, CRLF_BYTES);
        state = State.VALUE;
        visitor.onPiecesEnd();
        endValue(visitor, bodyType);
        return true;
    }

    private void checkBodyEnd(ByteBuf in, int index) {
        if (in.getShort(index) != 0x0D0A) {
            throw malformed(RespRule.BODY_END, in, in.getByte(index) == '\r' ? index + 1 : index);
        }
    }

    // ---- bookkeeping

    private void advance(ByteBuf in, int bytes) {
        replyBytes += bytes;
        if (replyBytes > limits.replyBytesMax()) {
            throw overLimit(RespRule.REPLY_BYTES_MAX,
                    replyBytes + " bytes and no end with a limit of " + limits.replyBytesMax());
        }
        in.skipBytes(bytes);
        offset += bytes;
        scanned = 0;
    }

    private void refuseAt(RespRule rule, ByteBuf in, int index) {
        if (index >= 0) {
            throw malformed(rule, in, index);
        }
    }

    private RespProtocolException malformed(RespRule rule, ByteBuf in, int index) {
        return RespProtocolException.ofByte(rule, place(in), in.getByte(index), offset + index - in.readerIndex());
    }

    private RespProtocolException overLimit(RespRule rule, String detail) {
        return RespProtocolException.ofDetail(rule, state.name(), detail, offset);
    }

    /** The state, and in it the type of the value that is being read. */
    private String place(ByteBuf in) {
        RespType type = state == State.VALUE ? RespType.ofMarker(in.getByte(in.readerIndex())) : bodyType;
        return type == null ? state.name() : state + " of " + type;
    }

    /**
     * What the next byte belongs to.
     *
     * @threading immutable
     */
    private enum State {
        /** A marker and its line. */
        VALUE,
        /** The four bytes {@code txt:}. */
        VERBATIM_FORMAT,
        /** A body that waits to be complete, and its CRLF. */
        WHOLE_BODY,
        /** A body that is handed on as it comes. */
        BODY_PIECES,
        /** The CRLF behind the pieces. */
        BODY_END,
        /** Nothing is read any more. */
        FAILED
    }
}
