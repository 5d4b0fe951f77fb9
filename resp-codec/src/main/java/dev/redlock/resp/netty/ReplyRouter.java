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
 * Sends the events of each top-level value to whom it belongs: a push to the push reader, a reply to the visitor of the
 * oldest request. An attribute comes before it is known what it describes, so it is read as a tree and handed on when
 * the next value begins.
 *
 * @threading event-loop-confined
 */
final class ReplyRouter implements RespVisitor {
    private final Destinations destinations;
    private final RespValueReader pushReader;
    private final RespValueReader attributeReader = new RespValueReader(this::keepAttribute);

    /** Who gets the value that is being read, or null between values. */
    private RespVisitor target;
    private int depth;
    private RespValue attribute;

    ReplyRouter(Destinations destinations) {
        this.destinations = destinations;
        this.pushReader = new RespValueReader(destinations::onPush);
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        if (target == null) {
            target = targetOf(type);
        }
        depth++;
        target.onAggregateStart(depth == 1 && type == RespType.ATTRIBUTE ? RespType.MAP : type, elementCount);
    }

    private RespVisitor targetOf(RespType type) {
        return switch (type) {
            case PUSH -> begin(pushReader);
            case ATTRIBUTE -> attributeReader;
            default -> begin(destinations.nextReply());
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

    /** An attribute is replayed through a parser of its own: a rare thing, done the plain way. */
    private RespVisitor begin(RespVisitor visitor) {
        if (attribute != null) {
            ByteBuf replay = Unpooled.buffer();
            attribute.writeTo(replay);
            attribute = null;
            RespParser.forReplies(RespLimits.defaults().depthMax(RespLimits.DEPTH_MAX_MOST)).parse(replay, visitor);
        }
        return visitor;
    }

    private RespVisitor target() {
        if (target == null) {
            target = begin(destinations.nextReply());
        }
        return target;
    }

    @Override
    public void onReplyEnd() {
        RespVisitor last = target;
        target = null;
        last.onReplyEnd();
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
     * The requests and the push listener behind a router.
     *
     * @threading event-loop-confined
     */
    interface Destinations {
        /** The visitor of the oldest request that awaits a reply; throws if there is none. */
        RespVisitor nextReply();

        /** The oldest request has its reply. */
        void onReplyEnd();

        /** A push is complete. */
        void onPush(RespValue push);
    }
}
