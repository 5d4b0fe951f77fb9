package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.TestClient;
import dev.redlock.testing.Refusal;
import dev.redlock.transport.NettyTransport;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Invalid calls on {@link Redlock}, with addresses on which no node listens. */
class RedlockBadInputTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();

    private final Redlock redlock = TestClient.unreachable();

    @AfterEach
    void close() {
        redlock.close();
    }

    @Test
    void anUnreachableMajorityIsAnOutcome() throws InterruptedException {
        AcquireOutcome outcome = redlock.tryAcquire("r", TTL);
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind());
        assertFalse(outcome.isAcquired());
        assertEquals(3, outcome.failedCount());
        assertEquals("failed: not connected: connection failed: Connection refused: /127.0.0.1:1", outcome.voteText(0));
        assertEquals(-1, outcome.shortestRemainingTtlMs());
        assertEquals(1, outcome.attemptCount());
        assertThrows(IndexOutOfBoundsException.class, () -> outcome.voteText(3));
        assertThrows(IndexOutOfBoundsException.class, () -> outcome.voteText(-1));
        String text = outcome.toString();
        Refusal.ofState("\"r\" was not acquired: " + text + "; too few nodes vote: see voteText() and"
                + " Redlock.nodes()", outcome::lease);
        assertEquals(
                "AcquireOutcome{r, NOT_ACQUIRED, outcome NO_QUORUM, attempts 1, votes 0 granted 0 refused 3 failed"
                        + " 0 unknown,"
                        + " node 0 (127.0.0.1:1) failed: not connected: connection failed: Connection refused:"
                        + " /127.0.0.1:1, node 1 (127.0.0.1:2) failed: not connected: connection failed: Connection"
                        + " refused: /127.0.0.1:2, node 2 (127.0.0.1:3) failed: not connected: connection failed:"
                        + " Connection refused: /127.0.0.1:3}",
                text);
    }

    @Test
    void resourcesAreValidated() {
        Refusal.ofNull("resource is null: give the name of the resource to lock", () -> redlock.tryAcquire(null, TTL));
        Refusal.ofArgument("resource \"\" is empty: give the name of the resource to lock",
                () -> redlock.acquire("", TTL));
        Refusal.ofArgument("resource \"" + "x".repeat(32) + "... (481 more characters)\" is 513 bytes long with its"
                + " prefix: at most 512 are allowed (RedlockContext.resourceLengthMax)",
                () -> redlock.key("x".repeat(513)));
        Refusal.ofNull("resource is null: give the name of the resource to lock",
                () -> redlock.acquireAsync((String) null, OPTIONS));
        Refusal.ofNull("resource key is null", () -> redlock.acquireAsync((ResourceKey) null, OPTIONS));
        Refusal.ofNull("resource key is null", () -> redlock.acquire((ResourceKey) null, OPTIONS));
        Refusal.ofNull("resource is null: give the name of the resource to lock", () -> redlock.asLock(null, OPTIONS));
    }

    @Test
    void ttlsAndWaitsAreValidated() {
        Refusal.ofNull("ttl is null: give a duration", () -> redlock.tryAcquire("r", (Duration) null));
        Refusal.ofArgument("ttl PT0S is too short: at least 1 ms is needed",
                () -> redlock.tryAcquire("r", Duration.ZERO));
        Refusal.ofArgument("ttl 60001 ms is longer than maxTtl 60000 ms: ask for less, or raise RedlockContext.maxTtl",
                () -> redlock.tryAcquire("r", Duration.ofMillis(60_001)));
        Refusal.ofArgument("ttl 2 ms is too short: it must be above its clock allowance of 24020 us plus the minimum"
                + " validity of 200 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> redlock.acquire("r", Duration.ofMillis(2)));
        Refusal.ofArgument("wait PT-1S is negative: give zero or more",
                () -> redlock.tryAcquire("r", TTL, Duration.ofSeconds(-1)));
        Refusal.ofNull("wait is null: give a duration", () -> redlock.tryAcquire("r", TTL, null));
        AcquireOptions tooLong = AcquireOptions.ofTtl(Duration.ofMinutes(2)).tryOnce();
        String message = "ttl 120000 ms is longer than maxTtl 60000 ms: ask for less, or raise"
                + " RedlockContext.maxTtl";
        Refusal.ofArgument(message, () -> redlock.acquireAsync("r", tooLong));
        Refusal.ofArgument(message, () -> redlock.asLock("r", tooLong));
        Refusal.ofArgument(message, () -> redlock.acquire(redlock.key("r"), tooLong, redlock.newLease(), outcome -> {
        }));
    }

    @Test
    void nullIsRejectedWithItsName() {
        ResourceKey key = redlock.key("r");
        Lease lease = redlock.newLease();
        AcquireCallback callback = outcome -> {
        };
        Refusal.ofNull("options are null", () -> redlock.acquire(key, null));
        Refusal.ofNull("options are null", () -> redlock.acquireAsync(key, null));
        Refusal.ofNull("options are null", () -> redlock.asLock("r", null));
        Refusal.ofNull("options are null", () -> redlock.acquire(key, null, lease, callback));
        Refusal.ofNull("acquire callback is null", () -> redlock.acquire(key, OPTIONS, lease, null));
        Refusal.ofNull("resource key is null", () -> redlock.acquire(null, OPTIONS, lease, callback));
        Refusal.ofArgument("the lease was not made by this client: use its newLease()",
                () -> redlock.acquire(key, OPTIONS, null, callback));
        Refusal.ofNull("close timeout is null: give a duration", () -> redlock.closeWithin(null));
        Refusal.ofArgument("close timeout PT-1S is negative: give zero or more",
                () -> redlock.closeWithin(Duration.ofSeconds(-1)));
        assertEquals(LeaseState.IDLE, lease.state(), "no rejected call has changed it");
    }

    @Test
    void aLeaseOfAnotherClientIsRejected() {
        try (Redlock other = TestClient.unreachable()) {
            Refusal.ofArgument("the lease was not made by this client: use its newLease()",
                    () -> redlock.acquire(redlock.key("r"), OPTIONS, other.newLease(), outcome -> {
                    }));
        }
    }

    @Test
    void blockingCallsOnTheEventLoopThrow() {
        String tail = " on the client's event loop, which must not block: use acquire(key, options, lease,"
                + " callback) or acquireAsync there";
        for (Blocking call : new Blocking[]{() -> redlock.acquire("r", TTL), () -> redlock.tryAcquire("r", TTL),
            () -> redlock.tryAcquire("r", TTL, TTL), () -> redlock.acquire(redlock.key("r"), OPTIONS)}) {
            assertEquals("blocking call acquire" + tail, TestClient.onLoop(redlock, () -> call.message()));
        }
        assertEquals("blocking call closeWithin on the client's event loop: use close() there",
                TestClient.onLoop(redlock, () -> ((Blocking) () -> redlock.closeWithin(TTL)).message()));
    }

    @Test
    void anInterruptedCallerSendsNothing() {
        Thread.currentThread().interrupt();
        InterruptedException e = assertThrows(InterruptedException.class, () -> redlock.acquire("r", TTL));
        assertEquals("interrupted before acquiring \"r\"; nothing was sent", e.getMessage());
        assertFalse(Thread.currentThread().isInterrupted());
        assertEquals(0, redlock.counters().outcomeCount(AcquireOutcome.Kind.NO_QUORUM));
    }

    @Test
    void aClosedClientReturnsClosed() throws Exception {
        Lease lease = redlock.newLease();
        assertTrue(redlock.closeWithin(Duration.ofSeconds(5)).isClean());
        redlock.close();
        assertTrue(redlock.closeWithin(Duration.ZERO).isClean(), "a second close does not throw");
        AcquireOutcome outcome = redlock.acquire("r", TTL);
        assertEquals(AcquireOutcome.Kind.CLOSED, outcome.kind());
        assertEquals(0, outcome.attemptCount());
        assertEquals(AcquireOutcome.Kind.CLOSED,
                redlock.acquireAsync("r", OPTIONS).toCompletableFuture().get(60, TimeUnit.SECONDS).kind());
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        redlock.acquire(redlock.key("r"), OPTIONS, lease, result -> received.complete(result.kind()));
        assertEquals(AcquireOutcome.Kind.CLOSED, received.get(60, TimeUnit.SECONDS));
        assertEquals(LeaseState.NOT_ACQUIRED, lease.state());
        Refusal.ofState("\"r\" cannot be locked: " + AcquireOutcome.Kind.CLOSED.advice(),
                () -> redlock.asLock("r", OPTIONS).lock());
        assertFalse(redlock.asLock("r", OPTIONS).tryLock());
    }

    @Test
    void anUnavailableTransportIsRejectedWithItsReason() {
        RedlockContext context = new RedlockContext().nodes("unix:///run/none.sock").transport(TransportKind.NIO);
        Refusal.ofArgument(
                "transport NIO cannot be used here: it has no Unix domain sockets; use AUTO or another transport",
                () -> Redlock.connect(context));
    }

    /** On each loop a node has a connection of its own. */
    @Test
    void givenLoopsWithoutUnixSocketsAreRejected() throws InterruptedException {
        EventLoopGroup nio = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try {
            for (String address : List.of("unix:///run/none.sock", "127.0.0.1:1")) {
                RedlockContext context = new RedlockContext().nodes(address)
                        .nextNodes("unix:///run/none.sock")
                        .eventLoops(nio.next());
                Refusal.ofArgument("event loop 1 of 1 runs NIO, which has no Unix sockets, and unix:///run/none.sock"
                        + " needs them: give loops of epoll or kqueue", () -> Redlock.connect(context));
            }
        } finally {
            nio.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void eachGivenLoopNeedsUnixSockets() throws InterruptedException {
        NettyTransport best = NettyTransport.best(false).transport();
        Assumptions.assumeTrue(best.refusal(true) == null, "a transport with Unix sockets");
        EventLoopGroup good = new MultiThreadIoEventLoopGroup(1, best.newIoHandlerFactory());
        EventLoopGroup nio = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try {
            RedlockContext context = new RedlockContext().nodes("unix:///run/none.sock")
                    .eventLoops(good.next(), nio.next());
            Refusal.ofArgument("event loop 2 of 2 runs NIO, which has no Unix sockets, and unix:///run/none.sock"
                    + " needs them: give loops of epoll or kqueue", () -> Redlock.connect(context));
            // The context is still open.
            try (Redlock client = Redlock.connect(context.eventLoops(good.next()))) {
                assertEquals("unix:///run/none.sock", client.nodes().get(0).address());
            }
        } finally {
            good.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
            nio.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    /** A call that may throw anything. */
    @FunctionalInterface
    interface Blocking {
        Object call() throws Exception;

        /** Returns the exception of a call. */
        default String message() {
            try {
                return "not rejected: " + call();
            } catch (Exception e) {
                return e.getMessage();
            }
        }
    }

    /** Else a view would exclude nobody, or take one permit under the name of a lock. */
    @Test
    void aViewRejectsOptionsOfAnotherKind() {
        String instead = ": use asReadWriteLock or asSemaphore, or options without forReading(), forWriting() and"
                + " forPermitOf()";
        Refusal.ofArgument("asLock was called with options for a permit of 3" + instead,
                () -> redlock.asLock("r", OPTIONS.forPermitOf(3)));
        Refusal.ofArgument("asLock was called with options for reading" + instead,
                () -> redlock.asLock("r", OPTIONS.forReading()));
        Refusal.ofArgument("asReadWriteLock was called with options for writing: leave that out, the view has both"
                + " locks", () -> redlock.asReadWriteLock("r", OPTIONS.forWriting()));
        Refusal.ofArgument("asSemaphore was called with options for a permit of 2: leave that out, the view has its"
                + " number of permits", () -> redlock.asSemaphore("r", 3, OPTIONS.forPermitOf(2)));
        Refusal.ofArgument("asLockOfAll was called with options for writing: use asReadWriteLock or asSemaphore, or"
                + " options without forReading(), forWriting() and forPermitOf()",
                () -> redlock.asLockOfAll(List.of("r"), OPTIONS.forWriting()));
    }

    /** Else each use of the view would throw. */
    @Test
    void aViewRejectsOptionsThatNoUseOfItAccepts() {
        AcquireOptions retained = OPTIONS.retain(Duration.ofSeconds(1));
        String instead = " was called with options with retain(), which is for plain locks: leave retain() out";
        Refusal.ofArgument("asSemaphore" + instead, () -> redlock.asSemaphore("r", 4, retained));
        Refusal.ofArgument("asReadWriteLock" + instead, () -> redlock.asReadWriteLock("r", retained));
        Refusal.ofArgument("elect" + instead, () -> redlock.elect("r", retained, term -> {
        }));
        Refusal.ofArgument("options for \"r\" have retain() together with fenced(): leave one of them out",
                () -> redlock.asLock("r", retained.fenced()));
        assertThrows(IllegalArgumentException.class, () -> redlock.asLockOfAll(List.of("a", "b"), retained));
        redlock.asLock("r", retained);
        redlock.asLockOfAll(List.of("r"), retained);
    }
}
