package dev.redlock.jmh.codec;

import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;

/**
 * Adds up what it sees, so that no decoding can be optimised away and the sum can be checked.
 *
 * @threading caller-confined
 */
final class SumVisitor implements RespVisitor {
    long sum;
    int replies;

    void reset() {
        sum = 0;
        replies = 0;
    }

    @Override
    public void onInteger(long value) {
        sum += value;
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        sum += length;
    }

    @Override
    public void onSimpleString(ByteBuf buf, int index, int length) {
        sum += length;
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        sum += length;
    }

    @Override
    public void onReplyEnd() {
        replies++;
    }
}
