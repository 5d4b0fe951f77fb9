package dev.redlock.jmh.codec;

import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;

/**
 * Copies each bulk string out of the buffer.
 *
 * @threading caller-confined
 */
final class CopyVisitor implements RespVisitor {
    byte[] bytes;

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        bytes = new byte[length];
        buf.getBytes(index, bytes);
    }

    @Override
    public void onInteger(long value) {
        throw new IllegalStateException("no integer is here");
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        throw new IllegalStateException("no error is here");
    }

    @Override
    public void onReplyEnd() {
    }
}
