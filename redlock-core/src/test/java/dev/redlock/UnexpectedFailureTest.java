package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.LiveNodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An exception in the middle of a request, as from an allocator without memory: the caller still gets an outcome. The
 * clock throws it, because each request reads the clock somewhere in its middle.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class UnexpectedFailureTest {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    private final LiveNodes nodes = new LiveNodes(1);
    private final List<String> logged = Collections.synchronizedList(new ArrayList<>());
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getThrown() instanceof UsedUp) {
                logged.add(record.getMessage());
            }
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };
    /** The number of clock reads until the clock throws; never below 1. */
    private volatile int readingsLeft;
    private TestClient client;
    private Redlock redlock;

    /** The exception of the clock. */
    private static final class UsedUp extends OutOfMemoryError {
        private static final long serialVersionUID = 1L;

        UsedUp() {
            super("thrown by a test");
        }
    }

    @BeforeEach
    void open() {
        LOG.addHandler(handler);
        // The flight recorder reads the clock too, and survives what that throws.
        client = new TestClient(
                new RedlockContext().nodes(nodes.addresses())
                        .nodeTimeout(Duration.ofSeconds(5))
                        .flightRecorderEvents(0),
                nodes.clientLoop(), nodes.newTransport(), this::nowNs, 1);
        client.open().join();
        redlock = client.redlock();
    }

    @AfterEach
    void close() {
        LOG.removeHandler(handler);
        redlock.closeWithin(Duration.ofMillis(100));
        nodes.close();
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // Only reads of the loop count.
    private long nowNs() {
        if (readingsLeft > 0 && nodes.clientLoop().inEventLoop() && isInRequest() && --readingsLeft == 0) {
            throw new UsedUp();
        }
        return System.nanoTime();
    }

    private static boolean isInRequest() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getClassName().endsWith(".RequestMailbox")
                        || frame.getClassName().endsWith(".AcquireScheduler")
                                && frame.getMethodName().equals("onTimer")));
    }

    private void throwAtReading(int reading) {
        nodes.clientLoop().submit(() -> readingsLeft = reading).syncUninterruptibly();
    }

    private static <T> T resultOf(Callable<T> call) throws Exception {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task.get(20, TimeUnit.SECONDS);
    }

    private void assertTheClientStillWorks() throws Exception {
        readingsLeft = 0;
        Await.until("it is logged", () -> !logged.isEmpty());
        AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("next", TTL));
        assertEquals(ReleaseOutcome.RELEASED, resultOf(() -> outcome.lease().release()), outcome::toString);
    }

    @Test
    void anAcquireThatThrowsCompletes() throws Exception {
        throwAtReading(1);
        AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("r", TTL));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientStillWorks();
        Await.until("rolled back", () -> nodes.access(0).get("r") == null);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aWaitingAcquireThatThrowsCompletes(int reading) throws Exception {
        throwAtReading(reading);
        AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("r", TTL, TTL));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientStillWorks();
        assertTrue(resultOf(() -> redlock.tryAcquire("r", TTL, TTL)).isAcquired(), "its queue is empty");
    }

    /** The timer of the acquisition has fired, so no other event would end it. */
    @Test
    void aRetryThatThrowsCompletes() throws Exception {
        nodes.access(0).setIfAbsent("r", "foreign", 3_600_000);
        AcquireOptions often = OPTIONS.waitUpTo(TTL).retryPolicy((attempts, reason, ttl, random) -> {
            // The next read belongs to the attempt after the delay, which the timer starts.
            readingsLeft = 1;
            return 1_000_000;
        });
        AcquireOutcome outcome = resultOf(() -> redlock.acquire(redlock.key("r"), often));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientStillWorks();
    }

    @Test
    void aReleaseThatThrowsCompletes() throws Exception {
        Lease lease = resultOf(() -> redlock.tryAcquire("r", TTL)).lease();
        throwAtReading(1);
        assertEquals(ReleaseOutcome.UNKNOWN, resultOf(lease::release));
        assertEquals(LeaseState.RELEASED, lease.state());
        assertTheClientStillWorks();
        Await.until("the release is undelivered", () -> nodes.access(0).get("r") == null);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anExtensionThatThrowsCompletes(int reading) throws Exception {
        Lease lease = resultOf(() -> redlock.tryAcquire("r", TTL)).lease();
        throwAtReading(reading);
        assertEquals(ExtendOutcome.NOT_EXTENDED, resultOf(() -> lease.extend(TTL)));
        assertTrue(lease.isHeld(), "its validity remains");
        assertTheClientStillWorks();
        assertEquals(ExtendOutcome.EXTENDED, resultOf(() -> lease.extend(TTL)), "another extension works");
        assertEquals(ReleaseOutcome.RELEASED, resultOf(lease::release));
    }

    @Test
    void aClockThatThrowsInTheFlightRecorderHarmsNoLock() throws Exception {
        AtomicInteger thrownCount = new AtomicInteger();
        TestClient recording = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                nodes.newTransport(), () -> {
                    boolean isInRecorder = StackWalker.getInstance()
                            .walk(frames -> frames.limit(6)
                                    .anyMatch(frame -> frame.getClassName().endsWith(".LoopTelemetry")));
                    if (isInRecorder) {
                        thrownCount.incrementAndGet();
                        throw new UsedUp();
                    }
                    return System.nanoTime();
                }, 2);
        recording.open().join();
        Lease lease = resultOf(() -> recording.redlock().tryAcquire("r", TTL)).lease();
        AcquireOutcome refused = resultOf(() -> recording.redlock().tryAcquire("r", TTL, Duration.ofMillis(600)));
        assertEquals(AcquireOutcome.Kind.TIMED_OUT, refused.kind(), refused::toString);
        assertEquals(ExtendOutcome.EXTENDED, resultOf(() -> lease.extend(TTL)));
        assertEquals(ReleaseOutcome.RELEASED, resultOf(lease::release));
        assertTrue(thrownCount.get() > 0, "it threw");
        assertTrue(resultOf(() -> recording.redlock().closeWithin(Duration.ofSeconds(5))).isClean());
    }

    /** On the loop, the callback runs after the call, as for other outcomes. */
    @Test
    void anAcquireOnTheLoopThatThrowsRunsItsCallback() throws Exception {
        CompletableFuture<AcquireOutcome.Kind> received = new CompletableFuture<>();
        CompletableFuture<AcquireOutcome.Kind> receivedInside = new CompletableFuture<>();
        nodes.clientLoop().execute(() -> {
            readingsLeft = 1;
            redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(),
                    outcome -> received.complete(outcome.kind()));
            receivedInside.complete(received.getNow(null));
        });
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, received.orTimeout(20, TimeUnit.SECONDS).join());
        assertNull(receivedInside.orTimeout(20, TimeUnit.SECONDS).join(), "completed inside its call");
        assertTheClientStillWorks();
    }
}
