package dev.redlock.jmh.codec;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import io.netty.handler.codec.redis.IntegerRedisMessage;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * The replies of lock commands: integers, one or 64 in a read. One operation is the whole read. Each decoder passes on
 * every number; Lettuce gets one new output for each reply, as from its command handler, and Netty makes one message
 * for each.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
public class DecodeIntegers extends DecodeBenchmark {
    /** The content of the read: one grant; 64 grants; 64 fence counters of four to five digits; 64 refusals. */
    @Param({"one", "grants64", "counters64", "refusals64"})
    public String replies;

    private final NettyDecoder netty = new NettyDecoder();
    private long expected;

    private long[] values() {
        return switch (replies) {
            case "one" -> new long[]{1};
            case "grants64" -> LongStream.generate(() -> 1).limit(64).toArray();
            case "counters64" -> LongStream.range(0, 64).map(i -> 9980 + i).toArray();
            default -> LongStream.range(0, 64).map(i -> -29_990 + i).toArray();
        };
    }

    @Override
    String text() {
        expected = LongStream.of(values()).sum();
        return LongStream.of(values()).mapToObj(v -> ":" + v + "\r\n").collect(Collectors.joining());
    }

    /**
     * This codec.
     *
     * @return the sum of the replies
     */
    @Benchmark
    public long redlock() {
        return visit(expected);
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
