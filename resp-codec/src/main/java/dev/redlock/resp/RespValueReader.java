package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;

/**
 * A visitor that builds {@link RespValue} trees and hands each complete one to a {@link Sink}. For cold paths: it
 * allocates everything it reads. Large bodies are taken in pieces, so that the bytes of one are kept once, and arrays
 * and lists grow with what has arrived, never with what a length claims.
 *
 * @threading caller-confined
 */
public final class RespValueReader implements RespVisitor {
    /** Bodies above this many bytes are taken in pieces. */
    private static final int WHOLE_BODY_MAX = 16 * 1024;

    private final Sink sink;
    private final int wholeBodyMax;
    private final Deque<Level> levels = new ArrayDeque<>();
    private RespValue top;
    /** The attribute of the top-level value that is to come, or null. */
    private RespValue topAttribute;

    private RespType piecesType;
    private int piecesFormat;
    private int piecesLength;
    private byte[] pieces;
    private int filled;

    /**
     * A reader in front of a sink.
     *
     * @param sink who gets the trees
     */
    public RespValueReader(Sink sink) {
        this(sink, WHOLE_BODY_MAX);
    }

    RespValueReader(Sink sink, int wholeBodyMax) {
        this.sink = Objects.requireNonNull(sink, "sink");
        this.wholeBodyMax = wholeBodyMax;
    }

    /**
     * Reads all complete replies of a buffer; pushes are among them with their own type.
     *
     * @param in     borrowed; what is incomplete stays unread, but for values whose beginning was consumed
     * @param limits what to accept at most
     * @return the replies and pushes in order
     * @throws RespProtocolException if a rule is broken
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
        pieces = new byte[Math.min(length, WHOLE_BODY_MAX)];
        filled = 0;
    }

    @Override
    public void onPiece(ByteBuf buf, int index, int length) {
        if (pieces.length - filled < length) {
            long doubled = Math.max(2L * pieces.length, (long) filled + length);
            pieces = Arrays.copyOf(pieces, (int) Math.min(doubled, piecesLength));
        }
        buf.getBytes(index, pieces, filled, length);
        filled += length;
    }

    @Override
    public void onPiecesEnd() {
        byte[] bytes = pieces.length == filled ? pieces : Arrays.copyOf(pieces, filled);
        pieces = null;
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
            top = described(value, topAttribute);
            topAttribute = null;
        } else {
            level.elements.add(described(value, level.attribute));
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

    private static RespValue described(RespValue value, RespValue attribute) {
        return attribute == null ? value : value.withAttribute(attribute);
    }

    private static byte[] copy(ByteBuf buf, int index, int length) {
        byte[] bytes = new byte[length];
        buf.getBytes(index, bytes);
        return bytes;
    }

    /**
     * Takes complete values.
     *
     * @threading caller-confined; called on the thread that calls the parser
     */
    @FunctionalInterface
    public interface Sink {
        /**
         * A reply is complete.
         *
         * @param value the reply
         */
        void onReply(RespValue value);

        /**
         * A push is complete. Treated as a reply unless overridden.
         *
         * @param value the push
         */
        default void onPush(RespValue value) {
            onReply(value);
        }
    }

    /**
     * One aggregate under construction.
     *
     * @threading caller-confined
     */
    private static final class Level {
        private final List<RespValue> elements = new ArrayList<>();
        /** The attribute of the element that is to come, or null. */
        private RespValue attribute;
    }
}
