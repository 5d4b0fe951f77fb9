package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Parses values of every type, one line or body at a time, and validates them. The {@link RespParser} reads the replies
 * of pipelined lock commands itself.
 *
 * @threading caller-confined
 */
final class ValueParser {
    private static final int INITIAL_STACK_DEPTH = 8;
    static final int CRLF_BYTES = 2;
    private static final int FORMAT_BYTES = 4;

    private final RespLimits limits;
    private final boolean isForRequests;

    State state = State.VALUE;

    /** Bytes consumed since the parser was created: the stream offset of the buffer's reader index. */
    long offset;
    /** Bytes consumed of the current top-level value. */
    long replyBytes;
    /** Bytes after the marker of an unfinished line that contain no CR; the next search starts after them. */
    int scannedBytes;

    private int depth;
    private int[] remainingElements = new int[INITIAL_STACK_DEPTH];
    private RespType[] types = new RespType[INITIAL_STACK_DEPTH];

    private RespType bodyType;
    private int bodyLength;
    private int bodyRemaining;
    private int bodyFormat;

    ValueParser(RespLimits limits, boolean isForRequests) {
        this.limits = limits;
        this.isForRequests = isForRequests;
    }

    /** Reads the next line, body or piece of a body; false if it is not complete. Some byte must be readable. */
    boolean read(ByteBuf in, RespVisitor visitor) {
        return switch (state) {
            case VALUE -> readValue(in, visitor);
            case VERBATIM_FORMAT -> readVerbatimFormat(in, visitor);
            case WHOLE_BODY -> readWholeBody(in, visitor);
            case BODY_PIECES -> readPieces(in, visitor);
            case BODY_END -> readBodyEnd(in, visitor);
        };
    }

    // ---- values

    private boolean readValue(ByteBuf in, RespVisitor visitor) {
        if (in.readableBytes() >= SwarIntegers.WORD_BYTES) {
            long word = in.getLongLE(in.readerIndex());
            int crIndex = SwarIntegers.crIndex(word);
            int number = SwarIntegers.parseShortLine(word, crIndex);
            if (number != SwarIntegers.NOT_SHORT) {
                return readNumberLine(in, visitor, number, crIndex);
            }
        }
        return readLine(in, visitor);
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

    /** Returns the index of the current line's CR, or -1 if its CRLF has not arrived. */
    private int findCr(ByteBuf in, int from) {
        int available = in.writerIndex() - from;
        int window = Math.min(available, limits.lineLengthMax() + 1);
        int cr = in.indexOf(from + scannedBytes, from + window, (byte) '\r');
        if (cr < 0) {
            scannedBytes = window;
            if (window > limits.lineLengthMax()) {
                throw overLimit(RespRule.LINE_LENGTH_MAX, "a line without CR in its first " + window + " bytes");
            }
            return -1;
        }
        if (cr + 1 == in.writerIndex()) {
            scannedBytes = cr - from;
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
            case SIMPLE_STRING, SIMPLE_ERROR -> rejectIfFound(RespRule.BARE_LF, in, in.indexOf(from, to, (byte) '\n'));
            case INTEGER -> checkInteger(in, from, to);
            case NULL -> rejectIfFound(RespRule.NULL_FORM, in, from == to ? -1 : from);
            case BOOLEAN -> rejectIfFound(RespRule.BOOLEAN_FORM, in, indexOfNonBoolean(in, from, to));
            case DOUBLE -> rejectIfFound(RespRule.DOUBLE_FORM, in, RespNumbers.indexOfNonDouble(in, from, to));
            case BIG_NUMBER -> rejectIfFound(RespRule.BIG_NUMBER_FORM, in, RespNumbers.indexOfNonInteger(in, from, to));
            default -> throw new AssertionError(type);
        }
    }

    private void checkInteger(ByteBuf in, int from, int to) {
        rejectIfFound(RespRule.INTEGER_FORM, in, RespNumbers.indexOfNonInteger(in, from, to));
        rejectIfFound(RespRule.INTEGER_RANGE, in, RespNumbers.indexOfOverflow(in, from, to));
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
            case INTEGER -> visitor.onInteger(RespNumbers.parseInteger(in, from, to));
            case NULL -> visitor.onNull(RespType.NULL);
            case BOOLEAN -> visitor.onBoolean(in.getByte(from) == 't');
            case DOUBLE -> visitor.onDouble(RespNumbers.parseDouble(in, from, to));
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
        long number = RespNumbers.parseDigitsCapped(in, from, to, Integer.MAX_VALUE);
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
            throw overLimit(RespRule.ELEMENT_COUNT_MAX, elementsOf(type, number, elements));
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

    private String elementsOf(RespType type, long number, long elements) {
        String many = number > Integer.MAX_VALUE ? "more than " + Integer.MAX_VALUE : Long.toString(elements);
        return many + " elements of " + type + " with a limit of " + limits.elementCountMax();
    }

    private void push(RespType type, int elements) {
        if (depth == types.length) {
            int size = Math.min(depth * 2, limits.depthMax());
            types = Arrays.copyOf(types, size);
            remainingElements = Arrays.copyOf(remainingElements, size);
        }
        types[depth] = type;
        remainingElements[depth++] = elements;
    }

    /** Ends the current value, and every aggregate whose last element it is. */
    private void endValue(RespVisitor visitor, RespType type) {
        RespType ended = type;
        while (depth > 0) {
            if (--remainingElements[depth - 1] > 0) {
                return;
            }
            ended = types[--depth];
            visitor.onAggregateEnd(ended);
            if (ended == RespType.ATTRIBUTE) {
                // An attribute does not count as an element of the aggregate around it.
                return;
            }
        }
        endTopLevelValue(visitor, ended);
    }

    private void endTopLevelValue(RespVisitor visitor, RespType type) {
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
        boolean isInPieces = bodyLength > 0 && visitor.isWantedInPieces(bodyType, bodyLength);
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
                    replyBytes + " bytes without an end with a limit of " + limits.replyBytesMax());
        }
        in.skipBytes(bytes);
        offset += bytes;
        scannedBytes = 0;
    }

    private void rejectIfFound(RespRule rule, ByteBuf in, int violationIndex) {
        if (violationIndex >= 0) {
            throw malformed(rule, in, violationIndex);
        }
    }

    private RespProtocolException malformed(RespRule rule, ByteBuf in, int index) {
        long position = offset + index - in.readerIndex();
        return RespProtocolException.ofByte(rule, stateAndType(in), in.getByte(index), position);
    }

    private RespProtocolException overLimit(RespRule rule, String detail) {
        return RespProtocolException.ofDetail(rule, state.name(), detail, offset);
    }

    /** The state and the type of the current value, for error messages. */
    private String stateAndType(ByteBuf in) {
        RespType type = state == State.VALUE ? RespType.ofMarker(in.getByte(in.readerIndex())) : bodyType;
        return type == null ? state.name() : state + " of " + type;
    }

    /**
     * The part of a value that the next byte belongs to.
     *
     * @threading immutable
     */
    enum State {
        /** A marker and its line. */
        VALUE,
        /** The format and colon of a verbatim string, such as {@code txt:}. */
        VERBATIM_FORMAT,
        /** A body that is delivered whole, and its CRLF. */
        WHOLE_BODY,
        /** A body that is delivered in pieces. */
        BODY_PIECES,
        /** The CRLF after the last piece. */
        BODY_END
    }
}
