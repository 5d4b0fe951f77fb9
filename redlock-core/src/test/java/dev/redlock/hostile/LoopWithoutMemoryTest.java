package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** The event loop has no memory for the task of a request: the caller gets the error, and the next try works. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LoopWithoutMemoryTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory()) {
        @Override
        protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
            return new SingleThreadIoEventLoop(this, executor, factory) {
                @Override
                public void execute(Runnable task) {
                    if (Thread.currentThread() == hungry) {
                        hungry = null;
                        throw new OutOfMemoryError("thrown by a test");
                    }
                    super.execute(task);
                }
            };
        }
    };
    private final LiveNodes nodes = new LiveNodes(1);
    private Redlock redlock;
    /** The thread whose next task finds no memory. */
    private volatile Thread hungry;

    @BeforeEach
    void connect() {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), group.next(),
                nodes.newTransport(), NanoClock.system(), 1);
        client.open().orTimeout(60, TimeUnit.SECONDS).join();
        redlock = client.redlock();
    }

    @AfterEach
    void end() {
        redlock.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        nodes.close();
    }

    private void assertNoMemory(Executable call) {
        hungry = Thread.currentThread();
        assertThrows(OutOfMemoryError.class, call);
    }

    private Lease held() throws InterruptedException {
        return redlock.acquire(redlock.key("orders"), OPTIONS).lease();
    }

    @Test
    void theNextReleaseIsSubmitted() throws Exception {
        Lease lease = held();
        assertNoMemory(lease::release);
        assertTrue(lease.isHeld(), "nothing has happened");
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }

    @Test
    void theNextCloseIsSubmitted() throws Exception {
        Lease lease = held();
        assertNoMemory(lease::close);
        assertTrue(lease.isHeld(), "nothing has happened");
        lease.close();
        Await.until("released", () -> lease.state() == LeaseState.RELEASED);
        assertEquals(0, redlock.counters().heldCount());
    }

    @Test
    void theNextReleaseWithACallbackIsSubmitted() throws Exception {
        Lease lease = held();
        CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();
        assertNoMemory(() -> lease.release((released, how) -> outcome.complete(how)));
        lease.release((released, how) -> outcome.complete(how));
        assertEquals(ReleaseOutcome.RELEASED, outcome.get(60, TimeUnit.SECONDS));
    }

    @Test
    void theNextCloseOfTheClientStarts() throws Exception {
        Lease lease = held();
        assertNoMemory(() -> redlock.closeWithin(Duration.ofSeconds(30)));
        assertTrue(lease.isHeld(), "nothing has happened");
        assertEquals(new CloseReport(1, List.of()), redlock.closeWithin(Duration.ofSeconds(30)));
        assertFalse(lease.isHeld());
    }

    @Test
    void theNextExtensionIsSubmitted() throws Exception {
        Lease lease = held();
        assertNoMemory(() -> lease.extend(Duration.ofSeconds(30)));
        assertEquals(ExtendOutcome.EXTENDED, lease.extend(Duration.ofSeconds(30)));
        lease.release();
    }

    @Test
    void theHandleOfAnAcquisitionCanBeUsedAgain() throws Exception {
        Lease lease = redlock.newLease();
        CompletableFuture<Boolean> outcome = new CompletableFuture<>();
        assertNoMemory(() -> redlock.acquire(redlock.key("orders"), OPTIONS, lease,
                acquired -> outcome.complete(acquired.isAcquired())));
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        assertFalse(outcome.isDone(), "no outcome beside the error");
        redlock.acquire(redlock.key("orders"), OPTIONS, lease, acquired -> outcome.complete(acquired.isAcquired()));
        assertTrue(outcome.get(60, TimeUnit.SECONDS));
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }
}
