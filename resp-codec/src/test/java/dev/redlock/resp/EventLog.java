package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Records every event as text. Joins the pieces of a body, so that the logs of different splits are equal. */
public final class EventLog implements RespVisitor {
    private final List<String> events = new ArrayList<>();
    private final int piecesAbove;
    private ByteArrayOutputStream pieces;
    private int pieceCount;

    public EventLog() {
        this(Integer.MAX_VALUE);
    }

    public EventLog(int piecesAbove) {
        this.piecesAbove = piecesAbove;
    }

    public List<String> events() {
        return events;
    }

    public int pieceCount() {
        return pieceCount;
    }

    @Override
    public void onInteger(long value) {
        events.add("integer " + value);
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        events.add("simple error " + text(buf, index, length));
    }

    @Override
    public void onSimpleString(ByteBuf buf, int index, int length) {
        events.add("simple string " + text(buf, index, length));
    }

    @Override
    public void onNull(RespType type) {
        events.add("null " + type);
    }

    @Override
    public void onBoolean(boolean value) {
        events.add("boolean " + value);
    }

    @Override
    public void onDouble(double value) {
        events.add("double " + value);
    }

    @Override
    public void onBigNumber(ByteBuf buf, int index, int length) {
        events.add("big number " + text(buf, index, length));
    }

    @Override
    public boolean isWantedInPieces(RespType type, int length) {
        return length > piecesAbove;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        body(RespType.BULK_STRING, 0, text(buf, index, length));
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        body(RespType.BULK_ERROR, 0, text(buf, index, length));
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        body(RespType.VERBATIM_STRING, format, text(buf, index, length));
    }

    private RespType piecesType;
    private int piecesFormat;
    private int piecesLength;

    @Override
    public void onPiecesStart(RespType type, int format, int length) {
        pieces = new ByteArrayOutputStream();
        piecesType = type;
        piecesFormat = format;
        piecesLength = length;
    }

    @Override
    public void onPiece(ByteBuf buf, int index, int length) {
        pieceCount++;
        for (int i = 0; i < length; i++) {
            pieces.write(buf.getByte(index + i));
        }
    }

    @Override
    public void onPiecesEnd() {
        String all = pieces.toString(StandardCharsets.ISO_8859_1);
        if (all.length() != piecesLength) {
            throw new AssertionError(all.length() + " bytes arrived, expected " + piecesLength);
        }
        body(piecesType, piecesFormat, all);
    }

    private void body(RespType type, int format, String text) {
        events.add(type + (format == 0 ? " " : " " + RespValue.formatText(format) + " ") + text);
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        events.add("start " + type + " " + elementCount);
    }

    @Override
    public void onAggregateEnd(RespType type) {
        events.add("end " + type);
    }

    @Override
    public void onReplyEnd() {
        events.add("reply end");
    }

    @Override
    public void onPushEnd() {
        events.add("push end");
    }

    static String text(ByteBuf buf, int index, int length) {
        return buf.toString(index, length, StandardCharsets.ISO_8859_1);
    }
}
