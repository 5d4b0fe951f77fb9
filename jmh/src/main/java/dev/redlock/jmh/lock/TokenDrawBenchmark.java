package dev.redlock.jmh.lock;

import dev.redlock.quorum.SeedSource;
import dev.redlock.quorum.Token;
import dev.redlock.quorum.TokenStream;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
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
 * One token of twenty random bytes, against {@code SecureRandom}.
 *
 * @threading caller-confined; the harness gives each thread its own
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 4, time = 1)
@Fork(1)
public class TokenDrawBenchmark {

    private final SecureRandom secureRandom = new SecureRandom();
    private final TokenStream stream = new TokenStream(SeedSource.system(), System::currentTimeMillis, 0);
    private final Token token = new Token();
    private final ByteBuffer drawn = ByteBuffer.wrap(token.bulk);
    private final byte[] bytes = new byte[Token.LENGTH];
    private long nowNs;
    private long first;
    private long last;

    /** The client: the next twenty bytes of a key stream. */
    @Benchmark
    public long tokenStream() {
        // A microsecond from draw to draw, so that the figure includes new keys as in a busy client.
        nowNs += 1_000;
        stream.next(token, nowNs);
        last = drawn.getLong(5);
        first = first == 0 ? last : first;
        return last;
    }

    /** The baseline: twenty bytes from SecureRandom. */
    @Benchmark
    public byte[] baselineSecureRandom() {
        secureRandom.nextBytes(bytes);
        return bytes;
    }

    /** Two draws of a run cannot be equal. */
    @TearDown
    public void check() {
        if (first != 0 && first == last) {
            throw new IllegalStateException("the stream repeats itself");
        }
    }
}
