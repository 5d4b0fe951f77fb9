package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A callback that blocks the event loop leaves a line with its stack. */
@Timeout(60)
class StallWatchTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(50)).tryOnce();
    private static final String STALLED = "has not completed a turn";

    private final CountDownLatch unblocked = new CountDownLatch(1);

    private static Redlock connect(SocketNodes nodes, EventLoop... loops) {
        RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(5));
        return Redlock.connect(loops.length == 0 ? context : context.eventLoops(loops));
    }

    private void blockInMyCallback() {
        try {
            unblocked.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void block(Redlock redlock) {
        redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(), outcome -> blockInMyCallback());
    }

    @Test
    void aCallbackThatBlocksIsLoggedOnceWithItsStack() throws Exception {
        try (SocketNodes nodes = new SocketNodes(3); LogLines log = new LogLines()) {
            Redlock redlock = connect(nodes);
            Thread watch = watchOf(redlock);
            block(redlock);
            Await.until("it is logged", () -> !log.with(Level.WARNING, STALLED).isEmpty());
            String line = log.with(Level.WARNING, STALLED).get(0);
            assertTrue(line.contains("StallWatchTest.blockInMyCallback"), line);
            assertTrue(line.startsWith("the event loop redlock-0 "), line);
            assertTrue(watch.isDaemon() && watch.isAlive());
            unblocked.countDown();
            redlock.close();
            watch.join(20_000);
            assertFalse(watch.isAlive(), "it ends with the client");
            assertEquals(1, log.with(STALLED).size());
        }
    }

    /** The youngest: other tests may have left clients open. */
    private static Thread watchOf(Redlock redlock) {
        return Thread.getAllStackTraces()
                .keySet()
                .stream()
                .filter(thread -> thread.getName().equals("redlock-watch"))
                .max((a, b) -> Long.compare(a.getId(), b.getId()))
                .orElseThrow();
    }

    /** An idle loop has no turn for a second: all its nodes are down. */
    @Test
    void aLoopWithoutWorkIsNotStalled() {
        try (LogLines log = new LogLines(); Redlock redlock = TestClient.unreachable()) {
            long startNs = System.nanoTime();
            Await.until("some periods have passed", () -> System.nanoTime() - startNs > 2 * 1_500_000_000L);
            assertEquals(List.of(), log.with(STALLED), redlock::toString);
        }
    }

    /** Their owner may stop them, and has other means to watch them. */
    @Test
    void loopsOfTheUserAreNotWatched() {
        try (SocketNodes nodes = new SocketNodes(3)) {
            MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
            long before = watchCount();
            Redlock redlock = connect(nodes, group.next());
            assertTrue(watchCount() <= before);
            redlock.close();
            group.shutdownGracefully().syncUninterruptibly();
        }
    }

    private static long watchCount() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().equals("redlock-watch")).count();
    }
}
