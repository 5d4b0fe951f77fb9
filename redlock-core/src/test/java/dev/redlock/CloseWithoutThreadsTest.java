package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.api.CloseReport;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.TestEngine;
import dev.redlock.engine.callback.CallbackExecutors;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.BlockedCall;
import dev.redlock.time.NanoClock;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A close that follows the functions of a term, while no thread can start. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class CloseWithoutThreadsTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce();

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    private final LiveNodes nodes = new LiveNodes(1);
    private final CountDownLatch unblocked = new CountDownLatch(1);
    private final Redlock redlock = connect(group.next());

    private Redlock connect(EventLoop loop) {
        ClientConfig config = new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(60))
                .unansweredTimeout(Duration.ofSeconds(60))
                .eventLoops(loop)
                .conclude();
        ClientConfig.Loops loops = config.loops();
        TestEngine engine = new TestEngine(
                new ClientConfig(config.nodes(), config.names(), config.terms(), config.attempts(), config.limits(),
                        new ClientConfig.Loops(loops.given(), loops.own(), loops.closeTimeoutNs(),
                                CallbackExecutors.withoutExtraThreads(), loops.telemetry())),
                nodes::newTransport, NanoClock.system(), 1, loop);
        engine.open().orTimeout(60, TimeUnit.SECONDS).join();
        return new Redlock(engine.lockEngine());
    }

    @AfterEach
    void end() {
        unblocked.countDown();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        nodes.close();
    }

    private Void awaitUnblocked() {
        try {
            unblocked.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return null;
    }

    /** The functions return in time, or they do not. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theLeasesAreReleased(boolean isInTime) throws InterruptedException {
        CompletableFuture<Election.Term> leading = new CompletableFuture<>();
        redlock.elect("orders", OPTIONS, leading::complete);
        Election.Term term = leading.orTimeout(60, TimeUnit.SECONDS).join();
        redlock.acquire(redlock.key("r"), OPTIONS.autoExtend()).lease();
        term.ended().thenRun(this::awaitUnblocked);
        BlockedCall<Void> resignation = new BlockedCall<Void>(() -> {
            term.resign();
            return null;
        }).awaitBlocked();
        BlockedCall<CloseReport> closing = new BlockedCall<>(
                () -> redlock.closeWithin(isInTime ? Duration.ofHours(1) : Duration.ofSeconds(2)));
        if (isInTime) {
            closing.awaitBlocked();
            unblocked.countDown();
        }
        assertEquals(List.of(), closing.result().unreleased());
        assertNull(nodes.onLoop(() -> nodes.node(0).redis().get("r")));
        assertNull(nodes.onLoop(() -> nodes.node(0).redis().get("orders")));
        unblocked.countDown();
        resignation.result();
    }
}
