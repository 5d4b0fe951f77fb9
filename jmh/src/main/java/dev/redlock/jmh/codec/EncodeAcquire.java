package dev.redlock.jmh.codec;

import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespWriter;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.redis.ArrayRedisMessage;
import io.netty.handler.codec.redis.FullBulkStringRedisMessage;
import io.netty.handler.codec.redis.RedisEncoder;
import io.netty.handler.codec.redis.RedisMessage;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One acquire: {@code EVALSHA <sha> 1 <resource> <token, 20 bytes> <ttlMs>}, 117 bytes. This codec and Lettuce's write
 * into an existing buffer. Netty's encoder needs a pipeline, which is part of its figure, and allocates buffers.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class EncodeAcquire {
    private static final String SHA = "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4";
    private static final RespCommand ACQUIRE = RespCommand.template("EVALSHA", SHA, "1")
            .argument()
            .argument(20)
            .argument()
            .end();

    private final byte[] sha = SHA.getBytes(StandardCharsets.US_ASCII);
    private final byte[] resource = "orders:4711".getBytes(StandardCharsets.US_ASCII);
    private final byte[] token = "01234567890123456789".getBytes(StandardCharsets.US_ASCII);
    private final ByteBuf out = PooledByteBufAllocator.DEFAULT.directBuffer(1024);
    private final EmbeddedChannel channel = new EmbeddedChannel(new RedisEncoder());
    private long ttlMs = 30_000;

    /** Releases the buffers. */
    @TearDown
    public void release() {
        out.release();
        channel.finishAndReleaseAll();
    }

    /**
     * This codec, from a template.
     *
     * @return bytes written
     */
    @Benchmark
    public int redlock() {
        out.clear();
        ACQUIRE.part(0, out);
        RespWriter.bulkString(out, resource);
        ACQUIRE.part(1, out);
        out.writeBytes(token);
        ACQUIRE.part(2, out);
        RespWriter.bulkInteger(out, ttlMs);
        ACQUIRE.part(3, out);
        Wires.check(127, out.writerIndex());
        return out.writerIndex();
    }

    /**
     * Lettuce: a command with its arguments and output, encoded.
     *
     * @return bytes written
     */
    @Benchmark
    public int lettuce() {
        out.clear();
        CommandArgs<byte[], byte[]> args = new CommandArgs<>(ByteArrayCodec.INSTANCE).add(sha)
                .add(1)
                .addKey(resource)
                .add(token)
                .add(ttlMs);
        new Command<>(CommandType.EVALSHA, new IntegerOutput<>(ByteArrayCodec.INSTANCE), args).encode(out);
        Wires.check(127, out.writerIndex());
        return out.writerIndex();
    }

    /**
     * netty-codec-redis: an array message of bulk strings through its encoder.
     *
     * @return bytes written
     */
    @Benchmark
    public int nettyCodecRedis() {
        List<RedisMessage> words = new ArrayList<>(6);
        words.add(word("EVALSHA".getBytes(StandardCharsets.US_ASCII)));
        words.add(word(sha));
        words.add(word("1".getBytes(StandardCharsets.US_ASCII)));
        words.add(word(resource));
        words.add(word(token));
        words.add(word(Long.toString(ttlMs).getBytes(StandardCharsets.US_ASCII)));
        channel.writeOutbound(new ArrayRedisMessage(words));
        int written = 0;
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            written += part.readableBytes();
            part.release();
        }
        Wires.check(127, written);
        return written;
    }

    private static RedisMessage word(byte[] bytes) {
        return new FullBulkStringRedisMessage(Unpooled.wrappedBuffer(bytes));
    }
}
