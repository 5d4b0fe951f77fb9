package dev.redlock;

import dev.redlock.api.CloseReport;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.LockEngine;
import dev.redlock.engine.TestEngine;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.IoTransport;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Runs a client on given loops, transports, a clock and a seed, and gives tests access to its internal state. */
public final class TestClient {

    private final TestEngine engine;
    private final Redlock redlock;

    public TestClient(RedlockContext context, EventLoop loop, IoTransport transport,
            NanoClock clock, long seed) {
        this(context, () -> transport, clock, seed, loop);
    }

    public TestClient(RedlockContext context, Supplier<IoTransport> transports, NanoClock clock,
            long seed, EventLoop... loops) {
        engine = new TestEngine(context.eventLoops(loops).conclude(), transports, clock, seed, loops);
        redlock = new Redlock(engine.lockEngine());
    }

    /** Returns a client whose nodes refuse every connection: port 1 and its neighbours are reserved. */
    public static Redlock unreachable() {
        return Redlock.connect(
                new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3").transport(TransportKind.NIO));
    }

    /** Runs a task on the client's event loop: in the callback of an acquisition. */
    public static <T> T onLoop(Redlock client, Supplier<T> call) {
        CompletableFuture<T> result = new CompletableFuture<>();
        AcquireOptions once = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();
        client.acquire(client.key("loop"), once, client.newLease(), outcome -> {
            try {
                result.complete(call.get());
            } catch (RuntimeException | Error e) {
                result.completeExceptionally(e);
            }
        });
        return result.orTimeout(60, TimeUnit.SECONDS).join();
    }

    /** Checks all options of a context together, as a client does that connects. */
    public static ClientConfig conclude(RedlockContext context) {
        return context.conclude();
    }

    /** @return the engine of a client */
    public static LockEngine engineOf(Redlock redlock) {
        return redlock.engine;
    }

    /** @return the options as the engine sees them */
    public static AcquireSpec specOf(AcquireOptions options) {
        return options.spec;
    }

    /** @return elections of a client that have not ended */
    public static int electionCount(Redlock redlock) {
        return redlock.elections.size();
    }

    /** @return the text form of the name and the password */
    public static String loginText(Credentials credentials) {
        return credentials.login.toString();
    }

    public TestEngine engine() {
        return engine;
    }

    /** Starts to connect. */
    public CompletableFuture<Void> open() {
        return engine.open();
    }

    public Redlock redlock() {
        return redlock;
    }

    /** Runs a task on the event loop. */
    public void execute(Runnable task) {
        engine.execute(task);
    }

    /** Starts to close, without the wait of {@link Redlock#closeWithin}. */
    public CompletableFuture<CloseReport> close(Duration timeout) {
        return engine.close(timeout);
    }

    /** @return whether nobody waits, and nothing is left in a queue, a registration or a limit */
    public boolean isIdle() {
        return engine.isIdle();
    }

    /** @return claims that are not in their pool */
    public int claimsOut() {
        return engine.claimsOut();
    }

    /** @return claims in the pool */
    public int pooledClaims() {
        return engine.pooledClaims();
    }

    /** @return leases that the keeper tracks */
    public int heldCount() {
        return engine.heldCount();
    }

    /** Reseeds the random source of tokens, as the system does for a copied process. */
    public void reseed(long seed) {
        engine.reseed(seed);
    }
}
