package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;

/**
 * A visitor that builds {@link RespValue} trees and passes each complete one to a {@link Sink}. It is for cold paths,
 * because it allocates every value it reads. It takes bodies above 16 KiB in pieces, so the caller of the parser does
 * not gather them too. Its arrays and lists grow with the bytes that arrive, never with an announced length.
 *
 * @threading caller-confined
 */
public final class RespValueReader implements RespVisitor {
    /** The reader takes longer bodies in pieces, and starts them with an array of this size. */
    private static final int WHOLE_BODY_MAX = 16 * 1024;

    private final Sink sink;
    private final int wholeBodyMax;
    private final Deque<Level> levels = new ArrayDeque<>();
    private RespValue top;
    /** The attribute of the next top-level value, or null. */
    private RespValue topAttribute;

    private RespType piecesType;
    private int piecesFormat;
    private int piecesLength;
    private byte[] piecesBytes;
    private int piecesFilled;

    /**
     * Creates a reader.
     *
     * @param sink receives the trees
     */
    public RespValueReader(Sink sink) {
        this(sink, WHOLE_BODY_MAX);
    }

    RespValueReader(Sink sink, int wholeBodyMax) {
        this.sink = Objects.requireNonNull(sink, "sink");
        this.wholeBodyMax = wholeBodyMax;
    }

    /**
     * Reads all complete replies and pushes of a buffer. The parser may consume the start of an incomplete value at the
     * end of the buffer, and that value is lost.
     *
     * @param in     borrowed; read from its reader index
     * @param limits upper bounds for the input
     * @return the replies and pushes in order
     * @throws RespProtocolException if the input violates a rule or a limit
     */
    public static List<RespValue> readAll(ByteBuf in, RespLimits limits) {
        List<RespValue> values = new ArrayList<>();
        RespParser.forReplies(limits).parse(in, new RespValueReader(values::add));
        return values;
    }

    @Override
    public void onInteger(long value) {
        add(RespValue.integer(value));
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        add(RespValue.ofBytes(RespType.SIMPLE_ERROR, copy(buf, index, length)));
    }

    @Override
    public void onSimpleString(ByteBuf buf, int index, int length) {
        add(RespValue.ofBytes(RespType.SIMPLE_STRING, copy(buf, index, length)));
    }

    @Override
    public void onNull(RespType type) {
        add(RespValue.nullOf(type));
    }

    @Override
    public void onBoolean(boolean value) {
        add(RespValue.bool(value));
    }

    @Override
    public void onDouble(double value) {
        add(RespValue.number(value));
    }

    @Override
    public void onBigNumber(ByteBuf buf, int index, int length) {
        add(RespValue.ofBytes(RespType.BIG_NUMBER, copy(buf, index, length)));
    }

    @Override
    public boolean isWantedInPieces(RespType type, int length) {
        return length > wholeBodyMax;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        add(RespValue.ofBytes(RespType.BULK_STRING, copy(buf, index, length)));
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        add(RespValue.ofBytes(RespType.BULK_ERROR, copy(buf, index, length)));
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        add(RespValue.ofVerbatim(format, copy(buf, index, length)));
    }

    @Override
    public void onPiecesStart(RespType type, int format, int length) {
        piecesType = type;
        piecesFormat = format;
        piecesLength = length;
        piecesBytes = new byte[Math.min(length, WHOLE_BODY_MAX)];
        piecesFilled = 0;
    }

    @Override
    public void onPiece(ByteBuf buf, int index, int length) {
        if (piecesBytes.length - piecesFilled < length) {
            long doubled = Math.max(2L * piecesBytes.length, (long) piecesFilled + length);
            piecesBytes = Arrays.copyOf(piecesBytes, (int) Math.min(doubled, piecesLength));
        }
        buf.getBytes(index, piecesBytes, piecesFilled, length);
        piecesFilled += length;
    }

    @Override
    public void onPiecesEnd() {
        byte[] bytes = piecesBytes.length == piecesFilled ? piecesBytes : Arrays.copyOf(piecesBytes, piecesFilled);
        piecesBytes = null;
        add(piecesType == RespType.VERBATIM_STRING
                ? RespValue.ofVerbatim(piecesFormat, bytes)
                : RespValue.ofBytes(piecesType, bytes));
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        levels.push(new Level());
    }

    @Override
    public void onAggregateEnd(RespType type) {
        RespValue value = RespValue.aggregate(type, levels.pop().elements);
        if (type == RespType.ATTRIBUTE) {
            keepAttribute(value);
        } else {
            add(value);
        }
    }

    @Override
    public void onReplyEnd() {
        sink.onReply(takeTop());
    }

    @Override
    public void onPushEnd() {
        sink.onPush(takeTop());
    }

    private RespValue takeTop() {
        RespValue value = top;
        top = null;
        return value;
    }

    private void add(RespValue value) {
        Level level = levels.peek();
        if (level == null) {
            top = withAttribute(value, topAttribute);
            topAttribute = null;
        } else {
            level.elements.add(withAttribute(value, level.attribute));
            level.attribute = null;
        }
    }

    /** A second attribute before the same value replaces the first. */
    private void keepAttribute(RespValue attribute) {
        Level level = levels.peek();
        if (level == null) {
            topAttribute = attribute;
        } else {
            level.attribute = attribute;
        }
    }

    private static RespValue withAttribute(RespValue value, RespValue attribute) {
        return attribute == null ? value : value.withAttribute(attribute);
    }

    private static byte[] copy(ByteBuf buf, int index, int length) {
        byte[] bytes = new byte[length];
        buf.getBytes(index, bytes);
        return bytes;
    }

    /**
     * Receives complete values.
     *
     * @threading caller-confined; called on the thread that calls the parser
     */
    @FunctionalInterface
    public interface Sink {
        /**
         * Receives a complete reply.
         *
         * @param value the reply
         */
        void onReply(RespValue value);

        /**
         * Receives a complete push. Calls {@link #onReply} unless overridden.
         *
         * @param value the push
         */
        default void onPush(RespValue value) {
            onReply(value);
        }
    }

    /**
     * An aggregate that is not complete.
     *
     * @threading caller-confined
     */
    private static final class Level {
        private final List<RespValue> elements = new ArrayList<>();
        /** The attribute of the next element, or null. */
        private RespValue attribute;
    }
}
