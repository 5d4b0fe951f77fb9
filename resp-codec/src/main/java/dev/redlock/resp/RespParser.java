package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * An incremental RESP2 and RESP3 parser that reports values to a {@link RespVisitor} as their bytes arrive. Every split
 * of the input gives the same events, but a body that is delivered in pieces may have other pieces.
 * <p>
 * Assumptions:
 * <ul>
 * <li>One thread calls at a time.
 * <li>The bytes that {@link #parse} leaves unread are the first bytes of the next call's buffer, before the new bytes.
 * </ul>
 * Guarantees:
 * <ul>
 * <li>Buffers are borrowed for the call. The parser keeps no reference to them.
 * <li>Valid input allocates nothing, except for a larger stack when values nest more than eight deep, and for the
 * doubles named at {@link RespVisitor#onDouble}.
 * <li>A length or count on the wire reserves no memory.
 * <li>The search for the end of an unfinished line resumes where it stopped.
 * <li>After the first failure the parser delivers nothing more.
 * </ul>
 *
 * @threading caller-confined
 */
public final class RespParser {
    private static final int INITIAL_STACK_DEPTH = 8;
    private static final int CRLF_BYTES = 2;
    private static final int FORMAT_BYTES = 4;
    /** The line {@code :0\r\n}, little-endian. */
    private static final long ONE_DIGIT_LINE = 0x0A0D303AL;
    /** Every bit of {@link #ONE_DIGIT_LINE} but the low four bits of the digit, which hold its value. */
    private static final long ONE_DIGIT_LINE_MASK = 0xFFFFF0FFL;
    private static final int ONE_DIGIT_LINE_BYTES = 4;
    /** The line {@code +OK\r\n}, little-endian, and the bits of a word that hold it. */
    private static final long OK_LINE = 0x0A0D4B4F2BL;
    private static final long OK_LINE_MASK = 0xFFFFFFFFFFL;
    private static final int OK_LINE_BYTES = 5;

    private final RespLimits limits;
    private final boolean isForRequests;

    private State state = State.VALUE;
    private RuntimeException failure;

    /** Bytes consumed since the parser was created: the stream offset of the buffer's reader index. */
    private long offset;
    /** Bytes consumed of the current top-level value. */
    private long replyBytes;
    /** Bytes after the marker of an unfinished line that contain no CR; the next search starts after them. */
    private int scannedBytes;

    private int depth;
    private int[] remainingElements = new int[INITIAL_STACK_DEPTH];
    private RespType[] types = new RespType[INITIAL_STACK_DEPTH];

    private RespType bodyType;
    private int bodyLength;
    private int bodyRemaining;
    private int bodyFormat;

    private RespParser(RespLimits limits, boolean isForRequests) {
        this.limits = limits;
        this.isForRequests = isForRequests;
    }

    /**
     * Creates a parser for replies and pushes of a server: values of any type.
     *
     * @param limits upper bounds for the input
     * @return a new parser
     */
    public static RespParser forReplies(RespLimits limits) {
        return new RespParser(limits, false);
    }

    /**
     * Creates a parser for requests of a client: arrays of bulk strings only. {@link RespVisitor#onReplyEnd()} reports
     * the end of each request.
     *
     * @param limits upper bounds for the input
     * @return a new parser
     */
    public static RespParser forRequests(RespLimits limits) {
        return new RespParser(limits, true);
    }

    /**
     * Parses all complete values and moves the reader index after them. An unfinished line stays unread, and so does an
     * unfinished body that the visitor wants whole.
     *
     * @param in      borrowed; read, never written
     * @param visitor receives the events, on the calling thread
     * @throws RespProtocolException if the input violates a rule or a limit; later calls throw the same exception
     * @throws IllegalStateException if the visitor threw in an earlier call
     */
    public void parse(ByteBuf in, RespVisitor visitor) {
        if (failure != null) {
            throw failure;
        }
        boolean isDone = false;
        try {
            while (state == State.VALUE ? readValue(in, visitor) : readRest(in, visitor)) {
                // Each call consumes lines, a body or a piece of a body.
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
            failure = new IllegalStateException(
                    "the visitor threw before offset " + offset + "; this parser accepts no more input");
        }
    }

    /**
     * Whether the consumed bytes end with a complete top-level value. The parser does not count bytes that it left
     * unread, so the caller checks its buffer too.
     *
     * @return false inside a value, between an attribute and its value, and after a failure
     */
    public boolean isBetweenReplies() {
        return replyBytes == 0 && scannedBytes == 0 && state == State.VALUE;
    }

    /**
     * Whether the parser has failed: the input violated a rule or a limit, or a visitor threw.
     *
     * @return true if every later call of {@link #parse} throws
     */
    public boolean hasFailed() {
        return failure != null;
    }

    /**
     * The number of bytes consumed since this parser was created.
     *
     * @return bytes, at least 0
     */
    public long offset() {
        return offset;
    }

    private boolean readRest(ByteBuf in, RespVisitor visitor) {
        return switch (state) {
            case VALUE -> throw new AssertionError(state);
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
            readShortReplies(in, visitor);
        }
        int readable = in.readableBytes();
        if (readable >= SwarIntegers.WORD_BYTES) {
            long word = in.getLongLE(in.readerIndex());
            int crIndex = SwarIntegers.crIndex(word);
            int number = SwarIntegers.parseShortLine(word, crIndex);
            if (number != SwarIntegers.NOT_SHORT) {
                return readNumberLine(in, visitor, number, crIndex);
            }
        }
        return readable > 0 && readLine(in, visitor);
    }

    /** The fast path for {@code +OK\r\n} and top-level integers, the replies of pipelined lock commands. */
    private void readShortReplies(ByteBuf in, RespVisitor visitor) {
        int start = in.readerIndex();
        int end = in.writerIndex();
        int index = start;
        int lineBytes = 1;
        while (end - index >= SwarIntegers.WORD_BYTES && lineBytes > 0) {
            long word = in.getLongLE(index);
            if (SwarIntegers.isTwoOneDigitIntegers(word)) {
                visitor.onIntegerReply(word >>> 8 & 0xF);
                visitor.onIntegerReply(word >>> 40 & 0xF);
                lineBytes = SwarIntegers.WORD_BYTES;
            } else if ((word & OK_LINE_MASK) == OK_LINE) {
                visitor.onOkReply(in, index + 1);
                lineBytes = OK_LINE_BYTES;
            } else if ((word & ONE_DIGIT_LINE_MASK) == ONE_DIGIT_LINE && (word >>> 8 & 0xF) <= 9) {
                visitor.onIntegerReply(word >>> 8 & 0xF);
                lineBytes = ONE_DIGIT_LINE_BYTES;
            } else {
                lineBytes = readIntegerReply(in, visitor, index, end, word);
            }
            index += lineBytes;
        }
        int left = end - index;
        if (left == ONE_DIGIT_LINE_BYTES || left == OK_LINE_BYTES) {
            index += readLastReply(in, visitor, index, left);
        }
        if (index > start) {
            in.readerIndex(index);
            offset += index - start;
            scannedBytes = 0;
        }
    }

    /** Returns the bytes of the line, or 0 if the byte-by-byte path must read it. */
    private int readIntegerReply(ByteBuf in, RespVisitor visitor, int index, int end, long word) {
        if ((byte) word != ':') {
            return 0;
        }
        int crIndex = SwarIntegers.crIndex(word);
        int number = SwarIntegers.parseShortLine(word, crIndex);
        if (number != SwarIntegers.NOT_SHORT) {
            visitor.onIntegerReply(number);
            return crIndex + CRLF_BYTES;
        }
        boolean isNegative = (byte) (word >>> 8) == '-';
        int from = isNegative ? index + 2 : index + 1;
        int digits = SwarIntegers.digitCount(in, from, end);
        if (digits == 0) {
            return 0;
        }
        long magnitude = SwarIntegers.parseDigits(in, from, digits);
        visitor.onIntegerReply(isNegative ? -magnitude : magnitude);
        return from - index + digits + CRLF_BYTES;
    }

    /** Reads {@code :1\r\n} or {@code +OK\r\n} where fewer bytes than a word are left. Returns the bytes read. */
    private static int readLastReply(ByteBuf in, RespVisitor visitor, int index, int left) {
        int word = in.getIntLE(index);
        int digit = word >>> 8 & 0xF;
        if (left == ONE_DIGIT_LINE_BYTES && (word & ONE_DIGIT_LINE_MASK) == ONE_DIGIT_LINE && digit <= 9) {
            visitor.onIntegerReply(digit);
        } else if (left == OK_LINE_BYTES && word == (int) OK_LINE && in.getByte(index + 4) == '\n') {
            visitor.onOkReply(in, index + 1);
        } else {
            return 0;
        }
        return left;
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
    private enum State {
        /** A marker and its line. */
        VALUE,
        /** The format and colon of a verbatim string, such as {@code txt:}. */
        VERBATIM_FORMAT,
        /** A body that is delivered whole, and its CRLF. */
        WHOLE_BODY,
        /** A body that is delivered in pieces. */
        BODY_PIECES,
        /** The CRLF after the last piece. */
        BODY_END,
        /** The end state after a failure. */
        FAILED
    }
}
