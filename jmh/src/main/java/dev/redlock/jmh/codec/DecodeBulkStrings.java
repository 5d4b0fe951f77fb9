package dev.redlock.jmh.codec;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ByteArrayOutput;
import io.netty.handler.codec.redis.BulkStringRedisContent;
import java.util.List;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * One bulk string reply. This codec and Netty's pass on a range of the read buffer, Lettuce's a byte array; {@code
 * redlockCopied} also makes that copy, for a fair comparison with Lettuce.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
public class DecodeBulkStrings extends DecodeBenchmark {
    /** Bytes of the body. */
    @Param({"16", "1024", "65536"})
    public int length;

    private final CopyVisitor copyVisitor = new CopyVisitor();
    private final NettyDecoder netty = new NettyDecoder();

    @Override
    String text() {
        return "$" + length + "\r\n" + "x".repeat(length) + "\r\n";
    }

    /**
     * This codec, as a range of the buffer.
     *
     * @return bytes
     */
    @Benchmark
    public long redlock() {
        return visit(length);
    }

    /**
     * This codec, with a copy.
     *
     * @return the copy
     */
    @Benchmark
    public byte[] redlockCopied() {
        wire.readerIndex(0);
        parser.parse(wire, copyVisitor);
        Wires.check(length, copyVisitor.bytes.length);
        return copyVisitor.bytes;
    }

    /**
     * netty-codec-redis.
     *
     * @return bytes
     */
    @Benchmark
    public long nettyCodecRedis() {
        wire.readerIndex(0);
        long sum = 0;
        List<Object> messages = netty.decode(wire);
        for (int i = 0; i < messages.size(); i++) {
            if (messages.get(i) instanceof BulkStringRedisContent content) {
                sum += content.content().readableBytes();
                content.release();
            }
        }
        Wires.check(length, sum);
        return sum;
    }

    /**
     * Lettuce's parser.
     *
     * @return the copy
     */
    @Benchmark
    public byte[] lettuce() {
        wire.readerIndex(0);
        ByteArrayOutput<byte[], byte[]> output = new ByteArrayOutput<>(ByteArrayCodec.INSTANCE);
        lettuce.decode(wire, output);
        byte[] bytes = output.get();
        Wires.check(length, bytes.length);
        return bytes;
    }
}
