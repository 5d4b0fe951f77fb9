package dev.redlock.jmh.codec;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import io.lettuce.core.protocol.RedisStateMachine;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What all decoders have in common: one read in a direct buffer, read again from its beginning by each operation, our
 * parser with a visitor that adds up, and Lettuce's.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public abstract class DecodeBenchmark {
    final RespParser parser = RespParser.forReplies(RespLimits.defaults());
    final RedisStateMachine lettuce = new RedisStateMachine();
    /** The read. */
    ByteBuf wire;
    private final SumVisitor visitor = new SumVisitor();

    DecodeBenchmark() {
        // The fields hold it all.
    }

    /** What the read holds, on the wire. */
    abstract String text();

    /** Writes the read once. */
    @Setup
    public void write() {
        wire = Wires.direct(text());
    }

    /** Gives the buffer back. */
    @TearDown
    public void release() {
        wire.release();
    }

    /** Our parser over the whole read, each value visited as a range of the buffer. */
    final long visit(long expected) {
        wire.readerIndex(0);
        visitor.reset();
        parser.parse(wire, visitor);
        Wires.check(expected, visitor.sum);
        return visitor.sum;
    }
}
