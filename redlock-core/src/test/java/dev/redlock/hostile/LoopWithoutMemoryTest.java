package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockLock;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/**
 * The event loop has no memory for the task of a request. A release and a cancellation run without one; the caller of
 * another request gets the error, and the next try works.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LoopWithoutMemoryTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30)).tryOnce();
    private static final AcquireOptions EXTENDED = OPTIONS.autoExtend();
    private static final Duration AN_HOUR = Duration.ofHours(1);

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory()) {
        @Override
        protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
            return new SingleThreadIoEventLoop(this, executor, factory) {
                @Override
                public void execute(Runnable task) {
                    if (Thread.currentThread() == hungry || isEndHungry && isTaskOfEnd()) {
                        hungry = null;
                        isEndHungry = false;
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
    /** The task that ends the client finds no memory. */
    private volatile boolean isEndHungry;

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

    private void failNextTask() {
        hungry = Thread.currentThread();
    }

    /** Not those of the channels that close. */
    private static boolean isTaskOfEnd() {
        List<String> callers = StackWalker.getInstance()
                .walk(frames -> frames.map(StackWalker.StackFrame::getMethodName).toList());
        int task = callers.indexOf("executeUnlessEnding");
        return task >= 0 && callers.get(task + 1).equals("closeNodes");
    }

    private void assertTaskFailed() {
        assertNull(hungry, "the loop had no memory for a task");
    }

    private void awaitNoneHeld() {
        Await.until("released", () -> redlock.counters().heldCount() == 0);
    }

    /** The close does not wait for the outcome of the release then, so it does not know it. */
    @Test
    void aCloseWithoutATaskForItsEndIsNotClean() throws Exception {
        held();
        nodes.onLoop(() -> {
            nodes.node(0).pause();
            return null;
        });
        isEndHungry = true;
        CloseReport report = redlock.closeWithin(Duration.ZERO);
        assertFalse(isEndHungry, "the loop had no memory for the task");
        assertEquals(new CloseReport(0, List.of(
                "unknown: there was no memory to wait for more releases, at most: 1")), report);
    }

    /** The release has ended for its caller before, so its resource has a name in the report. */
    @Test
    void aCloseWithoutATaskForItsEndCountsAReleaseOnce() throws Exception {
        Lease lease = held();
        nodes.onLoop(() -> {
            nodes.node(0).pause();
            return null;
        });
        isEndHungry = true;
        CloseReport report = redlock.closeWithin(Duration.ofSeconds(1));
        assertFalse(isEndHungry, "the loop had no memory for the task");
        assertEquals(LeaseState.RELEASED, lease.state());
        assertEquals(new CloseReport(0, List.of("orders")), report);
    }

    @Test
    void aReleaseIsExecutedWithoutATask() throws Exception {
        Lease lease = held();
        failNextTask();
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertTaskFailed();
    }

    @Test
    void aCloseIsExecutedWithoutATask() throws Exception {
        Lease lease = held();
        failNextTask();
        lease.close();
        assertTaskFailed();
        Await.until("released", () -> lease.state() == LeaseState.RELEASED);
        assertEquals(0, redlock.counters().heldCount());
    }

    @Test
    void aReleaseWithACallbackIsExecutedWithoutATask() throws Exception {
        Lease lease = held();
        CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();
        failNextTask();
        lease.release((released, how) -> outcome.complete(how));
        assertTaskFailed();
        assertEquals(ReleaseOutcome.RELEASED, outcome.get(60, TimeUnit.SECONDS));
    }

    /** The view has no lease any more that it could release again. */
    @Test
    void unlockReleasesTheLock() throws Exception {
        RedlockLock view = redlock.asLock("orders", EXTENDED);
        view.lock();
        failNextTask();
        view.unlock();
        assertTaskFailed();
        awaitNoneHeld();
        assertTrue(view.tryLock());
        view.unlock();
    }

    @Test
    void theEndOfATaskReleasesItsLock() throws Exception {
        redlock.runOrThrow("orders", EXTENDED, lease -> failNextTask());
        assertTaskFailed();
        awaitNoneHeld();
    }

    @Test
    void anInterruptEndsAnAcquisition() throws Exception {
        Lease holder = held();
        FutureTask<AcquireOutcome> call = new FutureTask<>(() -> redlock.acquire("orders", EXTENDED.waitUpTo(AN_HOUR)));
        Thread caller = new Thread(call);
        caller.start();
        // Until then, the cancellation would join the task of the acquisition.
        Await.until("waits", this::isAwaited);
        Await.until("parked", () -> caller.getState() == Thread.State.WAITING);
        hungry = caller;
        caller.interrupt();
        ExecutionException thrown = assertThrows(ExecutionException.class, () -> call.get(60, TimeUnit.SECONDS));
        assertEquals(InterruptedException.class, thrown.getCause().getClass());
        assertEndsWithoutTheLock(holder);
    }

    @Test
    void aCancelledStageEndsItsAcquisition() throws Exception {
        Lease holder = held();
        CompletableFuture<AcquireOutcome> stage = redlock.acquireAsync("orders", EXTENDED.waitUpTo(AN_HOUR))
                .toCompletableFuture();
        Await.until("waits", this::isAwaited);
        failNextTask();
        assertTrue(stage.cancel(false));
        assertEndsWithoutTheLock(holder);
    }

    private boolean isAwaited() {
        try {
            return !redlock.localLocks(1).waiting().isEmpty();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void assertEndsWithoutTheLock(Lease holder) throws InterruptedException {
        assertTaskFailed();
        Await.until("cancelled", () -> !isAwaited());
        assertEquals(ReleaseOutcome.RELEASED, holder.release());
        Lease next = held();
        assertEquals(ReleaseOutcome.RELEASED, next.release());
        assertEquals(0, redlock.counters().heldCount());
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
