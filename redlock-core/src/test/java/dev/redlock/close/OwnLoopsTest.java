package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.CloseReport;
import dev.redlock.testing.BlockedCall;
import dev.redlock.transport.NettyTransport;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client that runs event loops of its own: their transport, and their end when the client closes. */
@Timeout(60)
class OwnLoopsTest {

    @Test
    void theTransportIsDescribed() {
        try (Redlock redlock = TestClient.unreachable()) {
            assertEquals("NIO as configured", redlock.transportDescription());
        }
        try (Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1"))) {
            assertEquals(NettyTransport.best(false).description(), redlock.transportDescription());
        }
    }

    @Test
    void aCloseOnTheLoopEndsItsThread() throws InterruptedException {
        Redlock redlock = TestClient.unreachable();
        Thread loop = TestClient.onLoop(redlock, () -> {
            redlock.close();
            return Thread.currentThread();
        });
        loop.join(20_000);
        assertFalse(loop.isAlive(), "the thread has ended");
    }

    @Test
    void aCloseReturnsAfterTheThreadOfTheLoopHasEnded() throws InterruptedException {
        Redlock redlock = TestClient.unreachable();
        CountDownLatch blocking = new CountDownLatch(1);
        CompletableFuture<CloseReport> report = new CompletableFuture<>();
        Thread loop = TestClient.onLoop(redlock, () -> {
            TestClient.engineOf(redlock).loops.close(0).thenAccept(closed -> {
                report.complete(closed);
                awaitUninterruptibly(blocking);
            });
            return Thread.currentThread();
        });
        CloseReport closed = report.orTimeout(60, TimeUnit.SECONDS).join();
        BlockedCall<CloseReport> closing = new BlockedCall<>(() -> {
            CloseReport second = redlock.closeWithin(Duration.ZERO);
            assertFalse(loop.isAlive(), "the thread has ended");
            return second;
        });
        closing.awaitBlocked();
        assertTrue(loop.isAlive(), "the test blocks it");
        blocking.countDown();
        assertEquals(closed, closing.result(), "the report of the first close");
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
