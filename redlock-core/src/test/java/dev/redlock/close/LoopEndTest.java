package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.HotSpotDiagnosticMXBean;
import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CloseReport;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.TestEngine;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import dev.redlock.testing.Refusal;
import dev.redlock.time.NanoClock;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.ScheduledFuture;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A given event loop is shut down before the client is closed: every caller gets an outcome. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class LoopEndTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final Duration AN_HOUR = Duration.ofHours(1);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();

    /** The ways to shut a loop down. */
    enum End {
        GRACEFUL {
            @Override
            void shutDown(EventLoop loop) {
                loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            }
        },
        QUIET {
            @Override
            void shutDown(EventLoop loop) {
                loop.shutdownGracefully(100, 1_000, TimeUnit.MILLISECONDS);
            }
        },
        ABRUPT {
            @Override
            @SuppressWarnings("deprecation") // The users of this one need outcomes too.
            void shutDown(EventLoop loop) {
                loop.shutdown();
            }
        };

        abstract void shutDown(EventLoop loop);
    }

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    private final EventLoop loop = group.next();
    private final LiveNodes nodes = new LiveNodes(1);
    private final List<FutureTask<?>> calls = new ArrayList<>();
    private Redlock redlock;

    @AfterEach
    void end() {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        nodes.close();
    }

    private void connect(EventLoop onLoop) {
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses())
                .nodeTimeout(Duration.ofSeconds(60))
                .unansweredTimeout(Duration.ofSeconds(60)), onLoop, nodes.newTransport(), NanoClock.system(), 1);
        client.open().orTimeout(60, TimeUnit.SECONDS).join();
        redlock = client.redlock();
    }

    private void pauseNode() {
        nodes.onLoop(() -> {
            nodes.node(0).pause();
            return null;
        });
    }

    /** Runs a call on a new thread, until the thread is parked. */
    private <T> FutureTask<T> parked(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        calls.add(task);
        Await.until("parked", () -> thread.getState() == Thread.State.WAITING);
        return task;
    }

    private static <T> T resultOf(FutureTask<T> task) throws Exception {
        return task.get(60, TimeUnit.SECONDS);
    }

    private Lease held(String resource, AcquireOptions options) throws InterruptedException {
        return redlock.acquire(redlock.key(resource), options).lease();
    }

    /** The threads that wake virtual ones, as a thread dump shows them. */
    private static int wakerCount(Path folder) throws Exception {
        Path file = folder.resolve(UUID.randomUUID().toString());
        Class<?> format = Class.forName("com.sun.management.HotSpotDiagnosticMXBean$ThreadDumpFormat");
        HotSpotDiagnosticMXBean.class.getMethod("dumpThreads", String.class, format)
                .invoke(
                        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class), file.toString(),
                        format.getEnumConstants()[0]);
        return Files.readString(file).split("VirtualCallers\\$Waker[.]run", -1).length - 1;
    }

    private static void awaitWakers(Path folder, int count) {
        Await.until("wakers: " + count, () -> {
            try {
                return wakerCount(folder) == count;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    /** A virtual thread stays in memory until it ends, with all that it refers to. JDK 17 has none. */
    @Test
    void theEndOfTheLoopEndsTheThreadThatWakesVirtualOnes(@TempDir Path folder) throws Exception {
        if (Runtime.version().feature() < 21) {
            return;
        }
        connect(loop);
        int others = wakerCount(folder);
        CountDownLatch mayRun = new CountDownLatch(1);
        loop.submit(() -> {
            mayRun.await();
            return null;
        });
        List<Thread> callers = new ArrayList<>();
        for (String resource : List.of("a", "b")) {
            Runnable acquire = new FutureTask<>(() -> redlock.tryAcquire(resource, TTL));
            callers.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, acquire));
        }
        callers.forEach(thread -> Await.until("parked", () -> thread.getState() == Thread.State.WAITING));
        mayRun.countDown();
        awaitWakers(folder, others + 1);
        End.GRACEFUL.shutDown(loop);
        awaitWakers(folder, others);
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopCompletesAnAttempt(End end) throws Exception {
        connect(loop);
        pauseNode();
        FutureTask<AcquireOutcome> call = parked(() -> redlock.tryAcquire("r", TTL));
        end.shutDown(loop);
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(call).kind());
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopCompletesAnAcquisitionBetweenAttempts(End end) throws Exception {
        connect(loop);
        nodes.access(0).setIfAbsent("r", "foreign", 3_600_000);
        AcquireOptions slowly = OPTIONS.waitUpTo(AN_HOUR)
                .retryPolicy((attempts, reason, ttl, random) -> AN_HOUR.toNanos());
        FutureTask<AcquireOutcome> head = parked(() -> redlock.acquire(redlock.key("r"), slowly));
        FutureTask<AcquireOutcome> second = parked(() -> redlock.acquire(redlock.key("r"), slowly));
        end.shutDown(loop);
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(head).kind());
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(second).kind());
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopCompletesARelease(End end) throws Exception {
        connect(loop);
        Lease lease = held("r", OPTIONS);
        pauseNode();
        FutureTask<ReleaseOutcome> call = parked(lease::release);
        end.shutDown(loop);
        assertEquals(ReleaseOutcome.UNKNOWN, resultOf(call));
        assertEquals(LeaseState.RELEASED, lease.state());
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopCompletesAnExtension(End end) throws Exception {
        connect(loop);
        Lease lease = held("r", OPTIONS);
        pauseNode();
        FutureTask<ExtendOutcome> call = parked(() -> lease.extend(TTL));
        end.shutDown(loop);
        Set<ExtendOutcome> possible = EnumSet.of(ExtendOutcome.NOT_HELD, ExtendOutcome.NOT_EXTENDED);
        assertTrue(possible.contains(resultOf(call)), () -> call + " is one of " + possible);
    }

    /** The keys last for some seconds, but the client can neither extend nor release them. */
    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopLosesHeldLeasesAndNotifiesListeners(End end) throws Exception {
        connect(loop);
        CompletableFuture<LeaseState> received = new CompletableFuture<>();
        Lease lease = held("r", OPTIONS.autoExtend().listener((lost, state) -> received.complete(state)));
        end.shutDown(loop);
        assertEquals(LeaseState.LOST, received.orTimeout(60, TimeUnit.SECONDS).join());
        assertEquals(LeaseState.LOST, lease.state());
        assertFalse(lease.isHeld());
        Await.until("ended", loop::isTerminated);
        assertEquals(ReleaseOutcome.UNKNOWN, lease.release(), "its key exists until its ttl ends");
        lease.close();
        CloseReport report = redlock.closeWithin(Duration.ofSeconds(1));
        assertEquals(List.of("r"), report.unreleased());
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopCompletesAClose(End end) throws Exception {
        connect(loop);
        held("r", OPTIONS);
        pauseNode();
        FutureTask<CloseReport> call = parked(() -> redlock.closeWithin(AN_HOUR));
        end.shutDown(loop);
        assertEquals(new CloseReport(0, List.of("r")), resultOf(call));
    }

    /** Each request is taken by the loop before its end, or completed by its caller. */
    @ParameterizedTest
    @EnumSource
    void callsDuringTheEndOfTheLoopComplete(End end) throws Exception {
        connect(loop);
        Set<AcquireOutcome.Kind> kinds = ConcurrentHashMap.newKeySet();
        List<FutureTask<AcquireOutcome>> callers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            String resource = "r" + i;
            FutureTask<AcquireOutcome> caller = new FutureTask<>(() -> {
                while (true) {
                    AcquireOutcome outcome = redlock.tryAcquire(resource, TTL, AN_HOUR);
                    kinds.add(outcome.kind());
                    if (!outcome.isAcquired()) {
                        return outcome;
                    }
                    outcome.lease().close();
                }
            });
            callers.add(caller);
            Thread thread = new Thread(caller);
            thread.setDaemon(true);
            thread.start();
        }
        Await.until("in progress", () -> kinds.contains(AcquireOutcome.Kind.ACQUIRED));
        end.shutDown(loop);
        for (FutureTask<AcquireOutcome> caller : callers) {
            assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(caller).kind());
        }
        redlock.close();
    }

    @ParameterizedTest
    @EnumSource
    void connectOnATerminatedLoopReturnsAClosedClient(End end) throws Exception {
        end.shutDown(loop);
        Await.until("ended", loop::isTerminated);
        connect(loop);
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(task(() -> redlock.tryAcquire("r", TTL, TTL))).kind());
        redlock.close();
    }

    /** A terminated manual loop accepts tasks silently. */
    @Test
    void connectOnATerminatedManualLoopReturnsAClosedClient() throws Exception {
        ManualIoEventLoop byHand = new ManualIoEventLoop(Thread.currentThread(), LocalIoHandler.newFactory());
        byHand.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        Await.until("ended", () -> byHand.runNow() >= 0 && byHand.isTerminated());
        FutureTask<AcquireOutcome> call = task(() -> {
            connect(byHand);
            return redlock.tryAcquire("r", TTL, TTL);
        });
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(call).kind());
        assertEquals(new CloseReport(0, List.of()), resultOf(task(() -> redlock.closeWithin(TTL))));
    }

    @ParameterizedTest
    @EnumSource
    void callsOnATerminatedManualLoopComplete(End end) throws Exception {
        TestEngine.RunningLoop thread = TestEngine.RunningLoop.start(LocalIoHandler.newFactory(),
                IdlePolicy.BLOCK, "by-hand");
        connect(thread.loop());
        CompletableFuture<LeaseState> received = new CompletableFuture<>();
        held("held", OPTIONS.listener((lost, state) -> received.complete(state)));
        pauseNode();
        FutureTask<AcquireOutcome> attempt = parked(() -> redlock.tryAcquire("r", TTL));
        FutureTask<AcquireOutcome> second = parked(() -> redlock.tryAcquire("r", TTL, AN_HOUR));
        end.shutDown(thread.loop());
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(attempt).kind());
        assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(second).kind());
        assertEquals(LeaseState.LOST, received.orTimeout(60, TimeUnit.SECONDS).join());
        thread.shutDown();
        assertEquals(List.of("held"), redlock.closeWithin(TTL).unreleased());
    }

    private static <T> FutureTask<T> task(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    /** The outcome of the acquisition was due in the next turn, which does not come. */
    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopDeliversAnOutcome(End end) {
        TestClient client = new TestClient(
                new RedlockContext().nodes(nodes.addresses()).autoExtendedLeasesMax(0), loop,
                nodes.newTransport(), NanoClock.system(), 1);
        client.open().orTimeout(60, TimeUnit.SECONDS).join();
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        Lease lease = client.redlock().newLease();
        loop.execute(() -> {
            client.redlock()
                    .acquire(client.redlock().key("r"), OPTIONS.autoExtend(), lease,
                            outcome -> received.complete(outcome.kind()));
            end.shutDown(loop);
        });
        assertEquals(AcquireOutcome.Kind.OVERLOADED, received.orTimeout(60, TimeUnit.SECONDS).join());
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        client.redlock().close();
        Await.until("ended", loop::isTerminated);
    }

    /** The loop cancels its scheduled tasks, the client's first: the client has ended, and no next turn comes. */
    @ParameterizedTest
    @EnumSource
    void aRequestOnALoopThatEndsHasAnOutcome(End end) {
        connect(loop);
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        loop.execute(() -> {
            // Due after all tasks of the client, so cancelled after them.
            loop.schedule(() -> {
            }, 50_000, TimeUnit.DAYS)
                    .addListener(cancelled -> redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(),
                            outcome -> received.complete(outcome.kind())));
            end.shutDown(loop);
        });
        assertEquals(AcquireOutcome.Kind.CLOSED, received.orTimeout(60, TimeUnit.SECONDS).join());
        redlock.close();
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopIsLoggedWithTheLeasesThatAreLost(End end) throws Exception {
        connect(loop);
        held("r", OPTIONS);
        held("s", OPTIONS);
        try (LogLines log = new LogLines()) {
            end.shutDown(loop);
            Await.until("logged", () -> !log.with(Level.WARNING, "event loop").isEmpty());
            assertEquals(
                    List.of("the event loop was shut down before the client was closed: 2 leases are lost, their keys"
                            + " expire with their ttl; close the client first"),
                    log.with(Level.WARNING, "event loop"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopIsNoWarningWithoutLeases(End end) throws Exception {
        connect(loop);
        held("r", OPTIONS).release();
        try (LogLines log = new LogLines()) {
            end.shutDown(loop);
            String line = "the event loop was shut down before the client was closed: requests on it get the outcome"
                    + " CLOSED; close the client first";
            Await.until("logged", () -> log.with(Level.INFO, "event loop").contains(line));
            Await.until("ended", loop::isTerminated);
            assertEquals(List.of(), log.with(Level.WARNING, ""));
            assertEquals(List.of(), log.with("the server closed"));
        }
    }

    /** The client is not closed, so the reason names the loop. */
    @Test
    void viewsAndElectionsSayThatTheLoopHasEnded() {
        connect(loop);
        End.GRACEFUL.shutDown(loop);
        Await.until("ended", loop::isTerminated);
        String reason = "the client is closed, or its event loop has ended: connect again";
        Refusal.ofState("\"r\" cannot be locked: " + reason, () -> redlock.asLock("r", OPTIONS).lock());
        Refusal.ofState("no permit of \"r\" can be taken: " + reason,
                () -> redlock.asSemaphore("r", 1, OPTIONS).acquire());
        Refusal.ofState("\"r\" gets no candidate: its event loop has ended, connect again on another one",
                () -> redlock.elect("r", OPTIONS, term -> {
                }));
        assertEquals(0, TestClient.electionCount(redlock));
        redlock.close();
    }

    /** One candidate leads and one waits: both would look like those that wait. */
    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopIsLoggedForEachCandidate(End end) throws Exception {
        connect(loop);
        held("waits", OPTIONS);
        CompletableFuture<Election.Term> leading = new CompletableFuture<>();
        redlock.elect("waits", OPTIONS, term -> {
        });
        redlock.elect("leads", OPTIONS, leading::complete);
        leading.orTimeout(60, TimeUnit.SECONDS).join();
        try (LogLines log = new LogLines()) {
            end.shutDown(loop);
            for (String resource : List.of("waits", "leads")) {
                String line = "the candidate for \"" + resource + "\" has left its election for good: its event loop"
                        + " was shut down before the client was closed; close the client first, or connect again";
                Await.until("logged", () -> log.with(Level.WARNING, line).size() == 1);
            }
        }
        redlock.close();
    }

    @Test
    void theCloseOfTheClientIsNotLoggedForItsCandidates() throws Exception {
        connect(loop);
        held("waits", OPTIONS);
        redlock.elect("waits", OPTIONS, term -> {
        });
        try (LogLines log = new LogLines()) {
            redlock.close();
            assertEquals(List.of(), log.with(Level.WARNING, "has left its election"));
        }
    }

    /** The connections end with the loop, and nothing connects them again. */
    @ParameterizedTest
    @EnumSource
    void theNodesShowThatTheLoopHasEnded(End end) {
        connect(loop);
        end.shutDown(loop);
        Await.until("ended", loop::isTerminated);
        assertEquals("its event loop was shut down before the client was closed: close the client first",
                redlock.nodes().get(0).problem());
        assertFalse(redlock.isQuorumAvailable());
    }

    /** No node has replied yet. */
    @ParameterizedTest
    @EnumSource
    void theEndOfTheLoopEndsTheStart(End end) {
        pauseNode();
        TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), loop,
                nodes.newTransport(), NanoClock.system(), 1);
        CompletableFuture<Void> started = client.open();
        end.shutDown(loop);
        started.orTimeout(60, TimeUnit.SECONDS).join();
        client.redlock().close();
    }

    /**
     * The callback runs on a thread outside the call, whose caller may hold a lock of its own. It is one of the client:
     * tasks of the application may occupy the common pool.
     */
    /** The first task that shows the end of the loop found no memory. */
    @Test
    void theEndOfALoopThatHadNoMemoryAtTheStartEndsACall() throws Exception {
        AtomicInteger sentinelCount = new AtomicInteger();
        EventLoopGroup hungry = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory()) {
            @Override
            protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
                return new SingleThreadIoEventLoop(this, executor, factory) {
                    @Override
                    public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
                        if (unit == TimeUnit.DAYS && sentinelCount.incrementAndGet() == 1) {
                            throw new OutOfMemoryError("thrown by a test");
                        }
                        return super.schedule(task, delay, unit);
                    }
                };
            }
        };
        try {
            connect(hungry.next());
            Await.until("scheduled again", () -> sentinelCount.get() == 2);
            pauseNode();
            FutureTask<AcquireOutcome> call = parked(() -> redlock.tryAcquire("r", TTL, AN_HOUR));
            hungry.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            assertEquals(AcquireOutcome.Kind.CLOSED, resultOf(call).kind());
        } finally {
            hungry.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    @Test
    void callbacksAfterTheEndOfTheLoopRunOutsideTheCall() throws Exception {
        connect(loop);
        Lease lease = held("r", OPTIONS);
        lease.release();
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        Await.until("ended", loop::isTerminated);
        CompletableFuture<Thread> extended = new CompletableFuture<>();
        CompletableFuture<Thread> released = new CompletableFuture<>();
        CompletableFuture<Thread> acquired = new CompletableFuture<>();
        lease.extend(10_000, (ended, outcome) -> extended.complete(Thread.currentThread()));
        assertIsOfClient(extended, "extension");
        assertEquals(LeaseState.RELEASED, lease.state(), "the extension has not changed it");
        lease.release((ended, outcome) -> released.complete(Thread.currentThread()));
        assertIsOfClient(released, "release");
        redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(),
                outcome -> acquired.complete(Thread.currentThread()));
        assertIsOfClient(acquired, "acquisition");
        redlock.close();
    }

    private static void assertIsOfClient(CompletableFuture<Thread> thread, String request) {
        String name = thread.orTimeout(60, TimeUnit.SECONDS).join().getName();
        assertTrue(name.startsWith("redlock-extra-"), () -> request + " on " + name);
    }
}
