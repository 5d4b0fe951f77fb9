package dev.redlock;

import dev.redlock.quorum.Token;
import dev.redlock.quorum.TokenStream;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** A client over a given loop, transport, clock and seed, and a view of what it keeps to itself. */
public final class TestClient {

    private final Conductor conductor;
    private final Redlock redlock;
    private final Random tokenSeeds;

    public TestClient(final RedlockContext context, final EventLoop loop, final IoTransport transport,
            final NanoClock clock, final long seed) {
        context.conclude();
        tokenSeeds = new Random(seed);
        conductor = new Conductor(context, loop, transport, clock,
                new TokenStream(tokenSeeds::nextBytes, () -> seed, clock.nanoTime()), new SplittableRandom(seed));
        redlock = new Redlock(context, conductor);
    }

    /** Starts to connect. */
    public CompletableFuture<Void> open() {
        return conductor.open();
    }

    public Redlock redlock() {
        return redlock;
    }

    /** Begins to close; what {@link Redlock#closeWithin} waits for. */
    public CompletableFuture<CloseReport> close(final Duration timeout) {
        final CompletableFuture<CloseReport> report = new CompletableFuture<>();
        conductor.execute(() -> conductor.close(timeout.toNanos(), report));
        return report;
    }

    /** @return attempts that are not back in their pool */
    public int attemptsOut() {
        return conductor.attemptsOut();
    }

    /** @return attempts in the pool */
    public int pooledAttempts() {
        return conductor.pooledAttempts();
    }

    /** @return leases that the keeper believes to be held */
    public int heldCount() {
        return conductor.keeper().heldCount();
    }

    /** @return the token that a held lease has on the nodes, bytes as chars; empty if it has none */
    public static String tokenOf(final Lease lease) {
        final Attempt attempt = ((LeaseSlot) lease).attempt;
        if (attempt == null) {
            return "";
        }
        final ByteBuffer bytes = ByteBuffer.allocate(Token.LENGTH)
                .putLong(attempt.token.high())
                .putLong(attempt.token.middle())
                .putInt(attempt.token.low());
        return new String(bytes.array(), StandardCharsets.ISO_8859_1);
    }

    /** From now on the system's random source gives this process other bytes, as it does a copy of a machine. */
    public void reseed(final long seed) {
        tokenSeeds.setSeed(seed);
    }

    Conductor conductor() {
        return conductor;
    }
}
