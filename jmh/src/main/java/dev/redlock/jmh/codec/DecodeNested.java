package dev.redlock.jmh.codec;

import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ObjectOutput;
import io.lettuce.core.protocol.ProtocolVersion;
import org.openjdk.jmh.annotations.Benchmark;

/**
 * A nested RESP3 reply: the map that {@code HELLO 3} answers, with an array in it. netty-codec-redis cannot read a map
 * and is not here. {@code redlock} only visits; {@code redlockTree} builds objects, as Lettuce does.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
public class DecodeNested extends DecodeBenchmark {
    private static final String HELLO = "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
            + "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:4711\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n"
            + "$6\r\nmaster\r\n$7\r\nmodules\r\n*2\r\n%1\r\n$4\r\nname\r\n$4\r\nbf11\r\n~2\r\n:1\r\n:2\r\n";
    /** Lengths of all strings and the integers, added. */
    private static final long SUM = 6 + 5 + 7 + 6 + 5 + 3 + 2 + 4711 + 4 + 10 + 4 + 6 + 7 + 4 + 4 + 1 + 2;

    private final RespValueReader reader = new RespValueReader(this::keep);
    private RespValue kept;

    private void keep(RespValue value) {
        kept = value;
    }

    @Override
    String text() {
        lettuce.setProtocolVersion(ProtocolVersion.RESP3);
        return HELLO;
    }

    /**
     * This codec, visited.
     *
     * @return the sum
     */
    @Benchmark
    public long redlock() {
        return visit(SUM);
    }

    /**
     * This codec, as a tree.
     *
     * @return the tree
     */
    @Benchmark
    public RespValue redlockTree() {
        wire.readerIndex(0);
        parser.parse(wire, reader);
        Wires.check(14, kept.elements().size());
        return kept;
    }

    /**
     * Lettuce's parser, as objects.
     *
     * @return the map
     */
    @Benchmark
    public Object lettuce() {
        wire.readerIndex(0);
        ObjectOutput<byte[], byte[]> output = new ObjectOutput<>(ByteArrayCodec.INSTANCE);
        Wires.check(1, lettuce.decode(wire, output) ? 1 : 0);
        return output.get();
    }
}
