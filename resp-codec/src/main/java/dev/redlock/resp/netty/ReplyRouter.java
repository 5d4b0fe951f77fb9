package dev.redlock.resp.netty;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Routes the events of each top-level value: those of a reply to the visitor of the oldest request, those of a push to
 * the push listener. A top-level attribute precedes its value, so the router does not yet have the target. It reads the
 * attribute as a tree and replays it to the target when the value starts.
 *
 * @threading event-loop-confined
 */
final class ReplyRouter implements RespVisitor {
    private final Destinations destinations;
    private final RespValueReader pushReader;
    private final RespValueReader attributeReader = new RespValueReader(this::keepAttribute);

    /** The visitor of the current top-level value, or null between values. */
    private RespVisitor target;
    private int depth;
    /** The attribute of the next reply or push, or null. */
    private RespValue attribute;

    ReplyRouter(Destinations destinations) {
        this.destinations = destinations;
        this.pushReader = new RespValueReader(destinations::onPush);
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        if (target == null) {
            target = startAggregate(type);
        }
        depth++;
        // RespValueReader completes trees of values only, so a top-level attribute starts and ends as a map.
        target.onAggregateStart(depth == 1 && type == RespType.ATTRIBUTE ? RespType.MAP : type, elementCount);
    }

    private RespVisitor startAggregate(RespType type) {
        return switch (type) {
            case PUSH -> start(pushReader);
            case ATTRIBUTE -> attributeReader;
            default -> start(destinations.nextReply());
        };
    }

    @Override
    public void onAggregateEnd(RespType type) {
        depth--;
        if (depth > 0 || type != RespType.ATTRIBUTE) {
            target.onAggregateEnd(type);
            return;
        }
        attributeReader.onAggregateEnd(RespType.MAP);
        attributeReader.onReplyEnd();
        target = null;
    }

    private void keepAttribute(RespValue map) {
        attribute = RespValue.aggregate(RespType.ATTRIBUTE, map.elements());
    }

    /** Replays the attribute before the value. A second parser is slow, but attributes are rare. */
    private RespVisitor start(RespVisitor visitor) {
        if (attribute != null) {
            ByteBuf replay = Unpooled.buffer();
            attribute.writeTo(replay);
            attribute = null;
            RespLimits limits = RespLimits.defaults().depthMax(RespLimits.DEPTH_MAX_UPPER_BOUND);
            RespParser.forReplies(limits).parse(replay, visitor);
        }
        return visitor;
    }

    private RespVisitor target() {
        if (target == null) {
            target = start(destinations.nextReply());
        }
        return target;
    }

    @Override
    public void onReplyEnd() {
        RespVisitor replied = target;
        target = null;
        replied.onReplyEnd();
        destinations.onReplyEnd();
    }

    @Override
    public void onPushEnd() {
        target = null;
        pushReader.onPushEnd();
    }

    @Override
    public void onInteger(long value) {
        target().onInteger(value);
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        target().onSimpleError(buf, index, length);
    }

    @Override
    public void onSimpleString(ByteBuf buf, int index, int length) {
        target().onSimpleString(buf, index, length);
    }

    @Override
    public void onNull(RespType type) {
        target().onNull(type);
    }

    @Override
    public void onBoolean(boolean value) {
        target().onBoolean(value);
    }

    @Override
    public void onDouble(double value) {
        target().onDouble(value);
    }

    @Override
    public void onBigNumber(ByteBuf buf, int index, int length) {
        target().onBigNumber(buf, index, length);
    }

    @Override
    public boolean isWantedInPieces(RespType type, int length) {
        return target().isWantedInPieces(type, length);
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        target().onBulkString(buf, index, length);
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        target().onBulkError(buf, index, length);
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        target().onVerbatimString(format, buf, index, length);
    }

    @Override
    public void onPiecesStart(RespType type, int format, int length) {
        target().onPiecesStart(type, format, length);
    }

    @Override
    public void onPiece(ByteBuf buf, int index, int length) {
        target().onPiece(buf, index, length);
    }

    @Override
    public void onPiecesEnd() {
        target().onPiecesEnd();
    }

    /**
     * The receivers of replies and pushes.
     *
     * @threading event-loop-confined
     */
    interface Destinations {
        /** Returns the visitor of the oldest pending request. Throws if no request is pending. */
        RespVisitor nextReply();

        /** Ends the reply of the oldest pending request. */
        void onReplyEnd();

        /** Receives a complete push. */
        void onPush(RespValue push);
    }
}
