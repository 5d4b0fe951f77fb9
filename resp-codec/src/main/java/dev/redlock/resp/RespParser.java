package dev.redlock.resp;

import io.netty.buffer.ByteBuf;

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
    /** The line {@code :0\r\n}, little-endian. */
    private static final long ONE_DIGIT_LINE = 0x0A0D303AL;
    /** Every bit of {@link #ONE_DIGIT_LINE} but the low four bits of the digit, which hold its value. */
    private static final long ONE_DIGIT_LINE_MASK = 0xFFFFF0FFL;
    private static final int ONE_DIGIT_LINE_BYTES = 4;
    /** The line {@code +OK\r\n}, little-endian, and the bits of a word that hold it. */
    private static final long OK_LINE = 0x0A0D4B4F2BL;
    private static final long OK_LINE_MASK = 0xFFFFFFFFFFL;
    private static final int OK_LINE_BYTES = 5;

    private final ValueParser values;
    private final boolean isForRequests;

    private RuntimeException failure;

    private RespParser(RespLimits limits, boolean isForRequests) {
        this.values = new ValueParser(limits, isForRequests);
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
            boolean isMore = true;
            while (isMore) {
                // Each call consumes lines, a body or a piece of a body.
                if (values.replyBytes == 0 && values.state == ValueParser.State.VALUE && !isForRequests) {
                    readShortReplies(in, visitor);
                }
                isMore = in.isReadable() && values.read(in, visitor);
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
        if (failure == null) {
            failure = new IllegalStateException(
                    "the visitor threw before offset " + values.offset + "; this parser accepts no more input");
        }
    }

    /**
     * Whether the consumed bytes end with a complete top-level value. The parser does not count bytes that it left
     * unread, so the caller checks its buffer too.
     *
     * @return false inside a value, between an attribute and its value, and after a failure
     */
    public boolean isBetweenReplies() {
        return failure == null && values.replyBytes == 0 && values.scannedBytes == 0
                && values.state == ValueParser.State.VALUE;
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
        return values.offset;
    }

    /** The fast path for {@code +OK\r\n} and top-level integers, the replies of pipelined lock commands. */
    private void readShortReplies(ByteBuf in, RespVisitor visitor) {
        int start = in.readerIndex();
        int end = in.writerIndex();
        int index = start;
        for (int lineBytes = 1; lineBytes > 0 && end - index >= ONE_DIGIT_LINE_BYTES; index += lineBytes) {
            boolean isWhole = end - index >= SwarIntegers.WORD_BYTES;
            long word = isWhole ? in.getLongLE(index) : partAt(in, index, end);
            if (isWhole && SwarIntegers.isTwoOneDigitIntegers(word)) {
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
                lineBytes = isWhole ? readIntegerReply(in, visitor, index, end, word) : 0;
            }
        }
        if (index > start) {
            in.readerIndex(index);
            values.offset += index - start;
            values.scannedBytes = 0;
        }
    }

    /** The last four bytes of a read, or the first five of the last seven, with zeros after them. */
    private static long partAt(ByteBuf in, int index, int end) {
        long word = in.getUnsignedIntLE(index);
        return end - index == ONE_DIGIT_LINE_BYTES ? word : word | (long) in.getUnsignedByte(index + 4) << Integer.SIZE;
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
            return crIndex + ValueParser.CRLF_BYTES;
        }
        boolean isNegative = (byte) (word >>> 8) == '-';
        int from = isNegative ? index + 2 : index + 1;
        int digits = SwarIntegers.digitCount(in, from, end);
        if (digits == 0) {
            return 0;
        }
        long magnitude = SwarIntegers.parseDigits(in, from, digits);
        visitor.onIntegerReply(isNegative ? -magnitude : magnitude);
        return from - index + digits + ValueParser.CRLF_BYTES;
    }
}
