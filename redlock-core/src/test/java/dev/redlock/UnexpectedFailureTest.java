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
 * Something throws in the middle of a request, as the allocator does where memory is used up: whoever waits for the
 * request gets an outcome. The clock stands for all of it, because each request reads it somewhere in its middle.
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
        public void publish(final LogRecord record) {
            if (record.getThrown() instanceof UsedUp) {
                logged.add(record.getMessage());
            }
        }

        @Override
        public void flush() {
            // nothing is kept back
        }

        @Override
        public void close() {
            // nothing to close
        }
    };
    /** At which reading of the clock in the middle of a request, from now on, it throws; never below 1. */
    private volatile int readingsLeft;
    private TestClient client;
    private Redlock redlock;

    /** What the clock throws. */
    private static final class UsedUp extends OutOfMemoryError {
        private static final long serialVersionUID = 1L;

        UsedUp() {
            super("thrown by a test");
        }
    }

    @BeforeEach
    void open() {
        LOG.addHandler(handler);
        client = new TestClient(new RedlockContext().nodes(nodes.addresses()).nodeTimeout(Duration.ofSeconds(5)),
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

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // only the loop counts
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

    private void throwAtReading(final int reading) {
        nodes.clientLoop().submit(() -> readingsLeft = reading).syncUninterruptibly();
    }

    private static <T> T resultOf(final Callable<T> call) throws Exception {
        final FutureTask<T> task = new FutureTask<>(call);
        final Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task.get(20, TimeUnit.SECONDS);
    }

    private void assertTheClientGoesOn() throws Exception {
        readingsLeft = 0;
        Await.until("it is logged", () -> !logged.isEmpty());
        final AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("next", TTL));
        assertEquals(ReleaseOutcome.RELEASED, resultOf(() -> outcome.lease().release()), outcome::toString);
    }

    @Test
    void anAcquisition() throws Exception {
        throwAtReading(1);
        final AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("r", TTL));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientGoesOn();
        Await.until("rolled back", () -> nodes.access(0).get("r") == null);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anAcquisitionThatWaits(final int reading) throws Exception {
        throwAtReading(reading);
        final AcquireOutcome outcome = resultOf(() -> redlock.tryAcquire("r", TTL, TTL));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientGoesOn();
        assertTrue(resultOf(() -> redlock.tryAcquire("r", TTL, TTL)).isAcquired(), "nobody stands in its line");
    }

    /** Its timer has had its call, and nothing else would ever end it. */
    @Test
    void anAcquisitionThatTriesAgain() throws Exception {
        nodes.access(0).setIfAbsent("r", "foreign", 3_600_000);
        final AcquireOptions often = OPTIONS.waitUpTo(TTL).retryPolicy((attempts, reason, ttl, random) -> {
            // The next one is read for the attempt behind the delay, which its timer starts.
            readingsLeft = 1;
            return 1_000_000;
        });
        final AcquireOutcome outcome = resultOf(() -> redlock.acquire(redlock.key("r"), often));
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, outcome.kind(), outcome::toString);
        assertTheClientGoesOn();
    }

    @Test
    void aRelease() throws Exception {
        final Lease lease = resultOf(() -> redlock.tryAcquire("r", TTL)).lease();
        throwAtReading(1);
        assertEquals(ReleaseOutcome.UNKNOWN, resultOf(lease::release));
        assertEquals(LeaseState.RELEASED, lease.state());
        assertTheClientGoesOn();
        Await.until("the node is owed the release", () -> nodes.access(0).get("r") == null);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anExtension(final int reading) throws Exception {
        final Lease lease = resultOf(() -> redlock.tryAcquire("r", TTL)).lease();
        throwAtReading(reading);
        assertEquals(ExtendOutcome.NOT_EXTENDED, resultOf(() -> lease.extend(TTL)));
        assertTrue(lease.isHeld(), "the validity that it had stands");
        assertTheClientGoesOn();
        assertEquals(ExtendOutcome.EXTENDED, resultOf(() -> lease.extend(TTL)), "another one is not in its way");
        assertEquals(ReleaseOutcome.RELEASED, resultOf(lease::release));
    }

    /** On the loop the outcome comes behind the call, as any other. */
    @Test
    void anAcquisitionWithACallbackOnTheLoop() throws Exception {
        final CompletableFuture<AcquireOutcome.Kind> told = new CompletableFuture<>();
        final CompletableFuture<AcquireOutcome.Kind> toldInside = new CompletableFuture<>();
        nodes.clientLoop().execute(() -> {
            readingsLeft = 1;
            redlock.acquire(redlock.key("r"), OPTIONS, redlock.newLease(), outcome -> told.complete(outcome.kind()));
            toldInside.complete(told.getNow(null));
        });
        assertEquals(AcquireOutcome.Kind.NO_QUORUM, told.orTimeout(20, TimeUnit.SECONDS).join());
        assertNull(toldInside.orTimeout(20, TimeUnit.SECONDS).join(), "told inside of the call");
        assertTheClientGoesOn();
    }
}
