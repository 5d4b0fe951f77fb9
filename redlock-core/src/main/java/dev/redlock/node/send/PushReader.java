package dev.redlock.node.send;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * Reads one push of a connection: {@code >2 invalidate [key ...]}, or {@code >2 invalidate null} if the server was
 * flushed. It ignores everything else, but counts it, because a server may push without end. It keeps no bytes and
 * allocates nothing.
 *
 * @threading event-loop-confined
 */
final class InvalidationReader implements RespVisitor {

    private static final ByteBuf INVALIDATE = Unpooled.copiedBuffer("invalidate", StandardCharsets.US_ASCII);
    /** The push itself has depth 1, and its list of keys has depth 2. */
    private static final int KEYS_DEPTH = 2;
    private static final int KIND_AND_KEYS = 2;
    /** A string weighs one more for each 16 KiB. */
    private static final int WEIGHT_SHIFT = 14;

    /**
     * Receives the pushes.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** A registered key has changed. The bytes are borrowed. */
        void onInvalidated(ByteBuf key, int index, int length);

        /** The server was flushed, which may happen during the handshake too. */
        void onKeysFlushed();

        /** A push has elements that are no invalidations. Returns false if the connection is not used any more. */
        boolean onOtherPush(int weight);
    }

    private final Listener listener;
    private int depth;
    private boolean isInvalidation;
    private boolean hasKeys;
    private int otherWeight;

    InvalidationReader(Listener listener) {
        this.listener = listener;
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        depth++;
        otherWeight += depth == 1 ? Math.max(0, elementCount - KIND_AND_KEYS) : elementCount;
    }

    @Override
    public void onAggregateEnd(RespType type) {
        depth--;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
        if (depth == KEYS_DEPTH && isInvalidation) {
            hasKeys = true;
            otherWeight--;
            listener.onInvalidated(buf, index, length);
        } else if (depth == 1) {
            isInvalidation = length == INVALIDATE.capacity()
                    && ByteBufUtil.equals(buf, index, INVALIDATE, 0, length);
        }
    }

    @Override
    public void onNull(RespType type) {
        if (depth == 1 && isInvalidation && !hasKeys) {
            hasKeys = true;
            listener.onKeysFlushed();
        }
    }

    @Override
    public void onPushEnd() {
        int weight = hasKeys ? otherWeight : otherWeight + 1;
        isInvalidation = false;
        hasKeys = false;
        otherWeight = 0;
        if (weight > 0) {
            listener.onOtherPush(weight);
        }
    }

    @Override
    public void onInteger(long value) {
        // Counted as an element.
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        // Counted as an element.
    }

    @Override
    public void onBulkError(ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
    }

    @Override
    public void onVerbatimString(int format, ByteBuf buf, int index, int length) {
        otherWeight += length >> WEIGHT_SHIFT;
    }

    @Override
    public void onReplyEnd() {
        throw new IllegalStateException("a push is not a reply");
    }
}
