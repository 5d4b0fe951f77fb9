package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.RetryPolicy;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Closes a client whose given event loop has ended before it. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ClientCloseTest {

    @Test
    void closeWorksAfterTheLoopHasTerminated() {
        LiveNodes nodes = new LiveNodes(1);
        RedlockContext context = new RedlockContext().nodes(nodes.addresses());
        TestClient client = new TestClient(context, nodes.clientLoop(), nodes.newTransport(), NanoClock.system(),
                1);
        client.open().join();
        nodes.close();
        Await.until("the loop has ended", nodes.clientLoop()::isTerminated);
        client.redlock().close();
        assertEquals(new CloseReport(0, List.of()), client.redlock().closeWithin(Duration.ofSeconds(1)),
                "a second time too");
    }

    /** A given loop may outlive one client after another. The tasks that they have scheduled may be due much later. */
    @Test
    void aGivenLoopDoesNotReferToAClosedClient() {
        try (LiveNodes nodes = new LiveNodes(3)) {
            ManualIoEventLoop loop = new ManualIoEventLoop(Thread.currentThread(), LocalIoHandler.newFactory());
            WeakReference<RetryPolicy> closed = new WeakReference<>(policyOfUsedAndClosed(nodes, loop));
            Await.until("the client is collected", () -> {
                System.gc();
                return closed.refersTo(null);
            });
            loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
            runUntil(loop, loop::isTerminated);
        }
    }

    /** Returns an object that the client alone refers to. */
    private static RetryPolicy policyOfUsedAndClosed(LiveNodes nodes, ManualIoEventLoop loop) {
        RetryPolicy policy = RetryPolicy.jittered(Duration.ofMillis(1), Duration.ofMillis(2));
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()).retryPolicy(policy), loop,
                nodes.newTransport(), NanoClock.system(), 1);
        runUntil(loop, client.open()::isDone);
        CompletableFuture<AcquireOutcome> acquired = client.redlock()
                .acquireAsync("r", AcquireOptions.ofTtl(Duration.ofSeconds(10)))
                .toCompletableFuture();
        runUntil(loop, acquired::isDone);
        assertTrue(acquired.join().isAcquired());
        runUntil(loop, client.close(Duration.ofSeconds(1))::isDone);
        return policy;
    }

    private static void runUntil(ManualIoEventLoop loop, BooleanSupplier condition) {
        Await.until("the loop gets there", () -> {
            loop.runNow();
            return condition.getAsBoolean();
        });
    }

    /** Loop and caller both detect the close: exactly one of them completes the request, in either order. */
    @Test
    void everyCallOnAClosedClientCompletesWhileItsLoopRuns() throws InterruptedException {
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                    nodes.newTransport(), NanoClock.system(), 1);
            client.open().join();
            client.redlock().close();
            for (int i = 0; i < 20_000; i++) {
                assertEquals(AcquireOutcome.Kind.CLOSED,
                        client.redlock().tryAcquire("r", Duration.ofSeconds(10)).kind());
            }
        }
    }
}
