package dev.redlock.jmh.codec;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ByteArrayOutput;
import io.lettuce.core.protocol.RedisStateMachine;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.redis.BulkStringRedisContent;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One bulk string reply. Ours and Netty's hand on a range of the read buffer, Lettuce's a byte array; {@code
 * redlockCopied} makes that copy too, for a like comparison with Lettuce.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class DecodeBulkStrings {
    /** Bytes of the body. */
    @Param({"16", "1024", "65536"})
    public int length;

    private final SumVisitor visitor = new SumVisitor();
    private final CopyVisitor copyVisitor = new CopyVisitor();
    private final RespParser parser = RespParser.forReplies(RespLimits.defaults());
    private final NettyDecoder netty = new NettyDecoder();
    private final RedisStateMachine lettuce = new RedisStateMachine();
    private ByteBuf wire;

    /** Writes the read once. */
    @Setup
    public void write() {
        wire = Wires.direct("$" + length + "\r\n" + "x".repeat(length) + "\r\n");
    }

    /** Gives the buffer back. */
    @TearDown
    public void release() {
        wire.release();
    }

    /**
     * Ours, as a range of the buffer.
     *
     * @return bytes
     */
    @Benchmark
    public long redlock() {
        wire.readerIndex(0);
        visitor.reset();
        parser.parse(wire, visitor);
        Wires.check(length, visitor.sum);
        return visitor.sum;
    }

    /**
     * Ours, copied out.
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
