package dev.redlock.jmh.codec;

import dev.redlock.resp.RespVisitor;
import io.netty.buffer.ByteBuf;

/**
 * Sums all values, so that the compiler cannot remove the decoding and the benchmark can check the sum.
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
