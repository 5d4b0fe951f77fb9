package dev.redlock.jmh.codec;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.RedisStateMachine;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.redis.IntegerRedisMessage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
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
 * The replies of lock commands: integers, one or 64 in a read. One operation is the whole read. Each decoder hands
 * every number on; Lettuce is given one new output for each reply, as its command handler does, and Netty makes one
 * message for each.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class DecodeIntegers {
    /** What the read holds: one grant; 64 grants; 64 fence counters of four to five digits; 64 refusals. */
    @Param({"one", "grants64", "counters64", "refusals64"})
    public String replies;

    private final SumVisitor visitor = new SumVisitor();
    private final RespParser parser = RespParser.forReplies(RespLimits.defaults());
    private final NettyDecoder netty = new NettyDecoder();
    private final RedisStateMachine lettuce = new RedisStateMachine();
    private ByteBuf wire;
    private long expected;

    private long[] values() {
        return switch (replies) {
            case "one" -> new long[]{1};
            case "grants64" -> LongStream.generate(() -> 1).limit(64).toArray();
            case "counters64" -> LongStream.range(0, 64).map(i -> 9980 + i).toArray();
            default -> LongStream.range(0, 64).map(i -> -29_990 + i).toArray();
        };
    }

    /** Writes the read once and computes its sum. */
    @Setup
    public void write() {
        expected = LongStream.of(values()).sum();
        wire = Wires.direct(LongStream.of(values()).mapToObj(v -> ":" + v + "\r\n").collect(Collectors.joining()));
    }

    /** Gives the buffer back. */
    @TearDown
    public void release() {
        wire.release();
    }

    /**
     * Ours.
     *
     * @return the sum of the replies
     */
    @Benchmark
    public long redlock() {
        wire.readerIndex(0);
        visitor.reset();
        parser.parse(wire, visitor);
        Wires.check(expected, visitor.sum);
        return visitor.sum;
    }

    /**
     * netty-codec-redis.
     *
     * @return the sum of the replies
     */
    @Benchmark
    public long nettyCodecRedis() {
        wire.readerIndex(0);
        long sum = 0;
        List<Object> messages = netty.decode(wire);
        for (int i = 0; i < messages.size(); i++) {
            sum += ((IntegerRedisMessage) messages.get(i)).value();
        }
        Wires.check(expected, sum);
        return sum;
    }

    /**
     * Lettuce's parser.
     *
     * @return the sum of the replies
     */
    @Benchmark
    public long lettuce() {
        wire.readerIndex(0);
        long sum = 0;
        while (wire.isReadable()) {
            IntegerOutput<byte[], byte[]> output = new IntegerOutput<>(ByteArrayCodec.INSTANCE);
            lettuce.decode(wire, output);
            sum += output.get();
        }
        Wires.check(expected, sum);
        return sum;
    }
}
