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
 * The base of the decoder benchmarks: one read in a direct buffer, decoded from its start by each operation, with this
 * codec's parser and a summing visitor, and with Lettuce's.
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
        // Fields have their defaults.
    }

    /** The bytes of the read. */
    abstract String text();

    /** Writes the read once. */
    @Setup
    public void write() {
        wire = Wires.direct(text());
    }

    /** Releases the buffer. */
    @TearDown
    public void release() {
        wire.release();
    }

    /** Parses the whole read; each value is visited as a range of the buffer. */
    final long visit(long expected) {
        wire.readerIndex(0);
        visitor.reset();
        parser.parse(wire, visitor);
        Wires.check(expected, visitor.sum);
        return visitor.sum;
    }
}
