package dev.redlock.node;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * Reads one push of a connection: {@code >2 invalidate [key ...]}, or {@code >2 invalidate null} if every key may have
 * changed. It ignores all other pushes, keeps no bytes and allocates nothing.
 *
 * @threading event-loop-confined
 */
final class InvalidationReader implements RespVisitor {

    private static final byte[] INVALIDATE = "invalidate".getBytes(StandardCharsets.US_ASCII);
    /** The push itself has depth 1, and its list of keys has depth 2. */
    private static final int KEYS_DEPTH = 2;

    private final CommandSender sender;
    private int depth;
    private boolean isInvalidation;

    InvalidationReader(CommandSender sender) {
        this.sender = sender;
    }

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        depth++;
    }

    @Override
    public void onAggregateEnd(RespType type) {
        depth--;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        if (depth == 1) {
            isInvalidation = isInvalidate(buf, index, length);
        } else if (depth == KEYS_DEPTH && isInvalidation) {
            sender.onInvalidated(buf, index, length);
        }
    }

    private static boolean isInvalidate(ByteBuf buf, int index, int length) {
        if (length != INVALIDATE.length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (buf.getByte(index + i) != INVALIDATE[i]) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void onNull(RespType type) {
        if (depth == 1 && isInvalidation) {
            sender.onAllInvalidated();
        }
    }

    @Override
    public void onPushEnd() {
        isInvalidation = false;
    }

    @Override
    public void onInteger(long value) {
        // Not part of an invalidation.
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        // Not part of an invalidation.
    }

    @Override
    public void onReplyEnd() {
        throw new IllegalStateException("a push is not a reply");
    }
}
